package channelstest

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
)

// Driver drives a channel on a test server, for the tests of one network.
type Driver struct {
	Logs     *observer.ObservedLogs
	Recorder *Recorder

	t       testing.TB
	channel channels.Channel
	chat    channels.Chat
	token   string
}

// NewDriver returns a driver, and the logger for the channel that Drive is called with.
func NewDriver(t testing.TB) (*Driver, *zap.Logger) {
	core, logs := observer.New(zapcore.DebugLevel)
	return &Driver{Logs: logs, Recorder: NewRecorder(), t: t}, zap.New(core)
}

// Drive sets the channel, its token, and the chat of messages without one. The test fails if the
// token is in the log.
func (d *Driver) Drive(ch channels.Channel, chat channels.Chat, token string) {
	d.channel, d.chat, d.token = ch, chat, token
	d.t.Cleanup(func() {
		if strings.Contains(d.LogText(), token) {
			d.t.Error("the token is in the log")
		}
	})
}

// LogText returns the log as JSON lines.
func (d *Driver) LogText() string { return LogText(d.t, d.Logs) }

// WaitForLog waits until a message is logged.
func (d *Driver) WaitForLog(what string) {
	d.t.Helper()
	if !eventually(func() bool { return d.Logs.FilterMessage(what).Len() > 0 }) {
		d.t.Fatalf("the log does not say %q: %s", what, d.LogText())
	}
}

// WaitForMessages waits until n messages are received, and returns all of them.
func (d *Driver) WaitForMessages(n int) []channels.Incoming {
	d.t.Helper()
	got, ok := d.Recorder.Await(func(all []channels.Incoming) bool { return len(all) >= n })
	if !ok {
		d.t.Fatalf("%d messages were received and should be %d: %+v\n%s", len(got), n, got, d.LogText())
	}
	return got
}

// SendAnswer plans and sends an answer, and returns the receipts.
func (d *Driver) SendAnswer(m channels.Message) []channels.Receipt {
	d.t.Helper()
	if m.Chat.ID == "" {
		m.Chat = d.chat
	}
	if m.Kind == "" {
		m.Kind = channels.Answer
	}
	return MustSend(d.t, d.channel, m)
}

// MustPlan plans a message.
func (d *Driver) MustPlan(m channels.Message) []channels.Outgoing {
	d.t.Helper()
	return MustPlan(d.t, d.channel, m)
}

// PlanText plans a short answer.
func (d *Driver) PlanText(text string) channels.Outgoing {
	d.t.Helper()
	return d.MustPlan(channels.Message{Chat: d.chat, Kind: channels.Answer, Text: text})[0]
}

// WriteFile writes a file for a message.
func (d *Driver) WriteFile(name string, content []byte) channels.File {
	d.t.Helper()
	return WriteFile(d.t, name, content)
}

// MustFailSend returns the error of a send that must fail, and checks that the token is not in it.
func (d *Driver) MustFailSend(ctx context.Context, o channels.Outgoing) *channels.SendError {
	d.t.Helper()
	return MustFailSend(ctx, d.t, d.channel, o, d.token)
}
