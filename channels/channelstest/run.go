package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/goleak"

	"nanobot/channels"
)

// runEnds first receives a message, so that Run is known to be running.
func runEnds(ctx context.Context, fx fixture) error {
	h := newReceivedMessages(1)
	in := fx.startRun(ctx, h.receive)
	fx.UserSends("hello")
	if err := in.waitFor(h.complete, "the first message was received"); err != nil {
		return err
	}
	return in.stopCleanly()
}

func runEndsDuringReceive(ctx context.Context, fx fixture) error {
	began := make(chan struct{})
	in := fx.startRun(ctx, func(ctx context.Context, _ channels.Incoming) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	fx.UserSends("hello")
	if err := in.waitFor(began, "the message was received"); err != nil {
		return err
	}
	return in.stopCleanly()
}

func runReturnsIfCancelledBefore(ctx context.Context, fx fixture) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return fx.startRun(ctx, func(context.Context, channels.Incoming) error { return nil }).stopCleanly()
}

// runEndsWhileReceiveFails ends the context in the second attempt to receive a message.
func runEndsWhileReceiveFails(ctx context.Context, fx fixture) error {
	if !fx.Redelivers {
		return errNotApplicable
	}
	again := make(chan struct{})
	tries := 0
	in := fx.startRun(ctx, func(context.Context, channels.Incoming) error {
		if tries++; tries == 2 {
			close(again)
		}
		return errors.New("the disk is full")
	})
	fx.UserSends("hello")
	if err := in.waitFor(again, "the message was offered again"); err != nil {
		return err
	}
	return in.stopCleanly()
}

func runMayBeRepeated(ctx context.Context, fx fixture) error {
	if !fx.Redelivers {
		return errNotApplicable
	}
	var before []channels.Incoming // may be received again if its acknowledgement was lost
	for _, text := range []string{"one", "two"} {
		c := fx.startCollecting(ctx, before...)
		fx.UserSends(text)
		err := c.waitForText(text)
		if err := errors.Join(err, c.stopCleanly()); err != nil {
			return err
		}
		if got := c.received.texts(); !slices.Equal(got, []string{text}) {
			return fmt.Errorf("the user sent %s, and %q was received", text, got)
		}
		before = c.received.messages()
	}
	return nil
}

func runLeaksNoGoroutine(ctx context.Context, fx fixture) error {
	before := goleak.IgnoreCurrent()
	h := newReceivedMessages(1)
	in := fx.startRun(ctx, h.receive)
	fx.UserSends("hello")
	if err := in.waitFor(h.complete, "the first message was received"); err != nil {
		return err
	}
	if err := in.stop(); errors.Is(err, errRunDoesNotReturn) {
		return err
	}
	if fx.CloseIdleConnections != nil {
		fx.CloseIdleConnections()
	}
	if err := goleak.Find(before, goleak.IgnoreAnyFunction(fx.OutlivesRun)); err != nil {
		return fmt.Errorf("after Run: %w", err)
	}
	return nil
}
