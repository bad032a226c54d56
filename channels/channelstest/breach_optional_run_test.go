package channelstest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"

	"nanobot/channels"
)

const (
	resumesNothing = "Resumer: without a cursor everything is received"
	resumesCursor  = "Resumer: Run continues after the cursor"
	keepsCursor    = "CursorKeeper: a stored cursor skips no message"
	keepFails      = "CursorKeeper: Run continues if a cursor cannot be stored"
	partsOnce      = "MemoryUser: a message in parts is received whole and once"
	partsRestart   = "MemoryUser: parts are completed after a restart"
	isHealthy      = "HealthReporter: Health is nil while messages are received"
	tellsTrouble   = "HealthReporter: Health reports an outage and its end"
	silentMenu     = "Menu: SetMenu makes no network call"
	showsMenu      = "Menu: Run shows the menu"
	chatMenu       = "ChatMenu: SetChatMenu replaces the commands of a chat"
)

// skipToEnd makes the channel skip all messages that users have sent.
func (f fakeChannel) skipToEnd() {
	f.received = withLock(f.net, func() int { return len(f.net.userMessages) })
}

// memoryWithoutParts is a memory whose first call of Parts, at the start of Run, returns none.
type memoryWithoutParts struct {
	channels.Memory
	asked bool
}

func (m *memoryWithoutParts) Parts(ctx context.Context) ([]channels.Incoming, error) {
	if !m.asked {
		m.asked = true
		return nil, nil
	}
	return m.Memory.Parts(ctx)
}

var optionalRunBreaches = []breach{
	{
		name:  "Resume without a cursor skips earlier messages",
		fails: []string{resumesNothing},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.resume = func(cursor string) {
				if f.Resume(cursor); cursor == "" {
					f.skipToEnd()
				}
			}
		}),
	},
	{
		name:  "Resume skips messages that were sent meanwhile",
		fails: []string{resumesCursor, keepsCursor, closesWhole},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.resume = func(cursor string) {
				if cursor != "" {
					f.skipToEnd()
				}
			}
		}),
	},
	{
		name:  "after a restart messages are received again with new IDs",
		fails: []string{resumesCursor, keepsCursor, partsRestart, closesWhole},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.resume = func(string) {}
			mark := rand.Text()
			o.run = func(ctx context.Context, receive channels.Receive) error {
				return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					m.ID = mark + m.ID
					return receive(ctx, m)
				})
			}
		}),
	},
	{
		name:  "no cursor is ever stored",
		fails: []string{keepsCursor, keepFails},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.keepCursor = func(func(context.Context, string) error) {}
		}),
	},
	{
		name:  "a stored cursor skips the next message",
		fails: []string{keepsCursor},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.keepCursor = func(keep func(context.Context, string) error) {
				f.KeepCursor(func(ctx context.Context, cursor string) error {
					n, _ := strconv.Atoi(cursor)
					return keep(ctx, strconv.Itoa(n+1))
				})
			}
		}),
	},
	{
		name:  "Run ends when a cursor cannot be stored",
		fails: []string{keepFails},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			failed := make(chan error, 10)
			o.keepCursor = func(keep func(context.Context, string) error) {
				f.KeepCursor(func(ctx context.Context, cursor string) error {
					err := keep(ctx, cursor)
					if err != nil {
						failed <- err
					}
					return err
				})
			}
			o.run = func(ctx context.Context, receive channels.Receive) error {
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				go func() {
					select {
					case err := <-failed:
						cancel(err)
					case <-ctx.Done():
					}
				}()
				_ = f.Run(ctx, receive)
				if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
					return err
				}
				return nil
			}
		}),
	},
	{
		name:  "parts are received as messages",
		fails: []string{partsOnce, partsRestart},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.run = func(ctx context.Context, receive channels.Receive) error {
				return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					if m.Part != nil && !m.Part.Last {
						m.Part, m.Text = nil, string(m.Raw)
					}
					return receive(ctx, m)
				})
			}
		}),
	},
	{
		name:  "the complete message is not marked as the last part",
		fails: []string{partsOnce, partsRestart},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.run = func(ctx context.Context, receive channels.Receive) error {
				return f.Run(ctx, func(ctx context.Context, m channels.Incoming) error {
					if m.Part != nil && m.Part.Last {
						m.Part = nil
					}
					return receive(ctx, m)
				})
			}
		}),
	},
	{
		name:  "Run does not complete earlier parts",
		fails: []string{partsRestart},
		build: withFault(func(f fakeChannel, _ *faultyChannel) {
			f.SetMemory(&memoryWithoutParts{Memory: f.memory})
		}),
	},
	{
		name:  "Health reports an error before Run",
		fails: []string{isHealthy},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			var begun atomic.Bool
			o.run = func(ctx context.Context, receive channels.Receive) error {
				begun.Store(true)
				return f.Run(ctx, receive)
			}
			o.health = func() error {
				if !begun.Load() {
					return errors.New("it does not run")
				}
				return f.Health()
			}
		}),
	},
	{
		name:  "Health is always nil",
		fails: []string{tellsTrouble},
		build: withFault(func(_ fakeChannel, o *faultyChannel) { o.health = func() error { return nil } }),
	},
	{
		name:  "Health reports an outage that is over",
		fails: []string{tellsTrouble},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			var was atomic.Bool
			o.health = func() error {
				if f.Health() != nil {
					was.Store(true)
				}
				if was.Load() {
					return errDown
				}
				return nil
			}
		}),
	},
	{
		name:  "SetMenu calls the network",
		fails: []string{silentMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.setMenu = func(commands []channels.Command) {
				f.SetMenu(commands)
				f.showMenu()
			}
		}),
	},
	{
		name:  "SetMenuSource reads the source",
		fails: []string{"MenuReader: the source is read only when a menu is shown"},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.setSource = func(read channels.MenuSource) {
				_, _ = read(context.Background(), channels.Chat{}, channels.User{})
			}
		}),
	},
	{
		name:  "SetMenu keeps the slice",
		fails: []string{showsMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.setMenu = func(commands []channels.Command) { f.menu = commands }
		}),
	},
	{
		name:  "Run shows no menu because of one name",
		fails: []string{showsMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.setMenu = func(commands []channels.Command) {
				if len(validNames(commands)) == len(commands) {
					f.SetMenu(commands)
				}
			}
			o.setChatMenu = func(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
				return f.SetChatMenu(ctx, chat, slices.Concat([]channels.Command{{Name: "stop"}}, commands))
			}
		}),
	},
	{
		name:  "SetChatMenu adds commands",
		fails: []string{chatMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			var all []channels.Command
			o.setChatMenu = func(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
				all = append(all, commands...)
				return f.SetChatMenu(ctx, chat, all)
			}
		}),
	},
	{
		name:  "SetChatMenu drops the commands of SetMenu",
		fails: []string{chatMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.setChatMenu = func(_ context.Context, _ channels.Chat, commands []channels.Command) error {
				return withLock(f.net, func() error { f.net.chatMenu = validNames(commands); return nil })
			}
		}),
	},
	{
		name:  "SetChatMenu refuses commands because of one name",
		fails: []string{chatMenu},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.setChatMenu = func(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
				if len(validNames(commands)) < len(commands) {
					return errors.New("bad name")
				}
				return f.SetChatMenu(ctx, chat, commands)
			}
		}),
	},
}
