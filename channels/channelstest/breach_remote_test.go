package channelstest

import (
	"context"
	"errors"
	"os"
	"testing"

	"nanobot/channels"
)

const (
	quotes       = "a reply quotes the text and the file that it replies to"
	pressed      = "a press is received and removes the buttons"
	cleanNames   = "bidi controls are removed from names of users, and from nothing else"
	endsRefusing = "Run returns nil when its context ends while nothing can be received"
	runsAgain    = "Run may be called again"
	wrongToken   = "a wrong token ends Run, and Examine names it"
	namesMissing = "a file that cannot be read any more is named"
)

var remoteBreaches = []breach{
	{"received files are lost", changeIncoming(func(m *channels.Incoming) { m.Media = nil }), []string{
		"a download that fails is tried again", quotes,
	}},
	{"files of strangers are downloaded", func(_ *testing.T, f fakeChannel) channels.Channel {
		f.stranger = false
		return f
	}, []string{"files of strangers are not downloaded"}},
	{"a press of a stranger removes the buttons", func(_ *testing.T, f fakeChannel) channels.Channel {
		f.net.stranger = false
		return f
	}, []string{"a press of a stranger leaves the buttons"}},
	{"replies quote nothing", changeIncoming(func(m *channels.Incoming) { m.ReplyTo = nil }), []string{quotes}},
	{"a lost answer counts as a send that was not made", replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
		receipt, err := f.Send(ctx, o)
		if err != nil {
			err = &channels.SendError{Err: err}
		}
		return receipt, err
	}), []string{"a send whose answer was lost or cannot be read is unknown"}},
	{"Run is tried again with a wrong token", func(_ *testing.T, f fakeChannel) channels.Channel {
		f.token = ""
		return f
	}, []string{wrongToken}},
	{"names of users are received unchanged", func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
			return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
				m.User.Name = f.net.userName
				return receive(ctx, m)
			})
		}}
	}, []string{cleanNames}},
	{"Examine ignores the clock", withFault(func(f fakeChannel, o *faultyChannel) {
		o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
			f.net.clockOffset = 0
			return f.Examine(ctx, e)
		}
	}), []string{"Examine compares the clocks"}},
	{"CloseIdleConnections does nothing", withFault(func(_ fakeChannel, o *faultyChannel) {
		o.closeIdle = func() {}
	}), []string{"CloseIdleConnections closes the connections"}},
	{"a file that cannot be read any more is refused", replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
		for _, m := range o.Media {
			if _, err := os.Stat(m.Path); m.Path != "" && err != nil {
				return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
			}
		}
		return f.Send(ctx, o)
	}), []string{namesMissing}},
	{"buttons stay after a press", changeMessage(func(m *channels.Message) {
		for i := range m.Buttons {
			m.Buttons[i].Stays = true
		}
	}), []string{pressed}},
	{"Run returns the error of the last receive", func(_ *testing.T, f fakeChannel) channels.Channel {
		return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
			var last error
			err := f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
				last = receive(ctx, m)
				return last
			})
			if errors.Is(last, context.Canceled) {
				last = nil
			}
			return errors.Join(err, last)
		}}
	}, []string{endsRefusing}},
	{"Run works only once", func(_ *testing.T, f fakeChannel) channels.Channel {
		called := false
		return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
			if called {
				return errors.New("Run was called before")
			}
			called = true
			return f.Run(ctx, receive)
		}}
	}, []string{runsAgain}},
}
