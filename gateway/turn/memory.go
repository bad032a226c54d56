package turn

import (
	"context"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// What is remembered of a chat: what the protocol wants to know again, and what the agent told of
// itself.
const agentMemory, aboutMemory = "agent", "about"

// lastingMemory is what the protocol wants to know again even when the chat is started afresh.
const lastingMemory = store.Lasting + agentMemory

// memoryOf is the key under which something is remembered for one agent. The default agent's keys
// are those of states in which there was no other.
func memoryOf(agent, key string) string {
	if agent == store.DefaultAgent {
		return key
	}
	return key + ":" + agent
}

// memory is what a turn knows of its chat from earlier ones of its agent. When the chat is started
// afresh while the turn runs, what it still learns is part of what was to be forgotten.
type memory struct {
	store Store
	chat  channels.Chat
	agent string

	mu     sync.Mutex
	afresh bool
}

var _ terminal.Memory = (*memory)(nil)

// Load returns what was saved last.
func (m *memory) Load(ctx context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.afresh {
		return "", nil
	}
	return m.store.Recall(ctx, m.chat, memoryOf(m.agent, agentMemory))
}

// Save keeps something for the next turns.
func (m *memory) Save(ctx context.Context, s string) error { return m.remember(ctx, agentMemory, s) }

// LoadLasting returns what was saved last of what stays.
func (m *memory) LoadLasting(ctx context.Context) (string, error) {
	return m.store.Recall(ctx, m.chat, memoryOf(m.agent, lastingMemory))
}

// SaveLasting keeps something for good.
func (m *memory) SaveLasting(ctx context.Context, s string) error {
	return m.store.Remember(ctx, m.chat, memoryOf(m.agent, lastingMemory), s)
}

func (m *memory) remember(ctx context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.afresh {
		return nil
	}
	return m.store.Remember(ctx, m.chat, memoryOf(m.agent, key), value)
}

// Forget calls do, which has the chat start afresh on disk. If that succeeds, what the turn still
// learns is not kept.
func (t *Turn) Forget(do func() error) error {
	t.memory.mu.Lock()
	defer t.memory.mu.Unlock()
	err := do()
	t.memory.afresh = t.memory.afresh || err == nil
	return err
}
