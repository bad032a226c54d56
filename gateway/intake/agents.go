package intake

import (
	"context"
	"maps"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// cmdAgent is available only with several agents. Otherwise /agent is passed to the agent, like all
// unknown commands.
const cmdAgent = "agent"

// maxButtons bounds the buttons of an answer. Discord allows 25 per message.
const maxButtons = 20

// agent carries out /agent: it shows the chat's agent, or chooses another.
func (c commandCall) agent(ctx context.Context) (string, error) {
	now, _, err := c.chosenAgent(ctx, c.in.Chat)
	if err != nil {
		return "", err
	}
	names := c.agentNames()
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
		return c.text(words.SameAgent, now), nil
	}
	c.request.Remember = store.Memory{Key: choiceMemory, Value: wanted}
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

// agentNames returns the sorted names of the configured agents.
func (i *Intake) agentNames() []string { return slices.Sorted(maps.Keys(i.o.Settings().Agents)) }
