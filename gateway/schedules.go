package gateway

import (
	"context"
	"errors"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

// scheduleLimit is how many messages of a schedule may wait. Only texts can reach it, since a turn
// is not started while the one before it runs.
const scheduleLimit = 100

func (g *Gateway) newSchedules() *schedule.Engine {
	return schedule.New(schedule.Options{
		Store: g.o.Store, Deliver: g.deliverSchedule, Admits: g.admitsMaker, Observe: g.observeOccurrence, Log: g.o.Log,
	})
}

// admitsMaker reports whether a person has access and may have schedules.
func (g *Gateway) admitsMaker(ctx context.Context, channel, user string) (bool, error) {
	if ok, err := g.access.Admits(ctx, channel, user); !ok || err != nil {
		return false, err
	}
	return g.access.May(ctx, store.Person{Channel: channel, User: user}, role.Schedule)
}

// deliverSchedule stores the message of a schedule; see schedule.Options.
func (g *Gateway) deliverSchedule(ctx context.Context, m schedule.Message) (int64, error) {
	message := AutomaticMessage{
		Origin: channels.BySchedule(m.Schedule.Name), Chat: m.Schedule.Chat, Maker: m.Schedule.Maker,
		Text: m.Spec.Text, Agent: m.Spec.Agent, Runbook: m.Spec.Runbook, Limit: scheduleLimit, Occurrences: m.Occurrences,
		Quiet: m.Spec.Runbook == "" && m.Spec.Say != schedule.SayAlways,
	}
	accepted, err := g.deliver(ctx, message)
	for _, refusal := range []error{ErrNoChannel, ErrBadChat, ErrNoAgent, ErrQueueFull, ErrEmpty} {
		if errors.Is(err, refusal) {
			return 0, schedule.RefusedError{Reason: err.Error()}
		}
	}
	if err != nil || accepted.Duplicate {
		return 0, err
	}
	return accepted.Inbound, nil
}

func (g *Gateway) observeOccurrence(name string, outcome store.OccurrenceOutcome) {
	g.o.Events.Report(events.Event{Type: events.Occurred, Schedule: name, Status: string(outcome)})
}
