package channelstest

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/goleak"

	"nanobot/channels"
)

// runEnds first lets a message through, so that Run is known to be at work.
func runEnds(ctx context.Context, b bench) error {
	h := listen(1)
	in := b.run(ctx, h.receive)
	b.UserSends("hello")
	if err := in.until(h.enough, "the first message was received"); err != nil {
		return err
	}
	return in.end()
}

func runEndsDuringReceive(ctx context.Context, b bench) error {
	began := make(chan struct{})
	in := b.run(ctx, func(ctx context.Context, _ channels.Incoming) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	b.UserSends("hello")
	if err := in.until(began, "the message was received"); err != nil {
		return err
	}
	return in.end()
}

func runDoesNotStart(ctx context.Context, b bench) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return b.run(ctx, func(context.Context, channels.Incoming) error { return nil }).end()
}

func runLeavesNothing(ctx context.Context, b bench) error {
	before := goleak.IgnoreCurrent()
	h := listen(1)
	in := b.run(ctx, h.receive)
	b.UserSends("hello")
	if err := in.until(h.enough, "the first message was received"); err != nil {
		return err
	}
	if err := in.stop(); errors.Is(err, errDeaf) {
		return err
	}
	if b.CloseIdleConnections != nil {
		b.CloseIdleConnections()
	}
	if err := goleak.Find(before); err != nil {
		return fmt.Errorf("after Run: %w", err)
	}
	return nil
}
