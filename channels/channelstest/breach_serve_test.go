package channelstest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"nanobot/channels"
)

const (
	handlerServes = "Mounter: the handler answers before, during and after Run"
	hangsUp       = "Streamer: CloseStreams ends every stream"
	comeBack      = "Streamer: a client may connect again"
	watchedTells  = "Publisher: Watched tells whether an operator is connected"
	inOrder       = "Publisher: every operator sees the events in order"
	notStored     = "Publisher: events are stored nowhere"
	neverWaits    = "Publisher: Publish does not wait for an operator"
	examines      = "Examiner: Examine finds nothing wrong and changes nothing"
	findsOutage   = "Examiner: a network that is out of reach is Bad"
	leavesAlone   = "Examiner: Examine does not disturb a running daemon"
	closesTwice   = "Closer: Close works without Run, and twice"
	closesWhole   = "Closer: the next start goes on where Close ended"
)

// running tells whether the channel runs.
func running(f fake, o *odd) *atomic.Bool {
	var now atomic.Bool
	o.run = func(ctx context.Context, receive channels.Receive) error {
		now.Store(true)
		defer now.Store(false)
		return f.Run(ctx, receive)
	}
	return &now
}

var serveBreaches = []breach{
	{
		name:  "the handler panics while Run does not run",
		fails: []string{handlerServes},
		bend: strange(func(f fake, o *odd) {
			runs := running(f, o)
			o.mount = func() (string, http.Handler) {
				return "/fake", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					if !runs.Load() {
						panic("nobody is there")
					}
				})
			}
		}),
	},
	{
		name:  "the handler waits for Run",
		fails: []string{handlerServes},
		bend: func(t *testing.T, f fake) channels.Channel {
			over := untilCleanup(t)
			return strange(func(f fake, o *odd) {
				runs := running(f, o)
				o.mount = func() (string, http.Handler) {
					return "/fake", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
						if !runs.Load() {
							<-over
						}
					})
				}
			})(t, f)
		},
	},
	{
		name:  "the pattern is none",
		fails: []string{handlerServes},
		bend: strange(func(_ fake, o *odd) {
			o.mount = func() (string, http.Handler) { return "/{", http.NotFoundHandler() }
		}),
	},
	{
		name:  "CloseStreams ends one stream",
		fails: []string{hangsUp},
		bend: strange(func(f fake, o *odd) {
			o.hangUp = func() {
				f.net.mu.Lock()
				defer f.net.mu.Unlock()
				for l := range f.net.lines {
					f.net.end(l)
					return
				}
			}
		}),
	},
	{
		name:  "CloseStreams is for good",
		fails: []string{comeBack},
		bend: strange(func(f fake, o *odd) {
			var hung atomic.Bool
			o.hangUp = func() {
				hung.Store(true)
				f.CloseStreams()
			}
			o.publish = func(event string, data any) {
				if hung.Load() {
					f.CloseStreams()
				}
				f.Publish(event, data)
			}
		}),
	},
	{
		name:  "Watched is always true",
		fails: []string{watchedTells},
		bend:  strange(func(_ fake, o *odd) { o.watched = func() bool { return true } }),
	},
	{
		name:  "Watched is always false",
		fails: []string{watchedTells},
		bend:  strange(func(_ fake, o *odd) { o.watched = func() bool { return false } }),
	},
	{
		name:  "an event is lost",
		fails: []string{inOrder},
		bend: strange(func(f fake, o *odd) {
			o.publish = func(event string, data any) {
				if data.(map[string]any)["n"] != "17" {
					f.Publish(event, data)
				}
			}
		}),
	},
	{
		name:  "Publish sends a message",
		fails: []string{notStored},
		bend: strange(func(f fake, o *odd) {
			o.publish = func(event string, data any) {
				_, _ = f.Send(context.Background(), channels.Outgoing{Text: event})
				f.Publish(event, data)
			}
		}),
	},
	{
		name:  "an operator is shown earlier events",
		fails: []string{notStored},
		bend: strange(func(f fake, o *odd) {
			var early any
			o.publish = func(event string, data any) {
				if !f.Watched() {
					early = data
				} else if early != nil {
					f.Publish(event, early)
				}
				f.Publish(event, data)
			}
		}),
	},
	{
		name:  "Publish waits for operators",
		fails: []string{neverWaits},
		bend: func(t *testing.T, f fake) channels.Channel {
			over := untilCleanup(t)
			return strange(func(f fake, o *odd) {
				o.publish = func(name string, data any) {
					all := locked(f.net, func() (all []*line) {
						for l := range f.net.lines {
							all = append(all, l)
						}
						return all
					})
					for _, l := range all {
						select {
						case l.events <- event{name, data.(map[string]any)}:
						case <-over:
						}
					}
				}
			})(t, f)
		},
	},
	{
		name:  "a finding contains the token",
		fails: []string{examines, leavesAlone},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				found := f.Examine(ctx, e)
				if found[0].Status == channels.Good {
					found[0].Detail += " with " + fakeToken
				}
				return found
			}
		}),
	},
	{
		name:  "a finding does not say what to do",
		fails: []string{findsOutage},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				found := f.Examine(ctx, e)
				found[0].Fix = ""
				return found
			}
		}),
	},
	{
		name:  "Examine finds nothing at all",
		fails: []string{examines, findsOutage, leavesAlone},
		bend: strange(func(_ fake, o *odd) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding { return nil }
		}),
	},
	{
		name:  "Examine takes what was said",
		fails: []string{examines},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				if !e.Running {
					locked(f.net, func() bool { f.net.said = nil; return true })
				}
				return f.Examine(ctx, e)
			}
		}),
	},
	{
		name:  "Examine sends a message",
		fails: []string{examines},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				_, _ = f.Send(ctx, channels.Outgoing{Text: "hello?"})
				return f.Examine(ctx, e)
			}
		}),
	},
	{
		name:  "Examine finds that all is well",
		fails: []string{findsOutage},
		bend: strange(func(_ fake, o *odd) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding {
				return []channels.Finding{{Check: "fake.network", Status: channels.Good, Detail: "well"}}
			}
		}),
	},
	{
		name:  "Examine finds fault with everything",
		fails: []string{examines, leavesAlone},
		bend: strange(func(_ fake, o *odd) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding {
				return []channels.Finding{{Check: "fake.network", Status: channels.Bad, Detail: "bad", Fix: "give up"}}
			}
		}),
	},
	{
		name:  "Examine panics when the network is out of reach",
		fails: []string{findsOutage},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				found := f.Examine(ctx, e)
				if found[0].Status == channels.Bad {
					panic(found)
				}
				return found
			}
		}),
	},
	{
		name:  "Examine cuts off the running daemon",
		fails: []string{leavesAlone},
		bend: strange(func(f fake, o *odd) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				found := f.Examine(ctx, e)
				if e.Running {
					f.net.setDown(true)
				}
				return found
			}
		}),
	},
	{
		name:  "a second Close is an error",
		fails: []string{closesTwice},
		bend: strange(func(_ fake, o *odd) {
			var closed atomic.Bool
			o.end = func() error {
				if closed.Swap(true) {
					return errors.New("closed already")
				}
				return nil
			}
		}),
	},
	{
		name:  "Close loses what was not received",
		fails: []string{closesWhole},
		bend: strange(func(f fake, o *odd) {
			o.end = func() error {
				return locked(f.net, func() error { f.net.said = f.net.said[:f.position()]; return nil })
			}
		}),
	},
}
