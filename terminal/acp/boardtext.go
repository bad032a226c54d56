package acp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

const (
	// shownTools and shownEntries limit the lines of each list, titleLength the length of a line.
	shownTools, shownEntries, titleLength = 8, 12, 120
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

// render returns the text of the board: the plan, the last tool calls, and whether the agent is
// thinking.
func (b *board) render() string {
	lines := b.planLines()
	if len(lines) > 0 && len(b.tools) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, b.toolLines()...)
	if b.thinking {
		lines = append(lines, "💭 thinking")
	}
	return strings.Join(lines, "\n")
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

// toolLines shows the last tool calls and prefers those that are running.
func (b *board) toolLines() (lines []string) {
	excess := len(b.tools) - shownTools
	if excess+b.earlier > 0 {
		lines = append(lines, fmt.Sprintf("… %d earlier", max(0, excess)+b.earlier))
	}
	finished := 0
	for _, t := range b.tools {
		if !t.running() {
			finished++
		}
	}
	hideRunning := excess - finished
	for i, t := range b.tools {
		if excess > 0 && !t.running() || hideRunning > 0 && t.running() {
			excess--
			if t.running() {
				hideRunning--
			}
			continue
		}
		lines = append(lines, t.line())
		if t.running() || i == len(b.tools)-1 {
			for _, l := range t.tail {
				lines = append(lines, "│ "+terminal.CodeSpan(l))
			}
		}
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
	for _, t := range v.board.tools {
		if t.running() {
			v.updateTail(t)
		}
	}
	if text := v.board.render(); text != "" && text != v.board.shown {
		v.board.shown = text
		v.emit(terminal.Frame{Kind: terminal.Progress, Text: text, Board: true})
	}
}

// refreshTerminals updates the output of terminals on the board, and repeats while a tool call uses
// a terminal.
func (v *view) refreshTerminals() {
	v.terminalsAt = time.Time{}
	v.showBoard()
	if slices.ContainsFunc(v.board.tools, func(t *toolCall) bool { return t.running() && len(t.terminals) > 0 }) {
		v.schedule(&v.terminalsAt, terminalInterval)
	}
}

// updateTail reads the last lines of a tool call's terminals. A terminal that was released keeps
// its last lines.
func (v *view) updateTail(t *toolCall) {
	if t.ownOutput != nil {
		t.tail = lastLines(string(t.ownOutput.Tail()))
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
	for _, t := range v.board.tools {
		if !v.closed && slices.Contains(t.terminals, id) {
			v.updateTail(t)
			v.schedule(&v.boardAt, boardInterval)
		}
	}
}
