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
	keepsCursor    = "CursorKeeper: a kept cursor passes no message"
	keepFails      = "CursorKeeper: Run survives a cursor that is not kept"
	partsOnce      = "MemoryUser: a message in parts is received whole and once"
	partsRestart   = "MemoryUser: parts are completed after a restart"
	isHealthy      = "HealthReporter: Health is nil when all is well"
	tellsTrouble   = "HealthReporter: Health tells of trouble and of its end"
	silentMenu     = "Menu: SetMenu makes no network call"
	showsMenu      = "Menu: Run shows the menu"
	chatMenu       = "ChatMenu: SetChatMenu replaces the commands of a chat"
)

// skip sets a channel's position after all that was said.
func (f fake) skip() { f.at = locked(f.net, func() int { return len(f.net.said) }) }

// forgetful is a memory that knows of no parts when Run begins.
type forgetful struct {
	channels.Memory
	asked bool
}

func (m *forgetful) Parts(ctx context.Context) ([]channels.Incoming, error) {
	if !m.asked {
		m.asked = true
		return nil, nil
	}
	return m.Memory.Parts(ctx)
}

var optionalRunBreaches = []breach{
	{
		name:  "Resume without a cursor skips what was said",
		fails: []string{resumesNothing},
		bend: strange(func(f fake, o *odd) {
			o.resume = func(cursor string) {
				if f.Resume(cursor); cursor == "" {
					f.skip()
				}
			}
		}),
	},
	{
		name:  "Resume skips what was said meanwhile",
		fails: []string{resumesCursor, keepsCursor, closesWhole},
		bend: strange(func(f fake, o *odd) {
			o.resume = func(cursor string) {
				if cursor != "" {
					f.skip()
				}
			}
		}),
	},
	{
		name:  "after a restart messages are received again under new ids",
		fails: []string{resumesCursor, keepsCursor, partsRestart, closesWhole},
		bend: strange(func(f fake, o *odd) {
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
		name:  "no cursor is ever kept",
		fails: []string{keepsCursor, keepFails},
		bend: strange(func(_ fake, o *odd) {
			o.keepCursor = func(func(context.Context, string) error) {}
		}),
	},
	{
		name:  "a kept cursor passes the next message",
		fails: []string{keepsCursor},
		bend: strange(func(f fake, o *odd) {
			o.keepCursor = func(keep func(context.Context, string) error) {
				f.KeepCursor(func(ctx context.Context, cursor string) error {
					n, _ := strconv.Atoi(cursor)
					return keep(ctx, strconv.Itoa(n+1))
				})
			}
		}),
	},
	{
		name:  "Run ends when a cursor is not kept",
		fails: []string{keepFails},
		bend: strange(func(f fake, o *odd) {
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
		bend: strange(func(f fake, o *odd) {
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
		name:  "the whole message does not say that it is whole",
		fails: []string{partsOnce, partsRestart},
		bend: strange(func(f fake, o *odd) {
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
		name:  "Run does not complete what was gathered before",
		fails: []string{partsRestart},
		bend: strange(func(f fake, _ *odd) {
			f.SetMemory(&forgetful{Memory: f.memory})
		}),
	},
	{
		name:  "Health complains before Run",
		fails: []string{isHealthy},
		bend: strange(func(f fake, o *odd) {
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
		bend:  strange(func(_ fake, o *odd) { o.health = func() error { return nil } }),
	},
	{
		name:  "Health never forgets a trouble",
		fails: []string{tellsTrouble},
		bend: strange(func(f fake, o *odd) {
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
		bend: strange(func(f fake, o *odd) {
			o.setMenu = func(commands []channels.Command) {
				f.SetMenu(commands)
				f.showMenu()
			}
		}),
	},
	{
		name:  "SetMenu keeps the slice",
		fails: []string{showsMenu},
		bend:  strange(func(f fake, o *odd) { o.setMenu = func(commands []channels.Command) { f.menu = commands } }),
	},
	{
		name:  "Run shows no menu because of one name",
		fails: []string{showsMenu},
		bend: strange(func(f fake, o *odd) {
			o.setMenu = func(commands []channels.Command) {
				if len(allowed(commands)) == len(commands) {
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
		bend: strange(func(f fake, o *odd) {
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
		bend: strange(func(f fake, o *odd) {
			o.setChatMenu = func(_ context.Context, _ channels.Chat, commands []channels.Command) error {
				return locked(f.net, func() error { f.net.chat = allowed(commands); return nil })
			}
		}),
	},
	{
		name:  "SetChatMenu refuses commands because of one name",
		fails: []string{chatMenu},
		bend: strange(func(f fake, o *odd) {
			o.setChatMenu = func(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
				if len(allowed(commands)) < len(commands) {
					return errors.New("bad name")
				}
				return f.SetChatMenu(ctx, chat, commands)
			}
		}),
	},
}
