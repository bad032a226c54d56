package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/terminal"
)

var (
	errNobody    = errors.New("a schedule belongs to a person with access: none has caused this turn or written lately")
	errNoName    = errors.New("there is no schedule of this name that was made in this chat; list_schedules lists them")
	errNotInRole = errors.New("the role of this person does not include schedules")
	errNotTheirs = errors.New("only the person who has made the schedule and approvers can have it removed")
)

// Schedule makes a schedule of the person for whom the agent works.
func (c *toolChat) Schedule(ctx context.Context, s schedule.Spec, prompt bool) (schedule.Listed, error) {
	if err := c.g.rates.messages.allow(c.chat, 1); err != nil {
		return schedule.Listed{}, err
	}
	maker, err := c.person(ctx)
	if err != nil {
		return schedule.Listed{}, err
	}
	may, err := c.g.access.May(ctx, c.channelUser(maker), role.Schedule)
	if err != nil {
		return schedule.Listed{}, err
	}
	if !may {
		return schedule.Listed{}, errNotInRole
	}
	s.Text = terminal.Clean(s.Text)
	if prompt {
		if s.Agent, err = c.agent(ctx); err != nil {
			return schedule.Listed{}, err
		}
	}
	made, err := c.g.schedules.Add(ctx, schedule.Request{Chat: c.chat, Maker: maker, Spec: s})
	if errors.Is(err, schedule.ErrTooMany) {
		err = fmt.Errorf("%w: at most %d; cancel some", err, schedule.MostInChat)
	}
	return made, err
}

// agent returns the agent that works on prompts: where there are rules the one whose process this
// is, since the chat alone does not say which rule has chosen it, else the chosen one.
func (c *toolChat) agent(ctx context.Context) (string, error) {
	if c.owner.Agent != "" && c.g.choice.HasRoutes() {
		return c.owner.Agent, nil
	}
	return c.g.choice.Next(ctx, c.chat)
}

// person returns the ID of the person for whom the agent works: who has caused the running turn, or
// between turns who has last written. A turn of a hook works for nobody, since its text comes from
// outside.
func (c *toolChat) person(ctx context.Context) (string, error) {
	if t, ok := c.g.lanes.RunningTurn(c.chat); ok {
		if user, ok := t.Inbound().In.Responsible(); ok {
			return user, nil
		}
		return "", errNobody
	}
	recent, err := c.g.o.Store.Recent(ctx, c.chat, recentMessages)
	if err != nil {
		return "", err
	}
	for _, inbound := range recent {
		if user, ok := inbound.In.Responsible(); ok {
			if admitted, err := c.g.access.Admits(ctx, c.chat.Channel, user); admitted || err != nil {
				return user, err
			}
		}
	}
	return "", errNobody
}

func (c *toolChat) channelUser(user string) store.Person {
	return store.Person{Channel: c.chat.Channel, User: user}
}

// recentMessages is how many of a chat's latest messages are searched for a person.
const recentMessages = 20

// Schedules returns the schedules of the chat.
func (c *toolChat) Schedules(ctx context.Context) ([]schedule.Listed, error) {
	if _, err := c.g.checkAccess(ctx, c.chat); err != nil {
		return nil, err
	}
	return c.g.schedules.List(c.chat), nil
}

// CancelSchedule removes a schedule that was made in the chat, if the person for whom the agent
// works has made it or is an approver.
func (c *toolChat) CancelSchedule(ctx context.Context, name string) error {
	user, err := c.person(ctx)
	if err != nil {
		return err
	}
	agent, err := c.agent(ctx)
	if err != nil {
		return err
	}
	mayAll, err := c.g.access.MayApprove(ctx, agent, c.channelUser(user), role.RemoveSchedule)
	if err != nil {
		return err
	}
	for _, s := range c.g.schedules.List(c.chat) {
		switch {
		case s.Name != name || s.Maker == "":
		case s.Maker != user && !mayAll:
			return errNotTheirs
		default:
			_, err := c.g.schedules.Remove(ctx, name)
			return err
		}
	}
	return errNoName
}

// Zone returns the time zone of the bot.
func (c *toolChat) Zone() *time.Location {
	zone, err := schedule.LoadZone(c.g.currentSettings().Timezone)
	if err != nil { // the config was checked
		return time.UTC
	}
	return zone
}
