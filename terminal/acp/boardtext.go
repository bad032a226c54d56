package acp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

const (
	// shownLines and shownEntries limit the lines of each list, titleLength the length of a line.
	shownLines, shownEntries, titleLength = 8, 12, 120
	// tailLines limits the lines of a terminal on the board, tailBytes the output that is searched
	// for them.
	tailLines, tailBytes = 3, 4 << 10
	// maxPlan limits the entries of a plan that are stored.
	maxPlan = 200
)

// planEntry is one step of the agent's plan.
type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

func newPlan(entries []optional[planEntry]) (plan []planEntry) {
	for _, e := range entries[:min(len(entries), maxPlan)] {
		if e.v.Content = terminal.OneLine(e.v.Content, titleLength); e.ok && e.v.Content != "" {
			plan = append(plan, e.v)
		}
	}
	return plan
}

// renderBoard returns the lines of the board without the agent's present activity: the plan, the
// last tool calls and remarks, and the changed files.
func (v *view) renderBoard() []string {
	lines := v.board.planLines()
	if len(lines) > 0 && len(v.board.lines) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, v.board.stepLines()...)
	if summary := v.changes.summary(); summary != "" {
		lines = append(lines, summary)
	}
	return lines
}

// activityLines says what the agent is doing, unless the line of a running tool call says so.
func (v *view) activityLines() (lines []string) {
	if v.text.hasText && !v.text.isMessage {
		lines = append(lines, remarkLine(string(v.text.buf)))
	}
	switch {
	case v.board.questions > 0: // the gateway says that the turn waits
	case v.board.thinking:
		lines = append(lines, "💭 thinking")
	case len(lines) == 0 && len(v.board.runningTools()) == 0:
		lines = append(lines, "Working…")
	}
	return lines
}

func (b *board) planLines() (lines []string) {
	plan, done := b.plan, 0
	for len(plan)-done > 0 && len(plan)-done+1 > shownEntries && plan[done].Status == "completed" {
		done++
	}
	if done > 0 {
		lines = append(lines, fmt.Sprintf("☑ … %d done", done))
	}
	for i, e := range plan[done:] {
		if i == shownEntries {
			return append(lines, fmt.Sprintf("… %d more", len(plan)-done-i))
		}
		lines = append(lines, statusBox(e.Status)+" "+escapeTitle(e.Content))
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
		if l.running() || i == len(b.lines)-1 {
			lines = append(lines, l.tool.tailLines()...)
		}
	}
	if hidden := b.steps - shownTools; hidden > 0 {
		lines = append([]string{terminal.EarlierSteps(hidden)}, lines...)
	}
	return lines
}

// tailLines returns the end of the output of a tool call.
func (t *toolCall) tailLines() (lines []string) {
	for _, l := range t.tail {
		lines = append(lines, "│ "+terminal.CodeSpan(l))
	}
	return lines
}

func (t *toolCall) line() string {
	state := "…"
	switch {
	case t.status == "completed":
		state = "✓"
	case !t.running():
		state = "✗"
	}
	return icon(t.kind) + " " + escapeTitle(t.name()) + " " + state
}

// name returns a title for the tool call, which is never empty.
func (t *toolCall) name() string {
	for _, s := range []string{t.title, t.path, t.kind} {
		if s = terminal.OneLine(s, titleLength); s != "" {
			return s
		}
	}
	return "tool"
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

// escapeTitle keeps a title from being read as Markdown, unless it has code spans. An unpaired
// backtick, as in a title that was cut, would extend to the next line.
func escapeTitle(title string) string {
	ticks := strings.Count(title, "`")
	if ticks%2 != 0 || ticks == 0 && strings.ContainsAny(title, "*_[]<>\\~#|") {
		return terminal.CodeSpan(strings.ReplaceAll(title, "`", ""))
	}
	return title
}

func (v *view) showBoard() {
	v.boardAt = time.Time{}
	v.updateTails()
	text := strings.Join(append(v.renderBoard(), v.activityLines()...), "\n")
	if text != v.board.shown {
		v.board.shown = text
		v.emit(terminal.Frame{Kind: terminal.Progress, Text: text, Board: true, Step: v.board.steps})
	}
}

// refreshTerminals updates the output of terminals on the board, and repeats while a tool call uses
// a terminal.
func (v *view) refreshTerminals() {
	v.terminalsAt = time.Time{}
	v.showBoard()
	if slices.ContainsFunc(v.board.runningTools(), func(t *toolCall) bool { return len(t.terminals) > 0 }) {
		v.schedule(&v.terminalsAt, terminalInterval)
	}
}

func (v *view) updateTails() {
	for _, t := range v.board.runningTools() {
		v.updateTail(t)
	}
}

// updateTail reads the last lines of a tool call's output: of its terminals, else of its text, for
// commands and for calls that have failed. A terminal that was released keeps its last lines.
func (v *view) updateTail(t *toolCall) {
	switch {
	case t.ownOutput != nil:
		t.tail = lastLines(string(t.ownOutput.Tail()))
	case len(t.terminals) == 0 && (t.kind == "execute" || t.status == "failed"):
		if text := t.text(); text != "" {
			t.tail = lastLines(text)
		}
	}
	if v.table == nil {
		return
	}
	for _, id := range t.terminals {
		if out, err := v.table.Output(id); err == nil {
			t.tail = lastLines(out.Text)
		}
	}
}

// text returns the end of the text in the content of a tool call, without the fences of code
// blocks.
func (t *toolCall) text() string {
	var lines []string
	for _, b := range t.content {
		if b.Type != "text" {
			continue
		}
		for line := range strings.Lines(b.Text[max(0, len(b.Text)-tailBytes):]) {
			if !strings.HasPrefix(line, "```") {
				lines = append(lines, strings.TrimRight(line, "\r\n"))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func lastLines(text string) (lines []string) {
	if len(text) > tailBytes {
		text = text[len(text)-tailBytes:]
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest // the first line is incomplete
		}
	}
	all := strings.Split(terminal.Clean(text), "\n")
	for i := len(all) - 1; i >= 0 && len(lines) < tailLines; i-- {
		if l := terminal.Shorten(strings.TrimSpace(all[i]), titleLength); l != "" {
			lines = append([]string{l}, lines...)
		}
	}
	return lines
}

// saveTail reads the last lines of a terminal before it is released.
func (v *view) saveTail(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.board.lines {
		if !v.closed && l.tool != nil && slices.Contains(l.tool.terminals, id) {
			v.updateTail(l.tool)
			v.schedule(&v.boardAt, boardInterval)
		}
	}
}
