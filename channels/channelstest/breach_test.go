package channelstest

import (
	"context"
	"slices"
	"testing"

	"nanobot/channels"
)

// breach is a channel that breaks one promise, and the names of the checks that must notice.
type breach struct {
	name  string
	bend  func(t *testing.T, f fake) channels.Channel
	fails []string
}

func (b breach) subject(t *testing.T) Subject {
	s := newFake(t)
	s.Channel = b.bend(t, s.Channel.(fake))
	restart := s.Restart
	s.Restart = func() channels.Channel { return b.bend(t, restart().(fake)) }
	return s
}

// bent is a fake of which one method is not as it should be.
type bent struct {
	fake
	plan func(m channels.Message) ([]channels.Outgoing, error)
	send func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error)
	run  func(ctx context.Context, receive channels.Receive) error
}

func (b bent) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if b.plan != nil {
		return b.plan(m)
	}
	return b.fake.Plan(m)
}

func (b bent) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if b.send != nil {
		return b.send(ctx, o)
	}
	return b.fake.Send(ctx, o)
}

func (b bent) Run(ctx context.Context, receive channels.Receive) error {
	if b.run != nil {
		return b.run(ctx, receive)
	}
	return b.fake.Run(ctx, receive)
}

// replan bends what comes out of Plan.
func replan(change func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing) func(*testing.T, fake) channels.Channel {
	return func(_ *testing.T, f fake) channels.Channel {
		return bent{fake: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
			plan, err := f.Plan(m)
			return change(m, plan), err
		}}
	}
}

// reword bends what goes into Plan.
func reword(change func(m *channels.Message)) func(*testing.T, fake) channels.Channel {
	return func(_ *testing.T, f fake) channels.Channel {
		return bent{fake: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
			m.Media = slices.Clone(m.Media)
			change(&m)
			return f.Plan(m)
		}}
	}
}

// resend bends Send.
func resend(send func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error)) func(*testing.T, fake) channels.Channel {
	return func(_ *testing.T, f fake) channels.Channel {
		return bent{fake: f, send: func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
			return send(ctx, f, o)
		}}
	}
}

// reread bends what Run hands to receive; wrap is called once a Run.
func reread(wrap func(receive channels.Receive) channels.Receive) func(*testing.T, fake) channels.Channel {
	return func(_ *testing.T, f fake) channels.Channel {
		return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
			return f.Run(ctx, wrap(receive))
		}}
	}
}

var breaches = slices.Concat(planBreaches, textBreaches, screenBreaches, mediaBreaches, sendBreaches, receiveBreaches, runBreaches)

// untilCleanup is a channel that is closed when the test is over, for what would otherwise block
// for ever.
func untilCleanup(t *testing.T) <-chan struct{} {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return over
}
