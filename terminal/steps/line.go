package steps

import (
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// State is how far a step is.
type State string

// The states of a step. The zero value is a step whose result nobody knows.
const (
	Running State = "…"
	Done    State = "✓"
	Failed  State = "✗"
	Refused State = "🚫" // by a person
)

// Kind is what a step does. ACP has names for it, which other protocols use, too.
type Kind string

// The kinds of steps that protocols other than ACP use.
const (
	Read   Kind = "read"
	Edit   Kind = "edit"
	Delete Kind = "delete"
	Run    Kind = "execute"
	Type   Kind = "type" // into a terminal
)

var icons = map[Kind]string{
	Read: "📖", Edit: "✏️", Delete: "🗑", Run: "💻", Type: "⌨️",
	"move": "📦", "search": "🔎", "think": "🧠", "fetch": "🌐", "switch_mode": "🔀", "compaction": "🗜",
}

// Icon returns the sign of a kind.
func (k Kind) Icon() string {
	if icon, ok := icons[k]; ok {
		return icon
	}
	return "🔧"
}

// line returns the step as one line.
func (s *Step) line() string {
	return strings.TrimSpace(s.Kind.Icon() + " " + s.Title + " " + string(s.State))
}

// outputLines returns the end of the step's output, as lines below the step.
func (s *Step) outputLines() (lines []string) {
	for _, l := range s.Output {
		lines = append(lines, "│ "+terminal.CodeSpan(l))
	}
	return lines
}

// maxOutput limits the lines of output below a step, outputBytes the output that is searched for
// them.
const maxOutput, outputBytes = 3, 4 << 10

// EndOf returns the last bytes of an output that LastLines examines.
func EndOf(output string) string { return output[max(0, len(output)-outputBytes):] }

// LastLines returns the last lines of an output that are not blank, for Step.Output.
func LastLines(output string) (lines []string) {
	if end := EndOf(output); end != output {
		output = end
		if _, rest, found := strings.Cut(end, "\n"); found {
			output = rest // the first line is incomplete
		}
	}
	all := strings.Split(terminal.Visible(terminal.Clean(output)), "\n")
	for i := len(all) - 1; i >= 0 && len(lines) < maxOutput; i-- {
		if l := terminal.Shorten(strings.TrimSpace(all[i]), TitleLength); l != "" {
			lines = append([]string{l}, lines...)
		}
	}
	return lines
}

const remarkMark = "💬 "

// RemarkLine returns a text of the agent as one line of the board.
func RemarkLine(text string) string { return line{mark: remarkMark, text: text}.short() }

// short returns a text between steps as one line of the board.
func (l line) short() string {
	return l.mark + EscapeTitle(terminal.OneLine(strings.ReplaceAll(l.text, "**", ""), TitleLength))
}

// details returns a line of the board with everything that is known: a text is not shortened.
func (l line) details() string {
	if l.step != nil {
		return strings.Join(append([]string{l.step.line()}, l.step.outputLines()...), "\n")
	}
	text := l.mark + l.text
	if strings.Contains(l.text, "\n") {
		text += "\n" // a list in the text must not go on with the next line
	}
	return text
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

// Entry is one entry of the agent's plan. ACP has names for its status.
type Entry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

func (b *Board) planLines() (lines []string) {
	plan, done := b.Plan, 0
	for len(plan)-done > 0 && len(plan)-done+1 > shownEntries && plan[done].Status == "completed" {
		done++
	}
	if done > 0 {
		lines = append(lines, "☑ … "+b.Words.Text(words.PlanDone, done))
	}
	for i, e := range plan[done:] {
		if i == shownEntries {
			return append(lines, "… "+b.Words.Text(words.PlanMore, len(plan)-done-i))
		}
		lines = append(lines, e.box()+" "+EscapeTitle(e.Content))
	}
	return lines
}

func (e Entry) box() string {
	switch e.Status {
	case "completed":
		return "☑"
	case "in_progress":
		return "◐"
	}
	return "☐"
}
