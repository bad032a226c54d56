package discord

import (
	"context"
	"strings"
	"sync"
)

const (
	// commandPrefix distinguishes the ID of a command's interaction from the ID of a message.
	commandPrefix = "slash-"
	// maxCommandMessages bounds the remembered uses of commands.
	maxCommandMessages = 256
)

// commandMessages maps uses of commands to the messages that show them, so that an answer can reply
// to the message.
type commandMessages struct {
	mu            sync.Mutex
	byInteraction map[snowflake]*commandMessage
	order         []snowflake
}

// commandMessage is the message that shows the use of a command.
type commandMessage struct {
	created chan struct{} // closed when Discord has created the message or refused to
	id      snowflake
}

func (s *commandMessage) markCreated() { close(s.created) }

func newCommandMessages() *commandMessages {
	return &commandMessages{byInteraction: map[snowflake]*commandMessage{}}
}

// add records the use of a command.
func (s *commandMessages) add(id snowflake) *commandMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == maxCommandMessages {
		delete(s.byInteraction, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	one := &commandMessage{created: make(chan struct{})}
	s.byInteraction[id] = one
	s.order = append(s.order, id)
	return one
}

// resolve returns the message that an ID refers to: the message itself, or the one that shows the
// use of a command. 0 means that it is unknown or no longer remembered.
func (s *commandMessages) resolve(ctx context.Context, id string) snowflake {
	number, ok := strings.CutPrefix(id, commandPrefix)
	if !ok {
		return parseSnowflake(id)
	}
	s.mu.Lock()
	one := s.byInteraction[parseSnowflake(number)]
	s.mu.Unlock()
	if one == nil {
		return 0
	}
	select {
	case <-one.created:
		return one.id
	case <-ctx.Done():
		return 0
	}
}
