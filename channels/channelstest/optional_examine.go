package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
)

// sound checks findings of a channel.
func (b bench) sound(found []channels.Finding) error {
	if len(found) == 0 {
		return errors.New("there is no finding")
	}
	for _, f := range found {
		switch {
		case f.Check == "" || f.Detail == "" || !slices.Contains([]channels.Verdict{channels.Good, channels.Doubtful, channels.Bad}, f.Status):
			return fmt.Errorf("the finding %+v is incomplete", f)
		case f.Status != channels.Good && f.Fix == "":
			return fmt.Errorf("the finding %+v does not say what to do", f)
		}
		for _, secret := range b.Secrets {
			if strings.Contains(f.Detail+f.Fix, secret) {
				return fmt.Errorf("the finding %s contains a secret", f.Check)
			}
		}
	}
	return nil
}

// examined returns what a channel finds.
func (b bench) examined(ctx context.Context, e channels.ExamineOptions) (found []channels.Finding, err error) {
	x, err := as[channels.Examiner](b)
	if err == nil {
		err = errors.Join(required(b.Restart != nil, "Restart"), required(b.Disconnect != nil, "Disconnect"), required(len(b.Secrets) > 0, "Secrets"))
	}
	if err != nil {
		return nil, err
	}
	if !returns(func() { defer recovered(&err); found = x.Examine(ctx, e) }) {
		return nil, errors.New("Examine does not return")
	}
	if err != nil {
		return nil, err
	}
	return found, b.sound(found)
}

// wrong are the findings that something cannot work.
func wrong(found []channels.Finding) (out []channels.Finding) {
	for _, f := range found {
		if f.Status == channels.Bad {
			out = append(out, f)
		}
	}
	return out
}

func examineChangesNothing(ctx context.Context, b bench) error {
	b.UserSends("first")
	before := len(b.Sent())
	found, err := b.examined(ctx, channels.ExamineOptions{})
	if err != nil {
		return err
	}
	if bad := wrong(found); len(bad) > 0 {
		return fmt.Errorf("nothing is wrong, and found is %+v", bad)
	}
	if sent := b.Sent(); len(sent) > before {
		return fmt.Errorf("Examine sends %+v", sent[before:])
	}
	c := b.on(b.Restart()).converse(ctx)
	defer func() { _ = c.stop() }()
	return c.hear("first")
}

func examineFindsOutage(ctx context.Context, b bench) error {
	if _, err := as[channels.Examiner](b); err != nil {
		return err
	}
	if err := required(b.Disconnect != nil, "Disconnect"); err != nil {
		return err
	}
	b.Disconnect()
	found, err := b.examined(ctx, channels.ExamineOptions{})
	if err != nil {
		return err
	}
	if len(wrong(found)) == 0 {
		return fmt.Errorf("the network cannot be reached, and found is %+v", found)
	}
	return nil
}

func examineDisturbsNothing(ctx context.Context, b bench) error {
	if _, err := as[channels.Examiner](b); err != nil {
		return err
	}
	if err := required(b.Restart != nil, "Restart"); err != nil {
		return err
	}
	doctor := b.on(b.Restart()) // another process with the same settings
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	found, err := doctor.examined(ctx, channels.ExamineOptions{Running: true})
	if err != nil {
		return err
	}
	if bad := wrong(found); len(bad) > 0 {
		return fmt.Errorf("nothing is wrong, and found is %+v", bad)
	}
	b.UserSends("second")
	if err := c.hear("second"); err != nil {
		return err
	}
	if healthy, ok := b.Channel.(channels.HealthReporter); ok && healthy.Health() != nil {
		return fmt.Errorf("after Examine the running channel's health is %w", healthy.Health())
	}
	return c.end()
}
