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

// agentCommand is offered only where there is more than one agent. Elsewhere /agent goes to the
// agent, as every word that is not ours.
const agentCommand = "agent"

// mostOffered is how many agents have a button: networks limit the buttons of a message, Discord to
// 25.
const mostOffered = 20

// agent says which agent answers in the chat, or has another one answer.
func (c call) agent(ctx context.Context) (string, error) {
	now, _, err := c.choice(ctx, c.in.Chat)
	if err != nil {
		return "", err
	}
	names := c.agentNames()
	wanted := strings.ToLower(c.args)
	switch {
	case wanted == "":
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == now })
		if len(others) == 0 {
			return fmt.Sprintf("The agent %s answers here. There is no other.", now), nil
		}
		c.offer(others)
		return fmt.Sprintf("The agent %s answers here. /agent NAME chooses another: %s.", now, strings.Join(others, ", ")), nil
	case !slices.Contains(names, wanted):
		c.offer(names)
		return unknownAgent(wanted, names), nil
	case wanted == now:
		return fmt.Sprintf("The agent %s answers here already.", now), nil
	}
	c.request.Remember = store.Memory{Key: choiceMemory, Value: wanted}
	*c.chosen = wanted
	if t := c.o.Lanes.Running(c.in.Chat); t != nil {
		return fmt.Sprintf("The agent %s answers from your next message on. %s is still working.", wanted, t.Agent()), nil
	}
	return fmt.Sprintf("The agent %s answers from now on.", wanted), nil
}

// unknownAgent tells a person which agents there are.
func unknownAgent(wanted string, names []string) string {
	var hint string
	if near := config.Nearest(wanted, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %s?", near)
	}
	return fmt.Sprintf("There is no agent \"%s\".%s These are the agents: %s.", channels.Literal(channels.FirstLine(wanted, longestShown)), hint, strings.Join(names, ", "))
}

// offer puts a button for each agent under the answer.
func (c call) offer(names []string) {
	for _, name := range names[:min(len(names), mostOffered)] {
		c.reply.Buttons = append(c.reply.Buttons, channels.Button{Label: name, Data: agentCommand + ":" + name})
	}
}

// agentNames are the agents that are configured, in order.
func (i *Intake) agentNames() []string { return slices.Sorted(maps.Keys(i.o.Settings().Agents)) }
