package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// choiceMemory is the memory with the agent that a chat has chosen. It outlives /new.
const choiceMemory = store.LastingPrefix + "choice"

// resolveAgent returns the agent for the next message of a chat: the chosen one, or the default
// agent. gone is a chosen agent that is no longer configured.
func resolveAgent(chosen string, configured map[string]Agent) (name, gone string) {
	if chosen == "" {
		return store.DefaultAgent, ""
	}
	if _, ok := configured[chosen]; !ok {
		return store.DefaultAgent, chosen
	}
	return chosen, ""
}

// chosenAgent returns the agent for the next message of a chat, from the chat's stored choice.
func (i *Intake) chosenAgent(ctx context.Context, chat channels.Chat) (name, gone string, err error) {
	chosen, err := i.o.Store.Recall(ctx, chat, choiceMemory)
	if err != nil {
		return "", "", fmt.Errorf("read the chosen agent: %w", err)
	}
	name, gone = resolveAgent(chosen, i.o.Settings().Agents)
	return name, gone, nil
}

// NextAgent returns the name of the agent that answers the next message of a chat.
func (i *Intake) NextAgent(ctx context.Context, chat channels.Chat) (string, error) {
	name, _, err := i.chosenAgent(ctx, chat)
	return name, err
}

// assignAgent sets the agent of a message that may get a turn. If the chosen agent is no longer
// configured, the person is told once: the transaction that stores the message also stores the
// notice and clears the choice.
func (i *Intake) assignAgent(ctx context.Context, a *store.ReceiveRequest) error {
	name, gone, err := i.chosenAgent(ctx, a.In.Chat)
	if a.Agent = name; gone == "" || err != nil {
		return err
	}
	notice := i.words(a.In).Text(words.AgentGone, gone, name)
	if i.severalAgents() {
		notice = i.words(a.In).Text(words.AgentGoneChoose, gone, name)
	}
	a.Remember = store.Memory{Key: choiceMemory}
	a.Answer, err = i.planAnswer(a.In, channels.Message{Text: notice, Notification: channels.Notification{Silent: true}})
	return err
}

func (i *Intake) severalAgents() bool { return len(i.o.Settings().Agents) > 1 }
