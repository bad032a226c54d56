package intake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"nanobot/channels"
	"nanobot/gateway/choice"
	"nanobot/gateway/press"
	"nanobot/gateway/schedule"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// Schedules are the schedules that people and agents make in their chats.
type Schedules interface {
	// Add makes a schedule. A second call with the same chat and key replaces the first.
	Add(ctx context.Context, n schedule.Request) (schedule.Listed, error)
	// List returns the schedules of a chat, with those of the operator.
	List(chat channels.Chat) []schedule.Listed
	Remove(ctx context.Context, name string) (bool, error)
}

// shownTime is the form of a time in a chat.
const shownTime = "2006-01-02 15:04 MST"

// remind carries out /remind.
func (c commandCall) remind(ctx context.Context) (string, error) {
	when, text := c.args, ""
	if end := strings.IndexFunc(c.args, unicode.IsSpace); end >= 0 { // the text may begin on the next line
		when, text = c.args[:end], c.args[end:]
	}
	zone, err := schedule.LoadZone(c.o.Settings().Timezone)
	if err != nil {
		return "", err
	}
	at, ok := schedule.ParseWhen(when, time.Now().In(zone))
	if text = strings.TrimSpace(text); !ok || text == "" {
		return c.textForSender(words.RemindUsage), nil
	}
	if known, err := c.isKnown(ctx, c.in); known || err != nil {
		return "", err
	}
	made, err := c.o.Schedules.Add(ctx, schedule.Request{
		Chat: c.in.Chat, Maker: c.in.User.ID, Key: c.in.ID,
		Spec: schedule.Spec{
			At: at.Format(time.RFC3339), Timezone: zone.String(), Text: "⏰ " + channels.EscapeMarkdown(text),
		},
	})
	switch {
	case errors.Is(err, schedule.ErrTooMany):
		return c.text(words.ScheduleTooMany, schedule.MostInChat), nil
	case errors.Is(err, schedule.ErrPast):
		return c.textForSender(words.RemindUsage), nil
	case err != nil:
		return "", fmt.Errorf("make a reminder: %w", err)
	}
	return c.text(words.RemindSet, made.Next.Format(shownTime)), nil
}

// maxListedText is how much of a schedule's text the list shows, in runes.
const maxListedText = 60

// schedules carries out /schedules.
func (c commandCall) schedules(context.Context) (string, error) {
	lines := []string{c.text(words.SchedulesList)}
	for _, s := range c.o.Schedules.List(c.in.Chat) {
		if s.Next.IsZero() {
			continue
		}
		number := len(lines)
		lines = append(lines, fmt.Sprintf("%d. %s: %s", number, s.Next.Format(shownTime), s.Summary(maxListedText)))
		if s.Maker != "" && len(c.reply.Buttons) < maxButtons {
			c.reply.Buttons = append(c.reply.Buttons, channels.Button{
				Label: c.text(words.ButtonRemove, number), Data: press.Type("/" + choice.CommandUnschedule + " " + s.Name),
			})
		}
	}
	if len(lines) == 1 {
		return c.text(words.SchedulesNone), nil
	}
	return strings.Join(lines, "\n"), nil
}

// unschedule carries out the button that removes a schedule: for its maker and for approvers.
func (c commandCall) unschedule(ctx context.Context) (string, error) {
	for _, s := range c.o.Schedules.List(c.in.Chat) {
		if s.Name != c.args || s.Maker == "" {
			continue
		}
		if s.Maker != c.in.User.ID {
			may, err := c.o.Access.MayApprove(ctx, c.in.Answerer.Agent, sender(c.in), role.RemoveSchedule)
			switch {
			case err != nil:
				return "", err
			case !may:
				return c.textForSender(words.ScheduleNotYours), nil
			}
		}
		if _, err := c.o.Schedules.Remove(ctx, s.Name); err != nil {
			return "", fmt.Errorf("remove schedule %s: %w", s.Name, err)
		}
		return c.text(words.ScheduleRemoved, s.Summary(maxListedText)), nil
	}
	return c.textForSender(words.ScheduleGone), nil
}
