package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// What is remembered of a chat: what the protocol wants to know again, and what the agent told of itself.
const agentMemory, aboutMemory = "agent", "about"

// lastingMemory is what the protocol wants to know again even when the chat is started afresh.
const lastingMemory = store.Lasting + agentMemory

// memory is what a turn knows of its chat from earlier ones. When the chat is started afresh while the turn runs, what it still learns is
// part of what was to be forgotten.
type memory struct {
	g    *Gateway
	chat channels.Chat

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
	return m.g.o.Store.Recall(ctx, m.chat, agentMemory)
}

// Save keeps something for the next turns.
func (m *memory) Save(ctx context.Context, s string) error { return m.keep(ctx, agentMemory, s) }

// LoadLasting returns what was saved last of what stays.
func (m *memory) LoadLasting(ctx context.Context) (string, error) {
	return m.g.o.Store.Recall(ctx, m.chat, lastingMemory)
}

// SaveLasting keeps something for good.
func (m *memory) SaveLasting(ctx context.Context, s string) error {
	return m.g.o.Store.Remember(ctx, m.chat, lastingMemory, s)
}

func (m *memory) keep(ctx context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.afresh {
		return nil
	}
	return m.g.o.Store.Remember(ctx, m.chat, key, value)
}

// forget is called with what starts the chat afresh on disk.
func (m *memory) forget(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := do()
	m.afresh = m.afresh || err == nil
	return err
}

// tellEvery is the shortest time between two records of what an agent tells of itself: it may do so with every word.
const tellEvery = time.Second

// about keeps what an agent tells of itself in this turn. The agent does not wait for the disk, nor for the network that shows its commands.
type about struct {
	t     *turn
	begun sync.Once
	wake  chan struct{}

	mu  sync.Mutex
	now *terminal.About
}

// tell takes what the agent says about itself. The newest counts.
func (a *about) tell(now terminal.About) {
	now.Commands = slices.Clone(now.Commands)
	a.mu.Lock()
	a.now = &now
	a.mu.Unlock()
	a.begun.Do(func() { a.t.g.showing.Go(a.run) })
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// newest returns what the agent told last, or nil.
func (a *about) newest() *terminal.About {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// run records what is told until the turn has ended.
func (a *about) run() {
	before, err := a.t.g.told(a.t.g.sending, a.t.item.In.Chat)
	if err != nil {
		a.t.log.Warn("what the agent told of itself cannot be read", zap.Error(err))
	}
	for ended := false; !ended; {
		select {
		case <-a.wake:
			ended = !retry.Sleep(a.t.listening, tellEvery)
		case <-a.t.listening.Done():
			ended = true
		}
		if now := *a.newest(); !reflect.DeepEqual(now, before) {
			a.record(now, before)
			before = now
		}
	}
}

// record keeps what was told, and shows the commands where the channel has a menu for a chat.
func (a *about) record(now, before terminal.About) {
	ctx, cancel := context.WithTimeout(a.t.g.sending, outbox.CallTimeout)
	defer cancel()
	text, err := json.Marshal(now)
	if err == nil {
		err = a.t.memory.keep(ctx, aboutMemory, string(text))
	}
	if err != nil {
		a.t.log.Warn("what the agent tells of itself was not kept", zap.Error(err))
	}
	menu, ok := a.t.ch.(channels.ChatMenu)
	if !ok || reflect.DeepEqual(now.Commands, before.Commands) {
		return
	}
	if err := menu.SetChatMenu(ctx, a.t.item.In.Chat, intake.AgentCommands(now)); err != nil {
		a.t.log.Debug("the agent's commands are not in the menu", zap.Error(err))
	}
}

// about is what the agent told of itself in a chat last.
func (g *Gateway) about(ctx context.Context, chat channels.Chat) (terminal.About, error) {
	if t, ok := g.lanes.Running(chat); ok {
		if now := t.about.newest(); now != nil {
			return *now, nil
		}
	}
	return g.told(ctx, chat)
}

// told is what was recorded of that.
func (g *Gateway) told(ctx context.Context, chat channels.Chat) (a terminal.About, err error) {
	text, err := g.o.Store.Recall(ctx, chat, aboutMemory)
	if err != nil || text == "" {
		return a, err
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return terminal.About{}, fmt.Errorf("read what the agent told of itself: %w", err)
	}
	return a, nil
}

// keptMemory is where the gateway's name is, among its own memories.
const keptMemory = "kept"

// name returns what names this gateway, now and after restarts, in the environment of agents that are kept.
func (g *Gateway) name(ctx context.Context) (string, error) {
	name, err := g.o.Store.Recall(ctx, channels.Chat{}, keptMemory)
	if err != nil || name != "" {
		return name, err
	}
	name = rand.Text()
	return name, g.o.Store.Remember(ctx, channels.Chat{}, keptMemory, name)
}
