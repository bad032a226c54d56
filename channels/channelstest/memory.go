package channelstest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"nanobot/channels"
)

// Memory implements channels.Memory for a channel under test. It outlives the channel, as a store
// does.
type Memory struct {
	busy   bool
	mu     sync.Mutex
	fail   error
	values map[string]string
	parts  []channels.Incoming
	known  map[messageKey]bool
	cursor string
}

// messageKey identifies a message.
type messageKey struct {
	chat channels.Chat
	id   string
}

var _ channels.Memory = (*Memory)(nil)

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{values: map[string]string{}, known: map[messageKey]bool{}}
}

// FailWrites makes every change of the memory fail with err. Nil makes changes succeed again.
func (m *Memory) FailWrites(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// Load returns the value of a key.
func (m *Memory) Load(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

// Save replaces the value of a key.
func (m *Memory) Save(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.values[key] = value
	}
	return m.fail
}

// Parts returns the parts of messages that are not complete yet.
func (m *Memory) Parts(context.Context) ([]channels.Incoming, error) { return m.StoredParts(), nil }

// StoredParts is Parts without the context and the error, for tests.
func (m *Memory) StoredParts() []channels.Incoming {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.parts)
}

// DropParts removes the parts of a message.
func (m *Memory) DropParts(_ context.Context, chat channels.Chat, group string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.removeParts(chat, group)
	}
	return m.fail
}

// Known reports whether a message was received or dropped.
func (m *Memory) Known(_ context.Context, chat channels.Chat, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[messageKey{chat, id}], nil
}

// Idle reports whether a chat is idle: until SetBusy is called.
func (m *Memory) Idle(channels.Chat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.busy
}

// SetBusy makes all chats busy.
func (m *Memory) SetBusy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = true
}

// Cursor returns the newest cursor.
func (m *Memory) Cursor() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursor
}

// WrapReceive returns a Receive that stores parts in the memory and passes everything else to
// receive.
func (m *Memory) WrapReceive(receive channels.Receive) channels.Receive {
	return func(ctx context.Context, in channels.Incoming) error {
		if in.Part != nil && !in.Part.Last {
			return m.storePart(in)
		}
		if err := receive(ctx, in); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.known[messageKey{in.Chat, in.ID}] = true
		m.cursor = cmp.Or(in.Cursor, m.cursor)
		if in.Part != nil {
			m.removeParts(in.Chat, in.Part.Group)
		}
		return nil
	}
}

func (m *Memory) storePart(in channels.Incoming) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.cursor = cmp.Or(in.Cursor, m.cursor)
	}
	if m.fail == nil && m.known[messageKey{in.Chat, in.ID}] {
		return channels.ErrKnown
	}
	same := func(p channels.Incoming) bool { return p.Chat == in.Chat && p.ID == in.ID }
	if m.fail == nil && !slices.ContainsFunc(m.parts, same) {
		m.parts = append(m.parts, in)
	}
	return m.fail
}

// removeParts removes the parts of a message and records them as known.
func (m *Memory) removeParts(chat channels.Chat, group string) {
	m.parts = slices.DeleteFunc(m.parts, func(p channels.Incoming) bool {
		if p.Chat != chat || p.Part.Group != group {
			return false
		}
		m.known[messageKey{p.Chat, p.ID}] = true
		return true
	})
}
