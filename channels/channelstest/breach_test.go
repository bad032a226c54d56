package channelstest

import (
	"context"
	"slices"
	"testing"

	"nanobot/channels"
)

// breach is a channel that violates one rule of the contract, and the names of the checks that must
// fail.
type breach struct {
	name  string
	build func(t *testing.T, f fakeChannel) channels.Channel
	fails []string
}

func (b breach) subject(t *testing.T) Subject {
	s := newFake(t)
	s.Channel = b.build(t, s.Channel.(fakeChannel))
	restart := s.Restart
	s.Restart = func() channels.Channel { return b.build(t, restart().(fakeChannel)) }
	return s
}

// faultyChannel is a fakeChannel with one faulty method of channels.Channel.
type faultyChannel struct {
	fakeChannel
	plan func(m channels.Message) ([]channels.Outgoing, error)
	send func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error)
	run  func(ctx context.Context, receive channels.Receive) error
}

func (c faultyChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if c.plan != nil {
		return c.plan(m)
	}
	return c.fakeChannel.Plan(m)
}

func (c faultyChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if c.send != nil {
		return c.send(ctx, o)
	}
	return c.fakeChannel.Send(ctx, o)
}

func (c faultyChannel) Run(ctx context.Context, receive channels.Receive) error {
	if c.run != nil {
		return c.run(ctx, receive)
	}
	return c.fakeChannel.Run(ctx, receive)
}

// changePlan returns a constructor of channels that change the result of Plan.
func changePlan(change func(m channels.Message, plan []channels.Outgoing) []channels.Outgoing) func(*testing.T, fakeChannel) channels.Channel {
	return func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
			plan, err := f.Plan(m)
			return change(m, plan), err
		}}
	}
}

// changeMessage returns a constructor of channels that change the message before Plan.
func changeMessage(change func(m *channels.Message)) func(*testing.T, fakeChannel) channels.Channel {
	return func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, plan: func(m channels.Message) ([]channels.Outgoing, error) {
			m.Media = slices.Clone(m.Media)
			change(&m)
			return f.Plan(m)
		}}
	}
}

// replaceSend returns a constructor of channels with another Send.
func replaceSend(send func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error)) func(*testing.T, fakeChannel) channels.Channel {
	return func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, send: func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
			return send(ctx, f, o)
		}}
	}
}

// wrapReceive returns a constructor of channels that wrap Receive. Run calls wrap once.
func wrapReceive(wrap func(receive channels.Receive) channels.Receive) func(*testing.T, fakeChannel) channels.Channel {
	return func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
			return f.Run(ctx, wrap(receive))
		}}
	}
}

var breaches = slices.Concat(planBreaches, textBreaches, screenBreaches, mediaBreaches, sendBreaches, receiveBreaches, runBreaches)

// closedAtCleanup returns a channel that is closed at the end of the test, to end goroutines that
// would block forever.
func closedAtCleanup(t *testing.T) <-chan struct{} {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return over
}
