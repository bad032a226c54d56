package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"nanobot/terminal"
)

// maxPrevious limits the previous steps in a prompt, in bytes. The oldest are removed first.
const maxPrevious = 12 << 10

// introduction is the part of the prompt that is the same for all formats.
const introduction = `You solve a task by typing into a Linux terminal. You are shown what the terminal shows, and you
answer with the next keystrokes. They are typed, and you are shown the terminal again, until the task is done.

How keystrokes work:
- "keystrokes" is typed exactly as written. End a shell command with a newline, or it is not executed.
- A string that is nothing but the name of a key presses that key: Enter, Tab, BTab, Escape, Space, BSpace, Up, Down,
  Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to F12, C-a to C-z (Ctrl), M-x (Alt).
- "duration" is how many seconds to wait before the next keystrokes: 0.1 for cd or ls, 1 for most commands, longer for
  builds and downloads, 60 at most. To wait longer, send empty keystrokes with a duration.
- Do not wait for a command that is done; look at the terminal and go on.
- When the task is done, say so by task_complete. You are asked once more whether you are sure.

`

// jsonFormat and xmlFormat describe the format of a response.
//
//nolint:lll // the text has lines of its own
const (
	jsonFormat = `Answer with one JSON object and nothing else:

{
  "analysis": "what you see in the terminal, and what is done so far",
  "plan": "what you do next, and why",
  "commands": [
    {"keystrokes": "ls -la\n", "duration": 0.1},
    {"keystrokes": "C-c", "duration": 0.1}
  ],
  "task_complete": false
}

"analysis", "plan" and "commands" are required, in this order; "commands" may be empty. "duration" is 1.0 if it is missing.
`
	xmlFormat = `Answer with one <response> and nothing else:

<response>
<analysis>what you see in the terminal, and what is done so far</analysis>
<plan>what you do next, and why</plan>
<commands>
<keystrokes duration="0.1">ls -la
</keystrokes>
<keystrokes duration="0.1">C-c</keystrokes>
</commands>
<task_complete>false</task_complete>
</response>

Text between tags is taken as it is: do not write &lt; or &amp; for < and &. "duration" is 1.0 if it is missing.
`
)

// prompt is the input of an agent that is started for each step.
type prompt struct {
	format Format
	steps  []string // previous steps, oldest first
	size   int      // size of steps in bytes
}

// text returns the prompt of a step.
func (p *prompt) text(r request) string {
	var b strings.Builder
	b.WriteString(introduction)
	if p.format == XML {
		b.WriteString(xmlFormat)
	} else {
		b.WriteString(jsonFormat)
	}
	if len(p.steps) > 0 {
		b.WriteString("\nPrevious steps:\n" + strings.Join(p.steps, ""))
	}
	b.WriteString("\nTask Description:\n" + r.Instruction)
	b.WriteString("\n\n" + stateHeading + strings.TrimPrefix(r.Screen, stateHeading))
	return b.String()
}

const stateHeading = "Current terminal state:\n"

// addStep adds a step to the next prompts.
func (p *prompt) addStep(step int, r Response) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s\n", step, terminal.Shorten(oneLine(r.Analysis), maxCaption))
	if plan := oneLine(r.Plan); plan != "" {
		fmt.Fprintf(&b, "   plan: %s\n", terminal.Shorten(plan, maxCaption))
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "   not understood: %s\n", terminal.Shorten(oneLine(r.Error), maxCaption))
	}
	for _, c := range r.Commands {
		line, _ := terminal.EncodeLine(terminal.Shorten(c.Keys, maxCaption)) // encoding a string never fails
		b.WriteString("   keystrokes: " + string(line))
	}
	text := terminal.Shorten(b.String(), maxPrevious/utf8.UTFMax)
	p.steps = append(p.steps, text)
	for p.size += len(text); p.size > maxPrevious && len(p.steps) > 1; p.steps = p.steps[1:] {
		p.size -= len(p.steps[0])
	}
}

// oneLine makes one line of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
