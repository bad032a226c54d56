package acp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

const (
	// shownTools and shownEntries are how many lines of each are shown, titleLength how long one
	// may be.
	shownTools, shownEntries, titleLength = 8, 12, 120
	// tailLines is how much of a terminal is shown, tailBytes how much of it is looked at for that.
	tailLines, tailBytes = 3, 4 << 10
	// maxPlan is how many entries of a plan are remembered.
	maxPlan = 200
)

// planEntry is one thing that the agent intends to do.
type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

func newPlan(entries []maybe[planEntry]) (plan []planEntry) {
	for _, e := range entries[:min(len(entries), maxPlan)] {
		if e.v.Content = terminal.OneLine(e.v.Content, titleLength); e.ok && e.v.Content != "" {
			plan = append(plan, e.v)
		}
	}
	return plan
}

// render returns what the board shows: the plan, the last tool calls, and whether the agent is
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
		lines = append(lines, box(e.Status)+" "+asTyped(e.Content))
	}
	return lines
}

func box(status string) string {
	switch status {
	case "completed":
		return "☑"
	case "in_progress":
		return "◐"
	}
	return "☐"
}

// toolLines shows the last tool calls, and rather those that run.
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

func (t *tool) line() string {
	state := "…"
	switch {
	case t.status == "completed":
		state = "✓"
	case !t.running():
		state = "✗"
	}
	return icon(t.kind) + " " + asTyped(t.name()) + " " + state
}

// name returns a title for a tool call in any case.
func (t *tool) name() string {
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

// asTyped keeps a title from being taken for Markdown, unless it is written in it. A backtick
// without another, as in a title that was cut, would reach into the next line.
func asTyped(title string) string {
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
			v.look(t)
		}
	}
	if text := v.board.render(); text != "" && text != v.board.shown {
		v.board.shown = text
		v.emit(terminal.Frame{Kind: terminal.Progress, Text: text, Board: true})
	}
}

// glance shows what runs in terminals, and comes back as long as something does.
func (v *view) glance() {
	v.glanceAt = time.Time{}
	v.showBoard()
	if slices.ContainsFunc(v.board.tools, func(t *tool) bool { return t.running() && len(t.terminals) > 0 }) {
		v.soon(&v.glanceAt, glanceEvery)
	}
}

// look takes over the last lines of a tool call's terminal. A terminal that is released keeps those
// that it had.
func (v *view) look(t *tool) {
	if t.printed != nil {
		t.tail = lastLines(string(t.printed.Tail()))
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
			text = rest // the first line is not all there
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

// remember looks at a terminal for the last time, before it is released.
func (v *view) remember(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range v.board.tools {
		if !v.over && slices.Contains(t.terminals, id) {
			v.look(t)
			v.soon(&v.boardAt, boardEvery)
		}
	}
}
