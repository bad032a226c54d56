// Package steps is the board of an agent that works in steps: its plan, the last steps with their
// states and the end of their output, its remarks, and the summary that stays after the turn. It
// knows nothing of protocols, nor of how a board is sent.
package steps

import (
	"cmp"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// shownLines and shownEntries limit the lines of steps and of the plan.
	shownLines, shownEntries = 8, 12
	// TitleLength limits the length of a line, in characters.
	TitleLength = 120
	// maxLines limits the steps and remarks of a turn that are stored. Older steps are only
	// counted.
	maxLines = 256
	// maxDetails limits the details of a summary, in bytes.
	maxDetails = 16 << 10
	// maxFoldedDiff limits the changes in the details, in bytes: Telegram's 4096 units without the
	// line of the summary. A longer diff is a document of the answer.
	maxFoldedDiff = 4<<10 - 96
)

// Board is the state of a turn that its progress message shows. It is not safe for concurrent use.
type Board struct {
	Emit  func(terminal.Frame) error
	Words words.Words
	Plan  []Entry
	// Changed is the line about changed files; "": none.
	Changed string

	lines []line // in the order in which they began
	steps int    // so far
	shown string
}

// Step is one thing that an agent does.
type Step struct {
	ID    string
	Kind  Kind
	Title string // one line of Markdown
	State State
	// Output are the last lines of the output, as LastLines returns them.
	Output []string
}

// line is a step, or a text between steps if step is nil.
type line struct {
	step *Step
	mark string // before the text; "": none
	text string
}

func (l line) running() bool { return l.step != nil && l.step.State == Running }

// Add adds a step. It returns the step that is forgotten because there are too many, or nil.
func (b *Board) Add(s *Step) (forgotten *Step) {
	b.steps++
	return b.addLine(line{step: s})
}

// AddRemark adds a text of the agent, and AddHeading a text of nanobot. Both return like Add.
func (b *Board) AddRemark(text string) (forgotten *Step) {
	return b.addLine(line{mark: remarkMark, text: text})
}

// AddNotice adds a text that is no part of the agent's answer, with a mark. It returns like Add.
func (b *Board) AddNotice(mark, text string) (forgotten *Step) {
	return b.addLine(line{mark: mark, text: text})
}

// Notices returns the notices as one text.
func (b *Board) Notices() string {
	var all []string
	for _, l := range b.lines {
		if l.mark != "" && l.mark != remarkMark {
			all = append(all, l.details())
		}
	}
	return strings.Join(all, "\n")
}

// AddHeading is described with AddRemark.
func (b *Board) AddHeading(text string) (forgotten *Step) { return b.addLine(line{text: text}) }

// addLine adds a line and forgets the oldest one that is not running, if there are too many.
func (b *Board) addLine(l line) (forgotten *Step) {
	if len(b.lines) == maxLines {
		old := max(0, slices.IndexFunc(b.lines, func(l line) bool { return !l.running() }))
		forgotten = b.lines[old].step
		b.lines = slices.Delete(b.lines, old, old+1)
	}
	b.lines = append(b.lines, l)
	return forgotten
}

// Count returns the number of steps so far.
func (b *Board) Count() int { return b.steps }

// LastState returns the state of the last step; "": there is none.
func (b *Board) LastState() State {
	for _, l := range slices.Backward(b.lines) {
		if l.step != nil {
			return l.step.State
		}
	}
	return ""
}

// HasRemark reports whether the board has a notice, or a remark other than this one.
func (b *Board) HasRemark(other string) bool {
	return slices.ContainsFunc(b.lines, func(l line) bool { return l.mark != "" && l.text != other })
}

// Running returns the number of steps that are running.
func (b *Board) Running() (n int) {
	for _, l := range b.lines {
		if l.running() {
			n++
		}
	}
	return n
}

// Show emits the board with lines that say what the agent is doing, unless it shows just that.
func (b *Board) Show(activity ...string) error {
	text := strings.Join(append(b.render(), activity...), "\n")
	if text == b.shown {
		return nil
	}
	b.shown = text
	return b.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: text, Step: b.steps})
}

// Fold emits the last board of the turn with its summary, if there were steps or it is required.
func (b *Board) Fold(sum terminal.Fold) error {
	if b.steps == 0 && !sum.Required {
		return nil
	}
	return b.Emit(terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: strings.Join(b.render(), "\n"), Step: b.steps, Fold: b.Sum(sum),
	})
}

// Sum completes the summary of a turn with its steps. Without Changes, the details have the line
// about changed files.
func (b *Board) Sum(sum terminal.Fold) *terminal.Fold {
	sum.Steps, sum.Details = b.steps, b.details(cmp.Or(sum.Changes, b.Changed))
	return &sum
}

// FoldDiff returns the changes of a turn for its summary, and whether they have the diff. files is
// Markdown that names the changed files.
func FoldDiff(files, diff string) (changes string, all bool) {
	if diff == "" {
		return files, true
	}
	whole := files + "\n" + terminal.CodeBlock("diff", strings.ReplaceAll(diff, "\r\n", "\n"))
	if len(whole) > maxFoldedDiff {
		return files, false
	}
	return whole, true
}

// render returns the lines of the board without the agent's present activity: the plan, the last
// steps and remarks, and the changed files.
func (b *Board) render() []string {
	lines := b.planLines()
	if len(lines) > 0 && len(b.lines) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, b.stepLines()...)
	if b.Changed != "" {
		lines = append(lines, b.Changed)
	}
	return lines
}

// stepLines shows the last steps and remarks, and prefers the steps that are running.
func (b *Board) stepLines() (lines []string) {
	excess := len(b.lines) - shownLines
	hideRunning := excess + b.Running() - len(b.lines)
	shownSteps := 0
	for i, l := range b.lines {
		if excess > 0 && !l.running() || hideRunning > 0 && l.running() {
			excess--
			if l.running() {
				hideRunning--
			}
			continue
		}
		if l.step == nil {
			lines = append(lines, l.short())
			continue
		}
		shownSteps++
		lines = append(lines, l.step.line())
		switch output := l.step.outputLines(); {
		case l.running() || i == len(b.lines)-1:
			lines = append(lines, output...)
		case l.step.State == Failed && len(output) > 0:
			lines = append(lines, output[len(output)-1])
		}
	}
	if hidden := b.steps - shownSteps; hidden > 0 {
		lines = append([]string{b.earlierSteps(hidden)}, lines...)
	}
	return lines
}

// earlierSteps returns the line that stands for steps which are not shown.
func (b *Board) earlierSteps(n int) string { return "… " + b.Words.Text(words.EarlierSteps, n) }

// details returns the plan, the changes, a line for each step with the end of its output, and the
// remarks. The earliest lines are left out if there are too many. The changes come first, since a
// network with less room cuts the end, and small ones are shown nowhere else.
func (b *Board) details(changed string) string {
	plan := strings.Join(b.planLines(), "\n")
	room := maxDetails - len(plan) - len(changed) - 100 // the count and the lines between
	var lines []string
	shownSteps := 0
	for _, l := range slices.Backward(b.lines) {
		text := l.details()
		if room -= len(text) + 1; room < 0 {
			break
		}
		if l.step != nil {
			shownSteps++
		}
		lines = append(lines, text)
	}
	if hidden := b.steps - shownSteps; hidden > 0 {
		lines = append(lines, b.earlierSteps(hidden))
	}
	slices.Reverse(lines)
	parts := []string{plan, changed, strings.Join(lines, "\n")}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n\n")
}
