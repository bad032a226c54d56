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

// maxOutput limits the bytes of output for an agent. From a longer output, the middle is cut out.
const maxOutput = 10000

// Output selects the terminal output for an agent: the output since the last call if that is known,
// else the screen. The zero value is ready to use.
type Output struct {
	earlier string // the buffer of the last call
	started bool
}

// Next returns the text for the agent. buffer is the scrollback and the screen, visible the screen
// alone.
func (o *Output) Next(buffer, visible string) string {
	buffer = strings.TrimSpace(buffer)
	earlier, started := o.earlier, o.started
	o.earlier, o.started = strings.Clone(buffer), true
	if started && strings.HasPrefix(buffer, earlier) {
		// The last line is repeated, because it has the prompt and the command that was typed.
		fresh := buffer[max(0, strings.LastIndexByte(earlier, '\n')):]
		if strings.TrimSpace(fresh) != "" {
			return cutMiddle(newHeading + fresh)
		}
	}
	return cutMiddle(screenHeading + visible)
}

// cutMiddle removes the middle of a text that is too long, at character boundaries.
func cutMiddle(text string) string {
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
