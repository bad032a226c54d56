package channels

import (
	"context"
	"slices"
	"sync"
)

// CommandMenu holds the commands of a channel's menu, for channels that implement Menu. The zero
// value is empty. Its methods are safe for concurrent use.
type CommandMenu struct {
	mu       sync.Mutex
	commands []Command
	changed  chan struct{} // closed by the next SetMenu; nil: nobody waits
}

// SetMenu implements Menu.
func (m *CommandMenu) SetMenu(commands []Command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = slices.Clone(commands)
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Commands returns the commands, which the caller must not change.
func (m *CommandMenu) Commands() []Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commands
}

// Follow calls publish now and after each SetMenu, until ctx ends.
func (m *CommandMenu) Follow(ctx context.Context, publish func()) {
	for {
		m.mu.Lock()
		changed := make(chan struct{})
		m.changed = changed
		m.mu.Unlock()
		publish()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
