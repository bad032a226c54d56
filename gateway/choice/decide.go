package choice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/route"
	"nanobot/gateway/store"
)

// maxSearched bounds the messages of a chat that are searched for one of a person.
const maxSearched = 20

// Decide returns a message with the agent that answers it and the place where that works: those of
// the first rule that matches, or the agent that the chat has chosen, if the rule allows it.
// Without rules, every choice is allowed. An agent that in.Answerer names already stays. The
// command of the rule is taken off the text.
func (c *Choice) Decide(ctx context.Context, in channels.Incoming) (channels.Incoming, error) {
	return c.decide(ctx, in, func() (string, error) { return c.Chosen(ctx, in.Chat) })
}

// DecideChosen is Decide for a chat whose Memory was read.
func (c *Choice) DecideChosen(ctx context.Context, in channels.Incoming, chosen string) (channels.Incoming, error) {
	return c.decide(ctx, in, func() (string, error) { return chosen, nil })
}

func (c *Choice) decide(ctx context.Context, in channels.Incoming, readChosen func() (string, error)) (
	channels.Incoming, error,
) {
	rule, err := c.Find(ctx, in)
	if err != nil {
		return in, err
	}
	agents := c.o.Agents()
	if c.o.MaySwitch != nil && len(agents) > 1 && !rule.Switch.IsEmpty() {
		may, err := c.o.MaySwitch(ctx, in)
		if err != nil {
			return in, err
		}
		if !may {
			rule.Switch = config.Selection{}
		}
	}
	a := channels.Answerer{Agent: cmp.Or(in.Answerer.Agent, rule.Agent)}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if rule.Allows(name) {
			a.Choices = append(a.Choices, name)
		}
	}
	if in.Answerer.Agent == "" && !rule.Switch.IsEmpty() {
		chosen, err := readChosen()
		if err != nil {
			return in, err
		}
		if _, ok := agents[chosen]; !ok {
			a.Gone = chosen
		} else if rule.Allows(chosen) {
			a.Agent = chosen
		}
	}
	in.Command = ""
	if rule.Match.Command != nil {
		word, rest := route.ParseCommand(in.Text)
		in, a.Command = in.WithRest(rest), true
		in.Command = word
	}
	a.Media = rule.Match.Media != nil
	in.Answerer, in.Workspace, in.Worktree = a, "", ""
	if rule.Allows(a.Agent) {
		in.Workspace, in.Worktree = rule.Workspace, rule.Worktree
	}
	return in, nil
}

// Chosen returns the agent that a chat has chosen; "": none.
func (c *Choice) Chosen(ctx context.Context, chat channels.Chat) (string, error) {
	chosen, err := c.o.Store.Recall(ctx, chat, Memory)
	if err != nil {
		return "", fmt.Errorf("read the chosen agent: %w", err)
	}
	return chosen, nil
}

// Next returns the agent that answers the next message of a chat about which nothing else is known.
func (c *Choice) Next(ctx context.Context, chat channels.Chat) (string, error) {
	in, err := c.Decide(ctx, channels.Incoming{Chat: chat, Origin: channels.ByAgent})
	return in.Answerer.Agent, err
}

// HasRoutes reports whether there are rules about who answers.
func (c *Choice) HasRoutes() bool { return c.o.Routes != nil && len(c.o.Routes()) > 0 }

// Find returns the rule that a message matches. Without rules, the default agent answers, and
// people can choose another.
func (c *Choice) Find(ctx context.Context, in channels.Incoming) (route.Result, error) {
	if !c.HasRoutes() {
		return route.Result{Route: config.Route{Agent: store.DefaultAgent, Switch: config.Selection{All: true}}}, nil
	}
	if in.Origin != channels.Person {
		if err := c.Locate(ctx, &in); err != nil {
			return route.Result{}, err
		}
	}
	rules := c.o.Routes()
	wantsMedia := slices.ContainsFunc(rules, func(r config.Route) bool { return r.Match.Media != nil })
	return route.Find(rules, c.Facts(in, wantsMedia)), nil
}

// Facts returns what rules can ask about a message whose place is known; see Locate. The types of
// its files cost time.
func (c *Choice) Facts(in channels.Incoming, withMedia bool) route.Facts {
	facts := route.Facts{
		Chat: in.Chat, Parent: in.Parent, Topic: in.ThreadID, Group: in.Group, Origin: in.Origin,
	}
	facts.User, _ = in.Responsible()
	if c.o.Locate != nil {
		parent, topic, group := c.o.Locate(in.Chat)
		facts.Parent, facts.Topic, facts.Group = cmp.Or(in.Parent, parent), cmp.Or(in.ThreadID, topic), in.Group || group
	}
	if in.Origin == channels.Person && in.Press == "" && in.Forwarded == nil {
		facts.Command, _ = route.ParseCommand(in.Text)
	}
	if withMedia {
		for i, path := range in.Media {
			name := ""
			if i < len(in.MediaNames) {
				name = in.MediaNames[i]
			}
			facts.Media = append(facts.Media, c.o.TypeOf(path, name))
		}
	}
	return facts
}

// Locate adds the facts of a chat to a message that nobody has typed there: those of the last
// message of a person. In a private chat, that is also the person who has caused it.
func (c *Choice) Locate(ctx context.Context, in *channels.Incoming) error {
	recent, err := c.o.Store.Recent(ctx, in.Chat, maxSearched)
	if err != nil {
		return fmt.Errorf("read where the chat is: %w", err)
	}
	typed := func(i store.Inbound) bool { return i.In.Origin == channels.Person }
	if at := slices.IndexFunc(recent, typed); at >= 0 {
		last := recent[at].In
		in.Group, in.ThreadID, in.Parent = in.Group || last.Group, cmp.Or(in.ThreadID, last.ThreadID), last.Parent
		if !last.Group && in.Origin == channels.ByAgent {
			in.Maker = cmp.Or(in.Maker, last.User.ID)
		}
	}
	return nil
}
