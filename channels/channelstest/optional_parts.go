package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
)

// rememberer reports whether a channel can be asked to gather parts.
func (b bench) rememberer() error {
	_, err := as[channels.MemoryUser](b)
	if err != nil {
		return err
	}
	if b.DeliversWhole {
		return errNotApplicable
	}
	return errors.Join(required(b.Memory != nil, "Memory"), required(b.UserSendsInParts != nil, "UserSendsInParts"), required(b.Restart != nil, "Restart"))
}

// noParts waits until the memory holds no part.
func (b bench) noParts() error {
	if !eventually(func() bool { return len(b.Memory.StoredParts()) == 0 }) {
		return fmt.Errorf("the message was received, and %d of its parts are still remembered", len(b.Memory.StoredParts()))
	}
	return nil
}

func partsBecomeOne(ctx context.Context, b bench) error {
	if err := b.rememberer(); err != nil {
		return err
	}
	c := b.converse(ctx)
	defer func() { _ = c.stop() }()
	b.UserSendsInParts("in parts")
	b.UserSends("after")
	if err := c.hear("after"); err != nil {
		return err
	}
	if got := c.heard.texts(); !slices.Equal(got, []string{"in parts", "after"}) {
		return fmt.Errorf("said were one message in parts and another after it, and %q was received", got)
	}
	return errors.Join(b.noParts(), c.end())
}

func partsSurviveRestart(ctx context.Context, b bench) error {
	if err := b.rememberer(); err != nil {
		return err
	}
	refused := listen(1)
	first := b.run(ctx, func(_ context.Context, m channels.Incoming) error {
		if len(refused.messages()) == 0 {
			refused.add(m)
		}
		return errors.New("the disk is full")
	})
	defer func() { _ = first.stop() }()
	b.UserSendsInParts("in parts")
	if err := errors.Join(first.until(refused.enough, "the whole message was offered"), first.end()); err != nil {
		return err
	}
	next := b.Restart()
	if r, ok := next.(channels.Resumer); ok {
		r.Resume(b.Memory.Cursor())
	}
	c := b.on(next).converse(ctx)
	defer func() { _ = c.stop() }()
	b.UserSends("after")
	if err := c.hear("after"); err != nil {
		return err
	}
	if got := c.heard.texts(); !slices.Equal(got, []string{"in parts", "after"}) {
		return fmt.Errorf("a message in parts was to be received after the restart, and %q was", got)
	}
	return errors.Join(b.noParts(), c.end())
}
