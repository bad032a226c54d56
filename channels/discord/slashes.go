package discord

import (
	"context"
	"strings"
	"sync"
)

const (
	// slashPrefix leads the id of what was said by a command, which is no message's.
	slashPrefix = "slash-"
	// mostSaid is how many uses of commands are remembered.
	mostSaid = 256
)

// slashes knows which message shows the use of a command, so that what is said to it can refer to
// it.
type slashes struct {
	mu    sync.Mutex
	all   map[flake]*said
	order []flake
}

// said is the message that shows the use of a command.
type said struct {
	done    chan struct{} // closed when Discord has made the message, or has not
	message flake
}

func (s *said) end() { close(s.done) }

func newSlashes() *slashes { return &slashes{all: map[flake]*said{}} }

// begin notes that a command is used.
func (s *slashes) begin(id flake) *said {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == mostSaid {
		delete(s.all, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	one := &said{done: make(chan struct{})}
	s.all[id] = one
	s.order = append(s.order, id)
	return one
}

// find returns the message that an id means: itself, or the one that shows the use of a command. 0
// is none, or one that is not known any more.
func (s *slashes) find(ctx context.Context, id string) flake {
	number, ok := strings.CutPrefix(id, slashPrefix)
	if !ok {
		return parseFlake(id)
	}
	s.mu.Lock()
	one := s.all[parseFlake(number)]
	s.mu.Unlock()
	if one == nil {
		return 0
	}
	select {
	case <-one.done:
		return one.message
	case <-ctx.Done():
		return 0
	}
}
