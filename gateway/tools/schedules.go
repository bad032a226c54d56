package tools

import (
	"context"
	"time"

	"nanobot/gateway/schedule"
)

type scheduledResult struct {
	Name string `json:"name"`
	Next string `json:"next,omitempty"` // RFC 3339; "": not again
	Cron string `json:"cron,omitempty"`
	Text string `json:"text,omitempty"`
}

func newScheduledResult(l schedule.Listed) scheduledResult {
	r := scheduledResult{Name: l.Name}
	if l.Plan != nil {
		r.Cron, r.Text = l.Plan.Cron, l.Plan.Text
	}
	if !l.Next.IsZero() {
		r.Next = l.Next.Format(time.RFC3339)
	}
	return r
}

// scheduleMessage makes a schedule for the chat.
func (s *session) scheduleMessage(ctx context.Context, c call) (any, error) {
	spec := schedule.Spec{Text: c.args.requiredText("text", maxMessage), Cron: c.args.text("cron", maxOption)}
	at, in, prompt := c.args.text("at", maxOption), c.args.text("in", maxOption), c.args.flag("prompt")
	now := time.Now().In(s.options.Chat.Zone())
	switch given := len(spec.Cron) + len(at) + len(in); {
	case given == 0, given != len(spec.Cron) && given != len(at) && given != len(in):
		c.args.refuse("Give exactly one of at, in and cron.")
	case at != "":
		t, ok := schedule.ParseTime(at, now.Location())
		if !ok {
			c.args.refuse("at must be a time such as 2026-12-24T18:00.")
		}
		spec.At = t.Format(time.RFC3339)
	case in != "":
		d, ok := schedule.ParseDuration(in)
		if !ok {
			c.args.refuse("in must be a duration such as 20m, 1h30m or 2d.")
		}
		spec.At = now.Add(d).Format(time.RFC3339)
	}
	spec.Timezone = now.Location().String()
	if c.args.err != nil {
		return nil, c.args.err
	}
	made, err := s.options.Chat.Schedule(ctx, spec, prompt)
	if err != nil {
		return nil, chatFailure(ctx, notScheduled, err)
	}
	return newScheduledResult(made), nil
}

type schedulesResult struct {
	Now       string            `json:"now"`
	Schedules []scheduledResult `json:"schedules"`
}

// listSchedules lists the schedules of the chat.
func (s *session) listSchedules(ctx context.Context, _ call) (any, error) {
	all, err := s.options.Chat.Schedules(ctx)
	if err != nil {
		return nil, chatFailure(ctx, notScheduled, err)
	}
	r := schedulesResult{time.Now().In(s.options.Chat.Zone()).Format(time.RFC3339), make([]scheduledResult, 0, len(all))}
	for _, l := range all {
		r.Schedules = append(r.Schedules, newScheduledResult(l))
	}
	return r, nil
}

type cancelResult struct {
	Cancelled bool `json:"cancelled"`
}

// cancelSchedule removes a schedule of the chat.
func (s *session) cancelSchedule(ctx context.Context, c call) (any, error) {
	name := c.args.requiredText("name", maxOption)
	if c.args.err != nil {
		return nil, c.args.err
	}
	if err := s.options.Chat.CancelSchedule(ctx, name); err != nil {
		return nil, chatFailure(ctx, notScheduled, err)
	}
	return cancelResult{true}, nil
}
