package channels

import (
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

// Changed returns a channel that is closed at the next SetMenu.
func (m *CommandMenu) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}
