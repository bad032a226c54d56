// Package warm has processes without a turn: those that were started before their message, and
// those that outlive a turn. It knows nothing of what is said to them.
package warm

import (
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/terminal/process"
)

// Options configures Waiting.
type Options struct {
	Chats   int           // how many chats have a process for their next turn
	Spares  int           // how many processes wait for a chat that has none
	For     time.Duration // how long a process waits
	Command string        // of the shell; a process is not used after a change of the files in it
	Dir     string        // in which the spare processes run
	Path    string        // in which programs are looked up
	// Watch are patterns of more files whose change matters, relative to Workspace.
	Watch     []string
	Workspace string
	Log       *zap.Logger
}

// Waiting has processes that were started before their message. Each of them serves one turn, and
// waits for it at most for a certain time.
type Waiting struct {
	o       Options
	watched watchedFiles

	mu     sync.Mutex
	spare  func() process.Options // nil: before Start
	chats  []*waiter              // each of another chat; the one that was used last is at the end
	spares []*waiter
	closed bool
	all    sync.WaitGroup // the processes, until they are reaped or a turn has them
}

// waiter is a process that waits for its message.
type waiter struct {
	chat    string        // "": any, it is a spare one
	started chan struct{} // closed when the fields below are set
	child   *process.Child
	files   string // the state of Waiting.watched before the start
	expiry  *time.Timer
}

// New returns a Waiting that starts nothing before Start.
func New(o Options) *Waiting { return &Waiting{o: o, watched: newWatchedFiles(o)} }

// Start allows that processes are started from now on. spare returns the options of the spare ones.
// Calls after the first do nothing.
func (w *Waiting) Start(spare func() process.Options) {
	w.mu.Lock()
	started := w.spare != nil
	if !started {
		w.spare = spare
	}
	w.mu.Unlock()
	for i := 0; !started && i < w.o.Spares; i++ {
		w.addSpare()
	}
}

// Count returns how many processes wait.
func (w *Waiting) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.chats) + len(w.spares)
}

// mayStart reports whether processes may be started for chats.
func (w *Waiting) mayStart() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spare != nil && !w.closed && w.o.Chats > 0
}

// Prepare starts the process for the next turn of a chat. The chat with the least recent turn gives
// way if there are too many. tidy is called first, while no process of the chat runs; if it fails,
// nothing is started. options is called later.
func (w *Waiting) Prepare(chat string, tidy func() error, options func() process.Options) {
	if !w.mayStart() || tidy() != nil {
		return // the next turn reports the error
	}
	a := &waiter{chat: chat, started: make(chan struct{})}
	var surplus *waiter
	w.mu.Lock()
	if w.closed || slices.ContainsFunc(w.chats, func(other *waiter) bool { return other.chat == chat }) {
		w.mu.Unlock()
		return
	}
	w.chats = append(w.chats, a)
	if len(w.chats) > w.o.Chats {
		surplus, w.chats = w.chats[0], w.chats[1:]
	}
	w.all.Add(1)
	w.mu.Unlock()
	go func() {
		if surplus != nil {
			w.discard(surplus, "")
		}
		w.start(a, options())
	}()
}

// addSpare starts a process for a chat that has none.
func (w *Waiting) addSpare() {
	a := &waiter{started: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.spares = append(w.spares, a)
	w.all.Add(1)
	go w.start(a, w.spare())
}

// start starts a process that is in a list.
func (w *Waiting) start(a *waiter, o process.Options) {
	a.files = w.watched.state(o.Dir)
	var err error
	if a.child, err = process.Start(o); err != nil {
		w.remove(a)
		close(a.started)
		w.all.Done()
		w.o.Log.Debug("agent not started before its message", zap.String("chat", a.chat), zap.Error(err))
		return
	}
	a.expiry = time.AfterFunc(w.o.For, func() {
		if w.remove(a) {
			w.discard(a, "")
			if a.chat == "" {
				w.addSpare()
			}
		}
	})
	close(a.started)
}

// remove removes a process from its list and reports whether it was there. Whoever has removed it
// must use or discard it.
func (w *Waiting) remove(a *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.chats) + len(w.spares)
	is := func(other *waiter) bool { return other == a }
	w.chats, w.spares = slices.DeleteFunc(w.chats, is), slices.DeleteFunc(w.spares, is)
	return len(w.chats)+len(w.spares) < before
}

// Claim returns a process for a turn of a chat in a folder; nil: there is none, and a cold start is
// needed. Unusable ones are discarded. The process of the chat, if there is one, is in that folder.
func (w *Waiting) Claim(chat, dir string) *process.Child {
	for {
		a := w.next(chat, dir)
		if a == nil {
			return nil
		}
		<-a.started
		if a.child == nil {
			continue
		}
		if a.chat == "" {
			w.addSpare()
		}
		switch {
		case !a.child.Untouched():
			w.discard(a, "it has ended, or written something before its message")
		case a.files != w.watched.state(dir):
			w.discard(a, "its files have changed")
		case !a.expiry.Stop():
			w.discard(a, "")
		default:
			w.all.Done()
			return a.child
		}
	}
}

// next removes the process of a chat, or a spare one, from its list; nil: there is none.
func (w *Waiting) next(chat, dir string) (a *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a = w.removeOf(chat); a == nil && len(w.spares) > 0 && dir == w.o.Dir {
		a, w.spares = w.spares[0], w.spares[1:]
	}
	return a
}

// removeOf removes the process of a chat from the list; nil: there is none. The caller has locked
// mu.
func (w *Waiting) removeOf(chat string) *waiter {
	i := slices.IndexFunc(w.chats, func(a *waiter) bool { return a.chat == chat })
	if i < 0 {
		return nil
	}
	a := w.chats[i]
	w.chats = slices.Delete(w.chats, i, i+1)
	return a
}

// discard ends a process that is in no list. The reason is logged unless it is "".
func (w *Waiting) discard(a *waiter, reason string) {
	<-a.started
	if a.child == nil {
		return
	}
	if reason != "" {
		w.o.Log.Info("cold start instead of the process that was waiting", zap.String("chat", a.chat),
			zap.String("reason", reason))
	}
	a.expiry.Stop()
	a.child.Kill()
	go func() {
		defer w.all.Done()
		a.child.Wait()
	}()
}

// End ends the process that waits for a chat.
func (w *Waiting) End(chat string) {
	w.mu.Lock()
	a := w.removeOf(chat)
	w.mu.Unlock()
	if a != nil {
		w.discard(a, "")
	}
}

// Close ends all processes and waits for them.
func (w *Waiting) Close() {
	w.mu.Lock()
	all := slices.Concat(w.chats, w.spares)
	w.chats, w.spares, w.closed = nil, nil, true
	w.mu.Unlock()
	for _, a := range all {
		w.discard(a, "")
	}
	w.all.Wait()
}
