package view

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// OpenCommand is a command that the agent runs itself, and whose end it has not reported.
type OpenCommand struct {
	Call    string // the ID of the tool call
	Command string
	Began   time.Time // when the call was reported first
	Turn    time.Time // when its turn began
}

// OpenCommands returns the commands that the agent runs itself, oldest first.
func (v *View) OpenCommands() (open []OpenCommand) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, t := range v.board.tools {
		if t.Kind == "execute" && t.Running() && !t.usesClientTerminal(v.board) {
			command := cmp.Or(t.Input.Command, strings.Trim(t.Title, "`"))
			open = append(open, OpenCommand{id, strings.TrimSpace(command), t.began, v.began})
		}
	}
	slices.SortFunc(open, func(a, b OpenCommand) int { return a.Began.Compare(b.Began) })
	return open
}

// usesClientTerminal reports whether the call runs in a terminal of the client.
func (t *ToolCall) usesClientTerminal(b board) bool {
	return t.output.fromClient || b.table != nil && slices.ContainsFunc(t.terminals, func(id string) bool {
		_, err := b.table.Output(id)
		return err == nil
	})
}
