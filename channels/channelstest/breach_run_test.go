package channelstest

import (
	"context"
	"fmt"
	"testing"

	"nanobot/channels"
)

const redelivery = "what could not be received is offered again"

// alter bends each incoming message.
func alter(change func(m *channels.Incoming)) func(*testing.T, fake) channels.Channel {
	return reread(func(receive channels.Receive) channels.Receive {
		return func(ctx context.Context, m channels.Incoming) error {
			change(&m)
			return receive(ctx, m)
		}
	})
}

var receiveBreaches = []breach{
	{
		name:  "a message overtakes another",
		fails: []string{"Run receives what is said in order"},
		bend: reread(func(receive channels.Receive) channels.Receive {
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
		fails: []string{"Run receives what is said in order", "an incoming message says where it is from"},
		bend: func(_ *testing.T, f fake) channels.Channel {
			return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
				deaf := false
				return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					if deaf {
						return nil
					}
					err := receive(ctx, m)
					deaf = err == nil && m.ID == "1" && m.Text != "first"
					return err
				})
			}}
		},
	},
	{
		name:  "messages come from another chat",
		fails: []string{"an incoming message says where it is from"},
		bend:  alter(func(m *channels.Incoming) { m.Chat.ID = "2" }),
	},
	{
		name:  "messages share one id",
		fails: []string{"a button that stays can be pressed again", "an incoming message says where it is from"},
		bend:  alter(func(m *channels.Incoming) { m.ID = "1" }),
	},
	{
		name:  "messages have no sender",
		fails: []string{"an incoming message says where it is from"},
		bend:  alter(func(m *channels.Incoming) { m.User = channels.User{} }),
	},
	{
		name:  "what could not be received is acknowledged",
		fails: []string{redelivery},
		bend: reread(func(receive channels.Receive) channels.Receive {
			return func(ctx context.Context, m channels.Incoming) error {
				_ = receive(ctx, m)
				return nil
			}
		}),
	},
	{
		name:  "what could not be received is offered after the next",
		fails: []string{redelivery},
		bend: reread(func(receive channels.Receive) channels.Receive {
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
		name:  "a message that is offered again has another id",
		fails: []string{redelivery},
		bend: func(t *testing.T, f fake) channels.Channel {
			offers := 0
			return alter(func(m *channels.Incoming) {
				offers++
				m.ID = fmt.Sprintf("%s-%d", m.ID, offers)
			})(t, f)
		},
	},
}

const (
	ends       = "Run returns nil when its context ends"
	endsDuring = "Run returns nil when its context ends during a receive"
	notStarted = "Run returns nil when its context had ended before"
	noLeak     = "Run leaves no goroutine"
)

var runBreaches = []breach{
	{
		name:  "Run returns its context's error",
		fails: []string{ends, endsDuring, notStarted},
		bend: func(_ *testing.T, f fake) channels.Channel {
			return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
				_ = f.Run(ctx, receive)
				return ctx.Err()
			}}
		},
	},
	{
		name:  "Run returns the error of a receive that was cut short",
		fails: []string{endsDuring},
		bend: func(_ *testing.T, f fake) channels.Channel {
			return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
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
		fails: []string{ends, endsDuring, notStarted, noLeak},
		bend: func(t *testing.T, f fake) channels.Channel {
			over, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			t.Cleanup(cancel)
			return bent{fake: f, run: func(_ context.Context, receive channels.Receive) error {
				return f.Run(over, receive)
			}}
		},
	},
	{
		name:  "Run waits for a first message whatever its context says",
		fails: []string{notStarted},
		bend: func(t *testing.T, f fake) channels.Channel {
			over := untilCleanup(t)
			return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
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
		bend: func(t *testing.T, f fake) channels.Channel {
			over := untilCleanup(t)
			return bent{fake: f, run: func(ctx context.Context, receive channels.Receive) error {
				go func() { <-over }()
				return f.Run(ctx, receive)
			}}
		},
	},
}
