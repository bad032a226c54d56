package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/terminal"
)

// tellEvery is the shortest time between two records of what an agent tells of itself: it may do so
// with every word.
const tellEvery = time.Second

// about keeps what an agent tells of itself in this turn. The agent does not wait for the disk, nor
// for the network that shows its commands.
type about struct {
	t     *Turn
	start func() // has run called, once
	wake  chan struct{}

	mu  sync.Mutex
	now *terminal.AgentInfo
}

// update takes what the agent says about itself. The newest counts.
func (a *about) update(now terminal.AgentInfo) {
	now.Commands = slices.Clone(now.Commands)
	a.mu.Lock()
	a.now = &now
	a.mu.Unlock()
	a.start()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// newest returns what the agent told last, or nil.
func (a *about) newest() *terminal.AgentInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// run records what is told until listening ends. sending ends when networks must not be called any
// longer.
func (a *about) run(sending, listening context.Context) {
	var before terminal.AgentInfo
	for first, ended := true, false; !ended; first = false {
		select {
		case <-a.wake:
			ended = !retry.Sleep(listening, tellEvery)
		case <-listening.Done():
			ended = true // what was told last is still recorded
		}
		now := a.newest()
		if now == nil {
			return // it has told nothing
		}
		if first {
			var err error
			if before, err = a.t.stage.LastAbout(sending, a.t.inbound.In.Chat, a.t.agent); err != nil {
				a.t.log.Warn("what the agent told of itself cannot be read", zap.Error(err))
			}
		}
		if !reflect.DeepEqual(*now, before) {
			a.record(sending, *now, before)
			before = *now
		}
	}
}

// record keeps what was told, and shows the commands where the channel has a menu for a chat.
func (a *about) record(sending context.Context, now, before terminal.AgentInfo) {
	ctx, cancel := context.WithTimeout(sending, outbox.CallTimeout)
	defer cancel()
	text, err := json.Marshal(now)
	if err == nil {
		err = a.t.memory.remember(ctx, aboutMemory, string(text))
	}
	if err != nil {
		a.t.log.Warn("what the agent tells of itself was not kept", zap.Error(err))
	}
	if reflect.DeepEqual(now.Commands, before.Commands) {
		return
	}
	if err := a.t.stage.showMenu(ctx, a.t.inbound.In.Chat, a.t.agent, now); err != nil {
		a.t.log.Debug("the agent's commands are not in the menu", zap.Error(err))
	}
}

// showMenu shows an agent's commands where the channel has a menu for a chat, unless another agent
// answers there next.
func (s *Stage) showMenu(ctx context.Context, chat channels.Chat, agent string, now terminal.AgentInfo) error {
	menu, ok := s.o.Channels[chat.Channel].(channels.ChatMenu)
	if !ok {
		return nil
	}
	if answers, err := s.o.Answers(ctx, chat, agent); !answers || err != nil {
		return err
	}
	return menu.SetChatMenu(ctx, chat, s.o.Menu(agent, now))
}

// Chosen is called when another agent answers in a chat from now on. It shows the commands of that
// agent, as far as they are known, and does not wait for that.
func (s *Stage) Chosen(chat channels.Chat, agent string) {
	s.display.Go(func(sending context.Context) {
		ctx, cancel := context.WithTimeout(sending, outbox.CallTimeout)
		defer cancel()
		now, err := s.LastAbout(ctx, chat, agent)
		if err == nil {
			err = s.showMenu(ctx, chat, agent, now)
		}
		if err != nil {
			s.o.Log.Debug("the agent's commands are not in the menu", zap.Stringer("chat", chat), zap.String("agent", agent), zap.Error(err))
		}
	})
}

// About is what the agent told of itself in this turn. It reports false when that is nothing.
func (t *Turn) About() (terminal.AgentInfo, bool) {
	if now := t.about.newest(); now != nil {
		return *now, true
	}
	return terminal.AgentInfo{}, false
}

// LastAbout is what an agent told of itself in a chat in earlier turns.
func (s *Stage) LastAbout(ctx context.Context, chat channels.Chat, agent string) (a terminal.AgentInfo, err error) {
	text, err := s.o.Store.Recall(ctx, chat, memoryOf(agent, aboutMemory))
	if err != nil || text == "" {
		return a, err
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return terminal.AgentInfo{}, fmt.Errorf("read what the agent told of itself: %w", err)
	}
	return a, nil
}
