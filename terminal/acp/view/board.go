package view

import (
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/jobs"
)

const (
	// shownLines and shownEntries limit the lines of each list.
	shownLines, shownEntries = 8, 12
	// TitleLength limits the length of a line.
	TitleLength = 120
	// maxPlan limits the entries of a plan that are stored.
	maxPlan = 200
)

// boardLine is one entry of the board: a tool call, or a remark of the agent.
type boardLine struct {
	tool   *ToolCall // nil: a remark
	remark string
}

func (l boardLine) running() bool { return l.tool != nil && l.tool.Running() }

// board is the state of a turn that its progress message shows.
type board struct {
	words     words.Words
	table     *jobs.Table // nil if the agent has no terminals
	changes   changes
	plan      []planEntry
	lines     []boardLine // in the order in which they began
	byID      map[string]*ToolCall
	steps     int // tool calls so far
	thinking  bool
	prompted  bool // the agent has the prompt
	questions int  // open questions
	// quietMinutes is how long the agent has been silent; 0: not for long.
	quietMinutes int
	shown        string
}

func newBoard(w words.Words, dir string, table *jobs.Table) board {
	return board{words: w, table: table, changes: changes{words: w, dir: dir}, byID: map[string]*ToolCall{}}
}

// addTool adds a tool call.
func (b *board) addTool(id string) *ToolCall {
	t := &ToolCall{ID: id, status: "pending", words: b.words}
	b.addLine(boardLine{tool: t})
	b.byID[id] = t
	b.steps++
	return t
}

// addLine adds a line and forgets the oldest one that is not running, if there are too many.
func (b *board) addLine(l boardLine) {
	if len(b.lines) == maxLines {
		old := max(0, slices.IndexFunc(b.lines, func(l boardLine) bool { return !l.running() }))
		if t := b.lines[old].tool; t != nil {
			delete(b.byID, t.ID)
		}
		b.lines = slices.Delete(b.lines, old, old+1)
	}
	b.lines = append(b.lines, l)
}

// runningTools returns the tool calls that are running.
func (b *board) runningTools() (tools []*ToolCall) {
	for _, l := range b.lines {
		if l.running() {
			tools = append(tools, l.tool)
		}
	}
	return tools
}

// planEntry is one step of the agent's plan.
type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

func newPlan(entries []rpc.Optional[planEntry]) (plan []planEntry) {
	for _, e := range entries[:min(len(entries), maxPlan)] {
		if e.V.Content = terminal.OneLine(e.V.Content, TitleLength); e.OK && e.V.Content != "" {
			plan = append(plan, e.V)
		}
	}
	return plan
}

// render returns the lines of the board without the agent's present activity: the plan, the
// last tool calls and remarks, and the changed files.
func (b *board) render() []string {
	lines := b.planLines()
	if len(lines) > 0 && len(b.lines) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, b.stepLines()...)
	if summary := b.changes.summary(); summary != "" {
		lines = append(lines, summary)
	}
	return lines
}

// activityLines says what the agent is doing, unless the line of a running tool call says so.
// text is the text that the agent is writing.
func (b *board) activityLines(text segment) (lines []string) {
	if text.hasText && !text.isMessage {
		lines = append(lines, remarkLine(string(text.buf)))
	}
	switch {
	case b.questions > 0: // the gateway says that the turn waits
	case b.thinking:
		lines = append(lines, "💭 "+b.words.Text(words.AgentThinking))
	case len(lines) > 0 || len(b.runningTools()) > 0:
	case b.prompted:
		lines = append(lines, b.words.Text(words.AgentThinking))
	default:
		lines = append(lines, b.words.Text(words.Working))
	}
	if b.quietMinutes > 0 {
		lines = append(lines, b.words.Text(words.AgentSilent, b.quietMinutes))
	}
	return lines
}

func (b *board) planLines() (lines []string) {
	plan, done := b.plan, 0
	for len(plan)-done > 0 && len(plan)-done+1 > shownEntries && plan[done].Status == "completed" {
		done++
	}
	if done > 0 {
		lines = append(lines, "☑ … "+b.words.Text(words.PlanDone, done))
	}
	for i, e := range plan[done:] {
		if i == shownEntries {
			return append(lines, "… "+b.words.Text(words.PlanMore, len(plan)-done-i))
		}
		lines = append(lines, statusBox(e.Status)+" "+EscapeTitle(e.Content))
	}
	return lines
}

func statusBox(status string) string {
	switch status {
	case "completed":
		return "☑"
	case "in_progress":
		return "◐"
	}
	return "☐"
}

// stepLines shows the last tool calls and remarks, and prefers the calls that are running.
func (b *board) stepLines() (lines []string) {
	excess := len(b.lines) - shownLines
	hideRunning := excess + len(b.runningTools()) - len(b.lines)
	shownTools := 0
	for i, l := range b.lines {
		if excess > 0 && !l.running() || hideRunning > 0 && l.running() {
			excess--
			if l.running() {
				hideRunning--
			}
			continue
		}
		if l.tool == nil {
			lines = append(lines, remarkLine(l.remark))
			continue
		}
		shownTools++
		lines = append(lines, l.tool.line())
		switch tail := l.tool.tailLines(); {
		case l.running() || i == len(b.lines)-1:
			lines = append(lines, tail...)
		case l.tool.status == "failed" && len(tail) > 0:
			lines = append(lines, tail[len(tail)-1])
		}
	}
	if hidden := b.steps - shownTools; hidden > 0 {
		lines = append([]string{terminal.EarlierSteps(b.words, hidden)}, lines...)
	}
	return lines
}

func (t *ToolCall) line() string {
	state := "…"
	switch {
	case t.status == "completed":
		state = "✓"
	case !t.Running():
		state = "✗"
	}
	return icon(t.Kind) + " " + EscapeTitle(t.Name()) + " " + state
}

// Name returns a title for the tool call, which is never empty.
func (t *ToolCall) Name() string {
	for _, s := range []string{t.Title, t.Path, t.Kind} {
		if s = terminal.OneLine(s, TitleLength); s != "" {
			return s
		}
	}
	return t.words.Text(words.UnnamedTool)
}

func icon(kind string) string {
	switch kind {
	case "read":
		return "📖"
	case "edit":
		return "✏️"
	case "delete":
		return "🗑"
	case "move":
		return "📦"
	case "search":
		return "🔎"
	case "execute":
		return "💻"
	case "think":
		return "🧠"
	case "fetch":
		return "🌐"
	case "switch_mode":
		return "🔀"
	}
	return "🔧"
}

// EscapeTitle keeps a title from being read as Markdown, unless it has code spans. An unpaired
// backtick, as in a title that was cut, would extend to the next line.
func EscapeTitle(title string) string {
	ticks := strings.Count(title, "`")
	if ticks%2 != 0 || ticks == 0 && strings.ContainsAny(title, "*_[]<>\\~#|&") {
		return terminal.CodeSpan(strings.ReplaceAll(title, "`", ""))
	}
	return title
}

func (v *View) showBoard() {
	v.due.clear(showBoard)
	v.board.updateTails()
	text := strings.Join(append(v.board.render(), v.board.activityLines(v.messages.text)...), "\n")
	if text != v.board.shown {
		v.board.shown = text
		v.out.emit(terminal.Frame{Kind: terminal.Progress, Text: text, Board: true, Step: v.board.steps})
	}
}
