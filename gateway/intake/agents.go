package intake

import (
	"context"
	"fmt"
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

// recentTurns bounds the messages of a chat that are searched for its last turn.
const recentTurns = 20

// agent carries out /agent: it shows the chat's agent, or chooses another.
func (c commandCall) agent(context.Context) (string, error) {
	now, names := c.in.Answerer.Agent, c.in.Answerer.Choices
	wanted := strings.ToLower(c.args)
	_, exists := c.o.Settings().Agents[wanted]
	switch {
	case c.o.Choice.HasRoutes() && len(names) < 2:
		return c.text(words.FixedAgent, now), nil
	case wanted == "":
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == now })
		if len(others) == 0 {
			return c.text(words.OnlyAgent, now), nil
		}
		c.addAgentButtons(others)
		return c.text(words.CurrentAgent, now, strings.Join(others, ", ")), nil
	case exists && !slices.Contains(names, wanted):
		c.addAgentButtons(names)
		return c.text(words.AgentNotHere, wanted, strings.Join(names, ", ")), nil
	case !exists:
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
func (e *enqueuer) assignAgent(request *store.ReceiveRequest) (err error) {
	a := request.In.Answerer
	if request.Agent = a.Agent; a.Gone == "" {
		return nil
	}
	notice := words.AgentGone
	if len(a.Choices) > 1 {
		notice = words.AgentGoneChoose
	}
	request.Remember = choice.Remember("")
	request.Answer, err = e.planAnswer(request.In, channels.Message{
		Text: e.words(request.In).Text(notice, a.Gone, a.Agent), Notification: channels.Notification{Silent: true},
	})
	return err
}

// keepAgent has the message of an earlier turn say who answers a message, where there are rules: a
// button or a question belongs to the agent that has shown it, unless the person may not choose it.
func (i *Intake) keepAgent(ctx context.Context, in *channels.Incoming, earlier int64) error {
	if !i.o.Choice.HasRoutes() {
		return nil
	}
	before, ok, err := i.o.Store.Inbound(ctx, earlier)
	if err != nil {
		return fmt.Errorf("read the message of a button: %w", err)
	}
	may := before.Agent == in.Answerer.Agent
	if !may {
		if may, err = i.o.Access.MaySwitch(ctx, *in); err != nil {
			return err
		}
	}
	if _, exists := i.o.Settings().Agents[before.Agent]; may && ok && exists && before.Attempt > 0 {
		in.Answerer = channels.Answerer{Agent: before.Agent}
		in.Workspace, in.Worktree = before.In.Workspace, before.In.Worktree
	}
	return nil
}

// keepLastAgent has the last turn of the chat say who carries out a command on a button, where
// there are rules: the button does not name the message of the turn.
func (i *Intake) keepLastAgent(ctx context.Context, in *channels.Incoming) error {
	if !strings.HasPrefix(in.Press, "/") || !i.o.Choice.HasRoutes() {
		return nil
	}
	recent, err := i.o.Store.Recent(ctx, in.Chat, recentTurns)
	if err != nil {
		return fmt.Errorf("read the last turn: %w", err)
	}
	if at := slices.IndexFunc(recent, func(i store.Inbound) bool { return i.Attempt > 0 }); at >= 0 {
		return i.keepAgent(ctx, in, recent[at].ID)
	}
	return nil
}
