package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// choiceMemory is where the agent is stored that a chat has chosen. /new does not forget it.
const choiceMemory = store.Lasting + "choice"

// chooseAgent names the agent that answers the next message of a chat: the one that the chat has
// chosen, else the default one. gone is a choice that is not configured any more.
func chooseAgent(chosen string, configured map[string]Agent) (name, gone string) {
	if chosen == "" {
		return store.DefaultAgent, ""
	}
	if _, ok := configured[chosen]; !ok {
		return store.DefaultAgent, chosen
	}
	return chosen, ""
}

// choice reads what a chat has chosen, and chooses by that.
func (i *Intake) choice(ctx context.Context, chat channels.Chat) (name, gone string, err error) {
	chosen, err := i.o.Store.Recall(ctx, chat, choiceMemory)
	if err != nil {
		return "", "", fmt.Errorf("read the chosen agent: %w", err)
	}
	name, gone = chooseAgent(chosen, i.o.Settings().Agents)
	return name, gone, nil
}

// AgentOf names the agent that answers the next message of a chat.
func (i *Intake) AgentOf(ctx context.Context, chat channels.Chat) (string, error) {
	name, _, err := i.choice(ctx, chat)
	return name, err
}

// assign chooses the agent of a message that may get a turn. A person whose choice is not
// configured any more is told once: the choice is forgotten in the step that stores the message and
// the notice.
func (i *Intake) assign(ctx context.Context, a *store.ReceiveRequest) error {
	name, gone, err := i.choice(ctx, a.In.Chat)
	if a.Agent = name; gone == "" || err != nil {
		return err
	}
	notice := fmt.Sprintf("The agent %s is no longer available, so %s answers from now on.", gone, name)
	if i.severalAgents() {
		notice += " /agent chooses another."
	}
	a.Remember = store.Memory{Key: choiceMemory}
	a.Answer, err = i.planAnswer(a.In, channels.Message{Text: notice})
	return err
}

// severalAgents reports whether there is anything to choose.
func (i *Intake) severalAgents() bool { return len(i.o.Settings().Agents) > 1 }
