package channelstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
)

func planIsDeterministic(_ context.Context, fx fixture) error {
	messages, err := fx.sampleMessages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		first, err := fx.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", describe(m), err)
		}
		var group errgroup.Group
		for range 4 {
			own := m // another check tests for writes to it, which must not be a race here
			own.Media = slices.Clone(m.Media)
			group.Go(func() error {
				next, err := fx.Channel.Plan(own)
				if err != nil {
					return fmt.Errorf("plan %s again: %w", describe(m), err)
				}
				if !reflect.DeepEqual(first, next) {
					return fmt.Errorf("two plans for %s differ:\n%+v\n%+v", describe(m), first, next)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func planMakesNoCall(_ context.Context, fx fixture) error {
	messages, err := fx.sampleMessages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := fx.Channel.Plan(m); err != nil {
			return fmt.Errorf("plan %s: %w", describe(m), err)
		}
		if sent := fx.Sent(); len(sent) > 0 {
			return fmt.Errorf("planning %s made the network call %+v", describe(m), sent[0])
		}
	}
	return nil
}

func planLeavesMessageUnchanged(_ context.Context, fx fixture) error {
	messages, err := fx.sampleMessages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		before := slices.Clone(m.Media)
		if _, err := fx.Channel.Plan(m); err != nil {
			return fmt.Errorf("plan %s: %w", describe(m), err)
		}
		if m.Screen != nil && !reflect.DeepEqual(m.Screen, fullScreen()) {
			return fmt.Errorf("planning %s changed its screen", describe(m))
		}
		if !slices.Equal(before, m.Media) {
			return fmt.Errorf("planning %s changed its files from %+v to %+v", describe(m), before, m.Media)
		}
	}
	return nil
}

func planKeepsChatAndKind(_ context.Context, fx fixture) error {
	messages, err := fx.sampleMessages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		plan, err := fx.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", describe(m), err)
		}
		for i, o := range plan {
			if o.Chat != m.Chat || o.Kind != m.Kind {
				return fmt.Errorf("part %d of %s to %s is %s to %s", i+1, describe(m), m.Chat, o.Kind, o.Chat)
			}
		}
	}
	return nil
}

// emptyMakesNoCall also accepts an error, because a channel may refuse an empty message.
func emptyMakesNoCall(_ context.Context, fx fixture) error {
	for _, text := range []string{"", " ", "\n", " \t\r\n \n"} {
		for _, kind := range []channels.Kind{channels.Answer, channels.Progress, channels.Failure} {
			plan, err := fx.Channel.Plan(channels.Message{Chat: fx.Chat, Kind: kind, Text: text, Media: []channels.File{}})
			if err != nil && strings.TrimSpace(err.Error()) == "" {
				return fmt.Errorf("the error for an empty %s says nothing", kind)
			}
			if len(plan) > 0 {
				return fmt.Errorf("the empty %s %q was planned as %+v", kind, text, plan)
			}
		}
	}
	return nil
}

// planSurvivesStorage sends every plan twice: directly, and decoded from JSON by a channel that has
// not planned it.
func planSurvivesStorage(ctx context.Context, fx fixture) error {
	messages, err := fx.sampleMessages()
	if err != nil {
		return err
	}
	restarted := fx.newSubject()
	if restarted.Chat != fx.Chat {
		return errors.New("the suite needs subjects with the same chat")
	}
	for _, m := range messages {
		plan, err := fx.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", describe(m), err)
		}
		stored, err := roundTrip(plan)
		if err != nil {
			return fmt.Errorf("store the plan for %s: %w", describe(m), err)
		}
		direct, err := fx.sendPlan(ctx, plan)
		if err != nil {
			return fmt.Errorf("%s: %w", describe(m), err)
		}
		late, err := restarted.sendPlan(ctx, stored)
		if err != nil {
			return fmt.Errorf("%s, stored: %w", describe(m), err)
		}
		if !reflect.DeepEqual(direct, late) {
			return fmt.Errorf("%s was sent as\n%+v\nand after storage as\n%+v", describe(m), direct, late)
		}
	}
	return nil
}

func roundTrip(plan []channels.Outgoing) ([]channels.Outgoing, error) {
	b, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	var stored []channels.Outgoing
	err = json.Unmarshal(b, &stored)
	return stored, err
}
