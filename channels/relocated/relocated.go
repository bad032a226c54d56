// Package relocated remembers messages that a channel sent elsewhere than to their chat, because
// the chat's topic or thread is closed. Their buttons still belong to the chat.
package relocated

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"nanobot/channels"
)

// maxMessages bounds what is remembered; the oldest messages are forgotten first.
const maxMessages = 200

// memoryKey is the memory key of the messages, as JSON.
const memoryKey = "relocated"

// Message is a message that was sent elsewhere than to its chat.
type Message struct {
	ID   string `json:"id"`   // as the network names it, unique on the channel
	Chat string `json:"chat"` // the ID of the chat that it belongs to
	In   string `json:"in"`   // where it is, as the channel names it
}

// Messages are the relocated messages of a channel. The zero value is ready to use.
type Messages struct {
	mu     sync.Mutex
	loaded bool
	list   []Message // the newest last
}

// Add remembers a message. Without a memory it is remembered until the channel ends.
func (m *Messages) Add(ctx context.Context, memory channels.Memory, add Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	loadErr := m.load(ctx, memory)
	m.list = append(m.list, add)
	m.list = slices.Delete(m.list, 0, max(len(m.list)-maxMessages, 0))
	if memory == nil || loadErr != nil {
		return loadErr
	}
	b, err := json.Marshal(m.list)
	if err == nil {
		err = memory.Save(ctx, memoryKey, string(b))
	}
	if err != nil {
		return fmt.Errorf("store relocated message: %w", err)
	}
	return nil
}

// Find returns the relocated message with an ID.
func (m *Messages) Find(ctx context.Context, memory channels.Memory, id string) (Message, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(ctx, memory); err != nil {
		return Message{}, false, err
	}
	at := slices.IndexFunc(m.list, func(l Message) bool { return l.ID == id })
	if at < 0 {
		return Message{}, false, nil
	}
	return m.list[at], true, nil
}

// load reads the messages of earlier runs, once. The caller holds mu.
func (m *Messages) load(ctx context.Context, memory channels.Memory) error {
	if m.loaded || memory == nil {
		return nil
	}
	stored, err := memory.Load(ctx, memoryKey)
	var earlier []Message
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &earlier)
	}
	if err != nil {
		return fmt.Errorf("read relocated messages: %w", err)
	}
	m.list, m.loaded = append(earlier, m.list...), true
	return nil
}
