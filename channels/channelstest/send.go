package channelstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
)

// one is the plan for a text so short that it is one call everywhere.
func (b bench) one(text string) (channels.Outgoing, error) {
	plan, err := b.Channel.Plan(b.say(text))
	if err != nil {
		return channels.Outgoing{}, fmt.Errorf("plan %q: %w", text, err)
	}
	if len(plan) != 1 {
		return channels.Outgoing{}, fmt.Errorf("%q is one call and was planned as %d", text, len(plan))
	}
	return plan[0], nil
}

// cancelledSendSendsNothing also asks that the error leaves the gateway free to send again: a send
// that never began is neither refused nor in doubt.
func cancelledSendSendsNothing(ctx context.Context, b bench) error {
	o, err := b.one("hello")
	if err != nil {
		return err
	}
	before := len(b.Sent())
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	done := make(chan error, 1)
	go func() {
		_, err := b.Channel.Send(ctx, o)
		done <- err
	}()
	select {
	case err = <-done:
	case <-time.After(patience):
		return errors.New("Send with a cancelled context does not return")
	}
	var refused *channels.SendError
	switch {
	case len(b.Sent()) > before:
		return fmt.Errorf("Send with a cancelled context made the network call %+v", b.Sent()[before])
	case err == nil:
		return errors.New("Send with a cancelled context reports success")
	case errors.As(err, &refused) && (refused.Permanent || refused.Unknown):
		return fmt.Errorf("Send with a cancelled context keeps the gateway from sending again: %w", err)
	}
	return nil
}

func receiptsDiffer(ctx context.Context, b bench) error {
	o, err := b.one("the same words")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range 5 {
		receipt, err := b.Channel.Send(ctx, o)
		if err != nil {
			return fmt.Errorf("send for the %d. time: %w", i+1, err)
		}
		if receipt.ID == "" || seen[receipt.ID] {
			return fmt.Errorf("the %d. receipt, %q, is empty or was given before", i+1, receipt.ID)
		}
		seen[receipt.ID] = true
	}
	return nil
}

// sendIsConcurrent is worth most under the race detector.
func sendIsConcurrent(ctx context.Context, b bench) error {
	const senders, each = 8, 5
	var group errgroup.Group
	for s := range senders {
		group.Go(func() error {
			for i := range each {
				plan, err := b.Channel.Plan(b.say(fmt.Sprintf("sender%d message%d.", s, i)))
				if err != nil {
					return err
				}
				for _, o := range plan {
					if _, err := b.Channel.Send(ctx, o); err != nil {
						return fmt.Errorf("send beside %d others: %w", senders-1, err)
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	all := strings.Join(texts(b.Sent()), "\n")
	for s := range senders {
		for i := range each {
			text := fmt.Sprintf("sender%d message%d.", s, i)
			if n := strings.Count(b.normal(all), b.normal(text)); n != 1 {
				return fmt.Errorf("%q arrived %d times", text, n)
			}
		}
	}
	return nil
}
