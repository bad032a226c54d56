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

// infoInterval is the shortest time between two updates of the stored agent information. Agents may
// report new information with every word.
const infoInterval = time.Second

// infoRecorder stores the information that the agent reports about itself in this turn. The agent
// waits neither for the disk nor for the network that shows its commands.
type infoRecorder struct {
	t     *Turn
	start func() // starts run; only the first call has an effect
	wake  chan struct{}

	mu     sync.Mutex
	latest *terminal.AgentInfo
}

// update takes new information from the agent. Only the latest is stored.
func (a *infoRecorder) update(now terminal.AgentInfo) {
	now.Commands = slices.Clone(now.Commands)
	a.mu.Lock()
	a.latest = &now
	a.mu.Unlock()
	a.start()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// latestInfo returns the information that the agent reported last, or nil.
func (a *infoRecorder) latestInfo() *terminal.AgentInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest
}

// run stores new information until accepting ends. sending is the context of network calls.
func (a *infoRecorder) run(sending, accepting context.Context) {
	var before terminal.AgentInfo
	for first, ended := true, false; !ended; first = false {
		select {
		case <-a.wake:
			ended = !retry.Sleep(accepting, infoInterval)
		case <-accepting.Done():
			ended = true // the latest information is still stored
		}
		now := a.latestInfo()
		if now == nil {
			return // the agent has reported nothing
		}
		if first {
			var err error
			if before, err = a.t.stage.StoredAgentInfo(sending, a.t.inbound.In.Chat, a.t.agent); err != nil {
				a.t.log.Warn("cannot read the stored agent information", zap.Error(err))
			}
		}
		if !reflect.DeepEqual(*now, before) {
			a.save(sending, *now, before)
			before = *now
		}
	}
}

// save stores the information, and updates the command menu if the commands have changed.
func (a *infoRecorder) save(sending context.Context, now, before terminal.AgentInfo) {
	ctx, cancel := context.WithTimeout(sending, outbox.CallTimeout)
	defer cancel()
	text, err := json.Marshal(now)
	if err == nil {
		err = a.t.memory.remember(ctx, infoMemory, string(text))
	}
	if err != nil {
		a.t.log.Warn("agent information not stored", zap.Error(err))
	}
	if reflect.DeepEqual(now.Commands, before.Commands) {
		return
	}
	if err := a.t.saveRenamed(ctx, now.Commands, before.Commands); err != nil {
		a.t.log.Warn("agent's commands not stored", zap.Error(err))
	}
	a.t.stage.AgentChanged(a.t.inbound.In.Chat, a.t.agent)
}

// AgentChanged is called when another agent is chosen for a chat, or an agent has other commands.
// It shows the stored commands of the agent in the background, on channels that have a menu per
// chat, unless another agent is to answer the chat's next message.
func (s *Stage) AgentChanged(chat channels.Chat, agent string) {
	menu, ok := s.o.Channels[chat.Channel].(channels.ChatMenu)
	if !ok {
		return
	}
	s.o.Outbox.ShowMenu(chat, func(ctx context.Context) error {
		if next, err := s.o.Choice.Next(ctx, chat); next != agent || err != nil {
			return err
		}
		now, err := s.StoredAgentInfo(ctx, chat, agent)
		if err != nil {
			return err
		}
		return menu.SetChatMenu(ctx, chat, s.o.Choice.AgentCommands(agent, now))
	})
}

// AgentInfo returns the information that the agent has reported in this turn, and false if there is
// none.
func (t *Turn) AgentInfo() (terminal.AgentInfo, bool) {
	if now := t.info.latestInfo(); now != nil {
		return *now, true
	}
	return terminal.AgentInfo{}, false
}

// StoredAgentInfo returns the information that an agent reported in earlier turns of a chat.
func (s *Stage) StoredAgentInfo(ctx context.Context, chat channels.Chat, agent string) (
	a terminal.AgentInfo, err error,
) {
	text, err := s.o.Store.Recall(ctx, chat, memoryKey(agent, infoMemory))
	if err != nil || text == "" {
		return a, err
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return terminal.AgentInfo{}, fmt.Errorf("decode agent information: %w", err)
	}
	return a, nil
}
