package acp

import (
	"errors"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxPrinted limits the output that is kept of a program which has not responded yet, in bytes.
const maxPrinted = 2000

// errEcho means that a program prints its input, as a shell command such as cat does.
var errEcho = errors.New("the program prints its input")

// recordNoise logs a line that is not a message, and keeps it until the agent has responded.
func (c *conn) recordNoise(line []byte) {
	text := strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxNoise)]), "\uFFFD"))
	if text == "" {
		return
	}
	c.log("debug", "not a message of the protocol: "+text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.responded && len(c.printed) < maxPrinted {
		c.printed += text + "\n"
	}
}

// printedInstead returns what the program has printed if it has never responded.
func (c *conn) printedInstead() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.responded {
		return ""
	}
	return strings.TrimSpace(c.printed)
}

// failCalls ends all pending calls with an error.
func (c *conn) failCalls(err error) {
	c.mu.Lock()
	pending := c.pending
	if !c.closed {
		c.pending = map[int64]*call{}
	}
	c.mu.Unlock()
	for _, k := range pending {
		k.complete(nil, err)
	}
}

// notAgentText says that the program is not an agent of this protocol, with its output. It returns
// otherwise if the program has printed nothing, or internals must not be shown.
func (x *turn) notAgentText(otherwise string) string {
	if x.a == nil || !x.t.Final.Reveal {
		return otherwise
	}
	printed := x.a.printedInstead()
	if printed == "" {
		return otherwise
	}
	return x.t.Words.Text(words.NotAnAgent, otherwise, terminal.CodeBlock("", terminal.Shorten(printed, maxPrinted)))
}
