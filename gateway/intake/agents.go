package intake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/store"
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
			return fmt.Sprintf("You are talking to %s, the only agent.", now), nil
		}
		c.addAgentButtons(others)
		return fmt.Sprintf("You are talking to %s. To change, send /agent NAME: %s.", now, strings.Join(others, ", ")), nil
	case !slices.Contains(names, wanted):
		c.addAgentButtons(names)
		return unknownAgentText(wanted, names), nil
	case wanted == now:
		return fmt.Sprintf("You are already talking to %s.", now), nil
	}
	c.request.Remember = store.Memory{Key: choiceMemory, Value: wanted}
	*c.chosen = wanted
	if t := c.o.Lanes.RunningTurn(c.in.Chat); t != nil {
		return fmt.Sprintf("Your next message goes to %s. %s is still working.", wanted, t.Agent()), nil
	}
	return fmt.Sprintf("Your next message goes to %s.", wanted), nil
}

// unknownAgentText is the answer to a name that no agent has.
func unknownAgentText(wanted string, names []string) string {
	var hint string
	if near := config.ClosestMatch(wanted, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %s?", near)
	}
	return fmt.Sprintf("There is no agent \"%s\".%s These are the agents: %s.", channels.EscapeMarkdown(channels.FirstLine(wanted, maxShownRunes)), hint, strings.Join(names, ", "))
}

// addAgentButtons adds a button for each agent to the answer.
func (c commandCall) addAgentButtons(names []string) {
	for _, name := range names[:min(len(names), maxButtons)] {
		c.reply.Buttons = append(c.reply.Buttons, channels.Button{Label: name, Data: cmdAgent + ":" + name})
	}
}

// agentNames returns the sorted names of the configured agents.
func (i *Intake) agentNames() []string { return slices.Sorted(maps.Keys(i.o.Settings().Agents)) }
