package intake

import (
	"context"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/choice"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// maxButtons bounds the buttons of an answer. Discord allows 25 per message.
const maxButtons = 20

// agent carries out /agent: it shows the chat's agent, or chooses another.
func (c commandCall) agent(ctx context.Context) (string, error) {
	now, _, err := c.o.Choice.Next(ctx, c.in.Chat)
	if err != nil {
		return "", err
	}
	names := c.o.Choice.Names()
	wanted := strings.ToLower(c.args)
	switch {
	case wanted == "":
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == now })
		if len(others) == 0 {
			return c.text(words.OnlyAgent, now), nil
		}
		c.addAgentButtons(others)
		return c.text(words.CurrentAgent, now, strings.Join(others, ", ")), nil
	case !slices.Contains(names, wanted):
		c.addAgentButtons(names)
		return c.unknownAgentText(wanted, names), nil
	case wanted == now:
		return c.textForSender(words.SameAgent, now), nil
	}
	c.request.Remember = choice.Remember(wanted)
	*c.chosen = wanted
	if t := c.o.Lanes.RunningTurn(c.in.Chat); t != nil {
		return c.text(words.NextAgentBusy, wanted, t.Agent()), nil
	}
	return c.text(words.NextAgent, wanted), nil
}

// unknownAgentText is the answer to a name that no agent has.
func (c commandCall) unknownAgentText(wanted string, names []string) string {
	shown, all := channels.EscapeMarkdown(channels.FirstLine(wanted, maxShownRunes)), strings.Join(names, ", ")
	if near := config.ClosestMatch(wanted, names); near != "" {
		return c.text(words.UnknownAgentNear, shown, near, all)
	}
	return c.text(words.UnknownAgent, shown, all)
}

// addAgentButtons adds a button for each agent to the answer.
func (c commandCall) addAgentButtons(names []string) {
	for _, name := range names[:min(len(names), maxButtons)] {
		c.reply.Buttons = append(c.reply.Buttons, channels.Button{Label: name, Data: press.Agent(name)})
	}
}

// assignAgent sets the agent of a message that may get a turn. If the chosen agent is no longer
// configured, the person is told once: the transaction that stores the message also stores the
// notice and clears the choice.
func (e *enqueuer) assignAgent(ctx context.Context, request *store.ReceiveRequest) error {
	name, gone, err := e.o.Choice.Next(ctx, request.In.Chat)
	if request.Agent = name; gone == "" || err != nil {
		return err
	}
	notice := words.AgentGone
	if e.o.Choice.Several() {
		notice = words.AgentGoneChoose
	}
	request.Remember = choice.Remember("")
	request.Answer, err = e.planAnswer(request.In, channels.Message{
		Text: e.words(request.In).Text(notice, gone, name), Notification: channels.Notification{Silent: true},
	})
	return err
}
