package turn

import (
	"context"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// The keys of a chat's memories: the protocol's state, and the information that the agent reported
// about itself.
const agentMemory, infoMemory = "agent", "about"

// lastingMemory is the key of the protocol's state that outlives /new.
const lastingMemory = store.LastingPrefix + agentMemory

// sessionMemory is the prefix of the keys of the sessions that any chat has had with any agent, in
// the gateway's own memories.
const sessionMemory = "session:"

// memoryKey returns the key of an agent's memory. The keys of the default agent have no suffix, as
// in stores from before there were several agents.
func memoryKey(agent, key string) string {
	if agent == store.DefaultAgent {
		return key
	}
	return key + ":" + agent
}

// memory is an agent's memory of a chat across turns. If /new clears it during the turn, the turn
// saves nothing more.
type memory struct {
	store Store
	chat  channels.Chat
	agent string

	mu      sync.Mutex
	cleared bool
}

var _ terminal.Memory = (*memory)(nil)

// Load returns the state that was saved last.
func (m *memory) Load(ctx context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cleared {
		return "", nil
	}
	return m.store.Recall(ctx, m.chat, memoryKey(m.agent, agentMemory))
}

// Save stores the state for the next turns.
func (m *memory) Save(ctx context.Context, s string) error { return m.remember(ctx, agentMemory, s) }

// LoadLasting returns the lasting state that was saved last.
func (m *memory) LoadLasting(ctx context.Context) (string, error) {
	return m.store.Recall(ctx, m.chat, memoryKey(m.agent, lastingMemory))
}

// SaveLasting stores state that outlives /new.
func (m *memory) SaveLasting(ctx context.Context, s string) error {
	return m.store.Remember(ctx, m.chat, memoryKey(m.agent, lastingMemory), s)
}

// AddChatSession records for ever that a chat has had a session.
func (m *memory) AddChatSession(ctx context.Context, session string) error {
	return m.store.Remember(ctx, channels.Chat{}, sessionMemory+session, "1")
}

// IsChatSession reports whether any chat has had a session.
func (m *memory) IsChatSession(ctx context.Context, session string) (bool, error) {
	value, err := m.store.Recall(ctx, channels.Chat{}, sessionMemory+session)
	return value != "", err
}

func (m *memory) remember(ctx context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cleared {
		return nil
	}
	return m.store.Remember(ctx, m.chat, memoryKey(m.agent, key), value)
}

// ResetMemory calls do, which clears the chat's memories on disk. If that succeeds, the running
// turn saves nothing more.
func (t *Turn) ResetMemory(do func() error) error {
	t.memory.mu.Lock()
	defer t.memory.mu.Unlock()
	err := do()
	t.memory.cleared = t.memory.cleared || err == nil
	return err
}
