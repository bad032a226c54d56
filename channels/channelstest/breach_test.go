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
	restart, newChannel := s.Restart, s.Remote.New
	s.Restart = func() channels.Channel { return b.build(t, restart().(fakeChannel)) }
	s.Remote.New = func(settings RemoteSettings) channels.Channel { return b.build(t, newChannel(settings).(fakeChannel)) }
	return s
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

var breaches = slices.Concat(planBreaches, textBreaches, screenBreaches, mediaBreaches, sendBreaches, receiveBreaches, runBreaches, remoteBreaches)

// closedAtCleanup returns a channel that is closed at the end of the test, to end goroutines that
// would block forever.
func closedAtCleanup(t *testing.T) <-chan struct{} {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return over
}
