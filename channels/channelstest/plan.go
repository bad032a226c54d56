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

func planIsDeterministic(_ context.Context, b bench) error {
	messages, err := b.messages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		first, err := b.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", brief(m), err)
		}
		var group errgroup.Group
		for range 4 {
			own := m // scribbling on it is another check's matter, and must not be a race here
			own.Media = slices.Clone(m.Media)
			group.Go(func() error {
				next, err := b.Channel.Plan(own)
				if err != nil {
					return fmt.Errorf("plan %s again: %w", brief(m), err)
				}
				if !reflect.DeepEqual(first, next) {
					return fmt.Errorf("two plans for %s differ:\n%+v\n%+v", brief(m), first, next)
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

func planIsSilent(_ context.Context, b bench) error {
	messages, err := b.messages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := b.Channel.Plan(m); err != nil {
			return fmt.Errorf("plan %s: %w", brief(m), err)
		}
		if sent := b.Sent(); len(sent) > 0 {
			return fmt.Errorf("planning %s made the network call %+v", brief(m), sent[0])
		}
	}
	return nil
}

func planDoesNotScribble(_ context.Context, b bench) error {
	messages, err := b.messages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		before := slices.Clone(m.Media)
		if _, err := b.Channel.Plan(m); err != nil {
			return fmt.Errorf("plan %s: %w", brief(m), err)
		}
		if m.Screen != nil && !reflect.DeepEqual(m.Screen, fullScreen()) {
			return fmt.Errorf("planning %s changed its screen", brief(m))
		}
		if !slices.Equal(before, m.Media) {
			return fmt.Errorf("planning %s changed its files from %+v to %+v", brief(m), before, m.Media)
		}
	}
	return nil
}

func planKeepsChatAndKind(_ context.Context, b bench) error {
	messages, err := b.messages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		plan, err := b.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", brief(m), err)
		}
		for i, o := range plan {
			if o.Chat != m.Chat || o.Kind != m.Kind {
				return fmt.Errorf("part %d of %s to %s is %s to %s", i+1, brief(m), m.Chat, o.Kind, o.Chat)
			}
		}
	}
	return nil
}

// emptyMakesNoCall accepts an error too: whether nothing to say is a mistake is the channel's
// choice.
func emptyMakesNoCall(_ context.Context, b bench) error {
	for _, text := range []string{"", " ", "\n", " \t\r\n \n"} {
		for _, kind := range []channels.Kind{channels.Answer, channels.Progress, channels.Failure} {
			plan, err := b.Channel.Plan(channels.Message{Chat: b.Chat, Kind: kind, Text: text, Media: []channels.File{}})
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

// planSurvivesStorage sends each plan twice: as it is, and from JSON by a channel that never saw it
// planned.
func planSurvivesStorage(ctx context.Context, b bench) error {
	messages, err := b.messages()
	if err != nil {
		return err
	}
	restarted := b.again()
	if restarted.Chat != b.Chat {
		return errors.New("the suite needs subjects with the same chat")
	}
	for _, m := range messages {
		plan, err := b.Channel.Plan(m)
		if err != nil {
			return fmt.Errorf("plan %s: %w", brief(m), err)
		}
		stored, err := roundTrip(plan)
		if err != nil {
			return fmt.Errorf("store the plan for %s: %w", brief(m), err)
		}
		direct, err := b.send(ctx, plan)
		if err != nil {
			return fmt.Errorf("%s: %w", brief(m), err)
		}
		late, err := restarted.send(ctx, stored)
		if err != nil {
			return fmt.Errorf("%s, stored: %w", brief(m), err)
		}
		if !reflect.DeepEqual(direct, late) {
			return fmt.Errorf("%s was sent as\n%+v\nand after storage as\n%+v", brief(m), direct, late)
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
