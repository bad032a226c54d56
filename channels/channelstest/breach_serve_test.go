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
	closesStreams = "Streamer: CloseStreams ends every stream"
	comeBack      = "Streamer: a client may connect again"
	watchedTells  = "Publisher: Watched reports whether an operator is connected"
	inOrder       = "Publisher: every operator sees the events in order"
	notStored     = "Publisher: events are stored nowhere"
	neverWaits    = "Publisher: Publish does not wait for an operator"
	examines      = "Examiner: Examine finds nothing wrong and changes nothing"
	findsOutage   = "Examiner: a network that is out of reach is Bad"
	leavesAlone   = "Examiner: Examine does not disturb a running daemon"
	closesTwice   = "Closer: Close works without Run, and twice"
	closesWhole   = "Closer: the next start continues where Close ended"
)

// trackRunning returns a value that is true while Run runs.
func trackRunning(f fakeChannel, o *faultyChannel) *atomic.Bool {
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
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			runs := trackRunning(f, o)
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
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over := closedAtCleanup(t)
			return withFault(func(f fakeChannel, o *faultyChannel) {
				runs := trackRunning(f, o)
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
		name:  "the pattern is invalid",
		fails: []string{handlerServes},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.mount = func() (string, http.Handler) { return "/{", http.NotFoundHandler() }
		}),
	},
	{
		name:  "CloseStreams ends one stream",
		fails: []string{closesStreams},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.closeStreams = func() {
				f.net.mu.Lock()
				defer f.net.mu.Unlock()
				for l := range f.net.operators {
					f.net.closeLocked(l)
					return
				}
			}
		}),
	},
	{
		name:  "no stream works after CloseStreams",
		fails: []string{comeBack},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			var hung atomic.Bool
			o.closeStreams = func() {
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
		build: withFault(func(_ fakeChannel, o *faultyChannel) { o.watched = func() bool { return true } }),
	},
	{
		name:  "Watched is always false",
		fails: []string{watchedTells},
		build: withFault(func(_ fakeChannel, o *faultyChannel) { o.watched = func() bool { return false } }),
	},
	{
		name:  "an event is lost",
		fails: []string{inOrder},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.publish = func(event string, data any) {
				_, _ = f.Send(context.Background(), channels.Outgoing{Text: event})
				f.Publish(event, data)
			}
		}),
	},
	{
		name:  "an operator is shown earlier events",
		fails: []string{notStored},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over := closedAtCleanup(t)
			return withFault(func(f fakeChannel, o *faultyChannel) {
				o.publish = func(name string, data any) {
					all := withLock(f.net, func() (all []*operatorConn) {
						for l := range f.net.operators {
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
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding { return nil }
		}),
	},
	{
		name:  "Examine consumes pending messages",
		fails: []string{examines},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				if !e.Running {
					withLock(f.net, func() bool { f.net.userMessages = nil; return true })
				}
				return f.Examine(ctx, e)
			}
		}),
	},
	{
		name:  "Examine sends a message",
		fails: []string{examines},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.examine = func(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
				_, _ = f.Send(ctx, channels.Outgoing{Text: "hello?"})
				return f.Examine(ctx, e)
			}
		}),
	},
	{
		name:  "Examine always reports Good",
		fails: []string{findsOutage},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding {
				return []channels.Finding{{Check: "fake.network", Status: channels.Good, Detail: "well"}}
			}
		}),
	},
	{
		name:  "Examine always reports Bad",
		fails: []string{examines, leavesAlone},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.examine = func(context.Context, channels.ExamineOptions) []channels.Finding {
				return []channels.Finding{{Check: "fake.network", Status: channels.Bad, Detail: "bad", Fix: "give up"}}
			}
		}),
	},
	{
		name:  "Examine panics when the network is out of reach",
		fails: []string{findsOutage},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		name:  "Examine disconnects the running daemon",
		fails: []string{leavesAlone},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
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
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			var closed atomic.Bool
			o.close = func() error {
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
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.close = func() error {
				return withLock(f.net, func() error { f.net.userMessages = f.net.userMessages[:f.position()]; return nil })
			}
		}),
	},
}
