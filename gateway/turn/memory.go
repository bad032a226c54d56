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

// Load returns the text that was saved last.
func (m *memory) Load(ctx context.Context, key terminal.MemoryKey) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch key {
	case terminal.ConversationMemory:
		if m.cleared {
			return "", nil
		}
		return m.store.Recall(ctx, m.chat, memoryKey(m.agent, agentMemory))
	case terminal.LastingMemory:
		return m.store.Recall(ctx, m.chat, memoryKey(m.agent, lastingMemory))
	case terminal.HeardMemory:
		return m.store.Recall(ctx, m.chat, memoryKey(m.agent, string(key)))
	case terminal.SpeechMemory:
		return m.store.Recall(ctx, m.chat, memoryKey(m.agent, store.LastingPrefix+string(key)))
	}
	return m.store.Recall(ctx, channels.Chat{}, string(key)) // shared by all chats
}

// Save stores a text for the next turns.
func (m *memory) Save(ctx context.Context, key terminal.MemoryKey, text string) error {
	switch key {
	case terminal.ConversationMemory:
		return m.remember(ctx, agentMemory, text)
	case terminal.LastingMemory:
		return m.store.Remember(ctx, m.chat, memoryKey(m.agent, lastingMemory), text)
	case terminal.HeardMemory:
		return m.remember(ctx, string(key), text)
	case terminal.SpeechMemory:
		return m.store.Remember(ctx, m.chat, memoryKey(m.agent, store.LastingPrefix+string(key)), text)
	}
	return m.store.Remember(ctx, channels.Chat{}, string(key), text)
}

// remember stores what ends with the conversation.
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
