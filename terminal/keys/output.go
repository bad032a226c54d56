package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	screenHeading = "Current Terminal Screen:\n"
	newHeading    = "New Terminal Output:\n"
)

// Of an output of more than maxOutput bytes an agent is shown the first and the last half.
const maxOutput = 10000

// Output tells an agent what its terminal shows: the output that is new since the last time if that
// can be told, and otherwise the screen. The zero value is ready to use.
type Output struct {
	earlier string // the buffer of the last time
	started bool
}

// Next returns the text for the agent. The buffer is the scrollback and the screen, visible is the
// screen alone.
func (o *Output) Next(buffer, visible string) string {
	buffer = strings.TrimSpace(buffer)
	earlier, started := o.earlier, o.started
	o.earlier, o.started = strings.Clone(buffer), true
	if started && strings.HasPrefix(buffer, earlier) {
		// The line that was the last is repeated: it has the prompt and what was typed behind it.
		fresh := buffer[max(0, strings.LastIndexByte(earlier, '\n')):]
		if strings.TrimSpace(fresh) != "" {
			return limit(newHeading + fresh)
		}
	}
	return limit(screenHeading + visible)
}

// limit cuts out the middle of a text that is too long, at the boundaries of characters.
func limit(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	head, tail := maxOutput/2, len(text)-maxOutput/2
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(text[head]); i++ {
		head--
	}
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(text[tail]); i++ {
		tail++
	}
	return fmt.Sprintf("%s\n[... output limited to %d bytes; %d interior bytes omitted ...]\n%s",
		text[:head], maxOutput, tail-head, text[tail:])
}
