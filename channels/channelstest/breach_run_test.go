package channelstest

import (
	"context"
	"fmt"
	"testing"

	"nanobot/channels"
)

const redelivery = "a message that could not be received is offered again"

// changeIncoming returns a constructor of channels that change each incoming message.
func changeIncoming(change func(m *channels.Incoming)) func(*testing.T, fakeChannel) channels.Channel {
	return wrapReceive(func(receive channels.Receive) channels.Receive {
		return func(ctx context.Context, m channels.Incoming) error {
			change(&m)
			return receive(ctx, m)
		}
	})
}

var receiveBreaches = []breach{
	{
		name:  "a message overtakes another",
		fails: []string{"Run receives messages in order"},
		build: wrapReceive(func(receive channels.Receive) channels.Receive {
			var late channels.Incoming
			return func(ctx context.Context, m channels.Incoming) error {
				switch m.Text {
				case "message number 17":
					late = m
					return nil
				case "message number 18":
					_ = receive(ctx, m)
					return receive(ctx, late)
				}
				return receive(ctx, m)
			}
		}),
	},
	{
		name:  "only the first message is received",
		fails: []string{"Run receives messages in order", "an incoming message has a chat, an ID and a user", quotes},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
				receivedFirst := false
				return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					if receivedFirst {
						return nil
					}
					err := receive(ctx, m)
					receivedFirst = err == nil && m.ID == "1" && m.Text != "first"
					return err
				})
			}}
		},
	},
	{
		name:  "messages come from another chat",
		fails: []string{pressed, "an incoming message has a chat, an ID and a user"},
		build: changeIncoming(func(m *channels.Incoming) { m.Chat.ID = "2" }),
	},
	{
		name:  "messages share one ID",
		fails: []string{pressed, "a button that stays can be pressed again", "an incoming message has a chat, an ID and a user"},
		build: changeIncoming(func(m *channels.Incoming) { m.ID = "1" }),
	},
	{
		name:  "messages have no sender",
		fails: []string{"an incoming message has a chat, an ID and a user", cleanNames},
		build: changeIncoming(func(m *channels.Incoming) { m.User = channels.User{} }),
	},
	{
		name:  "a message that could not be received is acknowledged",
		fails: []string{redelivery, endsRefusing},
		build: wrapReceive(func(receive channels.Receive) channels.Receive {
			return func(ctx context.Context, m channels.Incoming) error {
				_ = receive(ctx, m)
				return nil
			}
		}),
	},
	{
		name:  "a message that could not be received is offered after the next one",
		fails: []string{redelivery, endsRefusing},
		build: wrapReceive(func(receive channels.Receive) channels.Receive {
			var late []channels.Incoming
			return func(ctx context.Context, m channels.Incoming) error {
				if err := receive(ctx, m); err != nil {
					late = append(late, m)
					return nil
				}
				for _, m := range late {
					_ = receive(ctx, m)
				}
				late = nil
				return nil
			}
		}),
	},
	{
		name:  "a message that is offered again has another ID",
		fails: []string{redelivery},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			offers := 0
			return changeIncoming(func(m *channels.Incoming) {
				offers++
				m.ID = fmt.Sprintf("%s-%d", m.ID, offers)
			})(t, f)
		},
	},
}

const (
	ends       = "Run returns nil when its context ends"
	endsDuring = "Run returns nil when its context ends during a receive"
	notStarted = "Run returns nil when its context has ended before"
	noLeak     = "Run leaves no goroutine"
)

var runBreaches = []breach{
	{
		name:  "Run returns its context's error",
		fails: []string{ends, endsDuring, notStarted, endsRefusing, runsAgain, wrongToken},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
				_ = f.Run(ctx, receive)
				return ctx.Err()
			}}
		},
	},
	{
		name:  "Run returns the error of a cancelled receive",
		fails: []string{endsDuring, endsRefusing, wrongToken},
		build: func(_ *testing.T, f fakeChannel) channels.Channel {
			return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
				var last error
				_ = f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					last = receive(ctx, m)
					return last
				})
				return last
			}}
		},
	},
	{
		name:  "Run ignores its context",
		fails: []string{ends, endsDuring, notStarted, endsRefusing, runsAgain, noLeak},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			t.Cleanup(cancel)
			return faultyChannel{fakeChannel: f, run: func(_ context.Context, receive channels.Receive) error {
				return f.Run(over, receive)
			}}
		},
	},
	{
		name:  "Run waits for a first message although its context has ended",
		fails: []string{notStarted, wrongToken},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over := closedAtCleanup(t)
			return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
				select {
				case <-f.net.wake:
				case <-over:
				}
				return f.Run(ctx, receive)
			}}
		},
	},
	{
		name:  "Run leaves a goroutine",
		fails: []string{noLeak},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over := closedAtCleanup(t)
			return faultyChannel{fakeChannel: f, run: func(ctx context.Context, receive channels.Receive) error {
				go func() { <-over }()
				return f.Run(ctx, receive)
			}}
		},
	},
}
