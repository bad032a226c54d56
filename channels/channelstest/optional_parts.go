package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
)

// requireParts returns an error unless the channel can receive a message in parts.
func (fx fixture) requireParts() error {
	_, err := optionalInterface[channels.MemoryUser](fx)
	if err != nil {
		return err
	}
	if fx.DeliversWhole {
		return errNotApplicable
	}
	return fx.requireFields("Memory", "UserSendsInParts", "Restart")
}

// waitForNoParts waits until no part is stored.
func (fx fixture) waitForNoParts() error {
	if !eventually(func() bool { return len(fx.Memory.StoredParts()) == 0 }) {
		return fmt.Errorf("the message was received, and %d of its parts are still remembered", len(fx.Memory.StoredParts()))
	}
	return nil
}

func partsBecomeOne(ctx context.Context, fx fixture) error {
	if err := fx.requireParts(); err != nil {
		return err
	}
	c := fx.startCollecting(ctx)
	defer func() { _ = c.stop() }()
	fx.UserSendsInParts("in parts")
	fx.UserSends("after")
	if err := c.waitForText("after"); err != nil {
		return err
	}
	if got := c.received.texts(); !slices.Equal(got, []string{"in parts", "after"}) {
		return fmt.Errorf("the user sent a message in parts and another one, and %q was received", got)
	}
	return errors.Join(fx.waitForNoParts(), c.stopCleanly())
}

func partsSurviveRestart(ctx context.Context, fx fixture) error {
	if err := fx.requireParts(); err != nil {
		return err
	}
	refused := newReceivedMessages(1)
	first := fx.startRun(ctx, func(_ context.Context, m channels.Incoming) error {
		if len(refused.messages()) == 0 {
			refused.add(m)
		}
		return errors.New("the disk is full")
	})
	defer func() { _ = first.stop() }()
	fx.UserSendsInParts("in parts")
	if err := errors.Join(first.waitFor(refused.complete, "the whole message was offered"), first.stopCleanly()); err != nil {
		return err
	}
	next := fx.Restart()
	if r, ok := next.(channels.Resumer); ok {
		r.Resume(fx.Memory.Cursor())
	}
	c := fx.withChannel(next).startCollecting(ctx)
	defer func() { _ = c.stop() }()
	fx.UserSends("after")
	if err := c.waitForText("after"); err != nil {
		return err
	}
	if got := c.received.texts(); !slices.Equal(got, []string{"in parts", "after"}) {
		return fmt.Errorf("after the restart %q was received, want the message in parts and the next one", got)
	}
	return errors.Join(fx.waitForNoParts(), c.stopCleanly())
}
