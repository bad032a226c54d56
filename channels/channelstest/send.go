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

// planSingleCall plans a text that is one call on every network.
func (fx fixture) planSingleCall(text string) (channels.Outgoing, error) {
	plan, err := fx.Channel.Plan(fx.newAnswer(text))
	if err != nil {
		return channels.Outgoing{}, fmt.Errorf("plan %q: %w", text, err)
	}
	if len(plan) != 1 {
		return channels.Outgoing{}, fmt.Errorf("%q was planned as %d calls instead of one", text, len(plan))
	}
	return plan[0], nil
}

// cancelledSendSendsNothing also checks that the gateway may send again: a send that never started
// is neither permanently refused nor unknown.
func cancelledSendSendsNothing(ctx context.Context, fx fixture) error {
	o, err := fx.planSingleCall("hello")
	if err != nil {
		return err
	}
	before := len(fx.Sent())
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	done := make(chan error, 1)
	go func() {
		_, err := fx.Channel.Send(ctx, o)
		done <- err
	}()
	select {
	case err = <-done:
	case <-time.After(waitLimit):
		return errors.New("Send with a cancelled context does not return")
	}
	var refused *channels.SendError
	switch {
	case len(fx.Sent()) > before:
		return fmt.Errorf("Send with a cancelled context made the network call %+v", fx.Sent()[before])
	case err == nil:
		return errors.New("Send with a cancelled context reports success")
	case errors.As(err, &refused) && (refused.Permanent || refused.Unknown):
		return fmt.Errorf("Send with a cancelled context keeps the gateway from sending again: %w", err)
	}
	return nil
}

func receiptsDiffer(ctx context.Context, fx fixture) error {
	o, err := fx.planSingleCall("the same words")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range 5 {
		receipt, err := fx.Channel.Send(ctx, o)
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

// sendIsConcurrent is most useful under the race detector.
func sendIsConcurrent(ctx context.Context, fx fixture) error {
	const senders, each = 8, 5
	var group errgroup.Group
	for s := range senders {
		group.Go(func() error {
			for i := range each {
				plan, err := fx.Channel.Plan(fx.newAnswer(fmt.Sprintf("sender%d message%d.", s, i)))
				if err != nil {
					return err
				}
				for _, o := range plan {
					if _, err := fx.Channel.Send(ctx, o); err != nil {
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
	all := strings.Join(textsOf(fx.Sent()), "\n")
	for s := range senders {
		for i := range each {
			text := fmt.Sprintf("sender%d message%d.", s, i)
			if n := strings.Count(fx.normalize(all), fx.normalize(text)); n != 1 {
				return fmt.Errorf("%q arrived %d times", text, n)
			}
		}
	}
	return nil
}
