package rpc

import (
	"errors"
	"strings"
)

// MaxPrinted limits the output that is kept of a program which has not responded yet, in bytes.
const MaxPrinted = 2000

// ErrEcho means that a program prints its input, as a shell command such as cat does.
var ErrEcho = errors.New("the program prints its input")

// recordNoise logs a line that is not a message, and keeps it until the agent has responded.
func (c *Conn) recordNoise(line []byte) {
	text := strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxNoise)]), "\uFFFD"))
	if text == "" {
		return
	}
	c.handler.Log("debug", "not a message of the protocol: "+text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.responded && len(c.printed) < MaxPrinted {
		c.printed += text + "\n"
	}
}

// PrintedInstead returns what the program has printed if it has never responded.
func (c *Conn) PrintedInstead() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.responded {
		return ""
	}
	return strings.TrimSpace(c.printed)
}

// failCalls ends all pending calls with an error.
func (c *Conn) failCalls(err error) {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[int64]*call{}
	c.mu.Unlock()
	for _, k := range pending {
		k.complete(nil, err)
	}
}
