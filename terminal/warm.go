package terminal

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// warmAgents are the agent's processes that were started before their message. Each of them serves
// one turn, and waits for it at most for a certain time.
type warmAgents struct {
	runner  *Runner
	gateway string // Request.GatewayName
	watched watchedFiles

	mu     sync.Mutex
	chats  []*warmAgent // each of another chat; the one that was used last is at the end
	spares []*warmAgent
	closed bool
	all    sync.WaitGroup // the processes, until they are reaped or a turn has them
}

// warmAgent is a process that waits for its message.
type warmAgent struct {
	chat    string        // channel:id; "": any, it is a spare one
	started chan struct{} // closed when the fields below are set
	child   *process.Child
	files   string // the state of warmAgents.watched before the start
	expiry  *time.Timer
}

// StartWarming starts processes before their messages from now on, where the config wants that. The
// name of the gateway identifies them after a crash. Calls after the first do nothing.
func (r *Runner) StartWarming(gateway string) {
	if !r.o.Warm {
		return
	}
	w := &warmAgents{runner: r, gateway: gateway, watched: newWatchedFiles(r)}
	if !r.warm.CompareAndSwap(nil, w) {
		return
	}
	for range r.o.Config.Warm.Spare {
		w.addSpare()
	}
}

// WarmAgents returns how many processes wait for a message.
func (r *Runner) WarmAgents() int {
	w := r.warm.Load()
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.chats) + len(w.spares)
}

// prepare starts the process for the next turn of a chat. The chat with the least recent turn gives
// way if there are too many.
func (w *warmAgents) prepare(t *turn) {
	if w == nil || w.runner.o.Config.Warm.Chats == 0 {
		return
	}
	// The temporary files are removed now, while no agent of the chat can be running.
	chat, err := t.sandbox.PrepareChat(t.userDir, nil, true)
	if err != nil {
		return // the next turn reports it
	}
	a := &warmAgent{chat: t.req.Channel + ":" + t.req.ChatID, started: make(chan struct{})}
	var surplus *warmAgent
	w.mu.Lock()
	if w.closed || slices.ContainsFunc(w.chats, func(other *warmAgent) bool { return other.chat == a.chat }) {
		w.mu.Unlock()
		return
	}
	w.chats = append(w.chats, a)
	if len(w.chats) > w.runner.o.Config.Warm.Chats {
		surplus, w.chats = w.chats[0], w.chats[1:]
	}
	w.all.Add(1)
	w.mu.Unlock()
	go func() {
		if surplus != nil {
			w.discard(surplus, "")
		}
		next := &turn{Runner: t.Runner, req: Request{Envelope: Envelope{Channel: t.req.Channel, ChatID: t.req.ChatID}, Token: t.req.Token, GatewayName: w.gateway}, userDir: t.userDir, dirs: chat}
		w.start(a, next.sandboxed(t.warmOptions(next.persistentEnv())))
	}()
}

// addSpare starts a process for a chat that has none.
func (w *warmAgents) addSpare() {
	a := &warmAgent{started: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.runner.sandbox.SeparatesChats() {
		return
	}
	w.spares = append(w.spares, a)
	w.all.Add(1)
	r := w.runner
	go w.start(a, r.sandbox.Apply(r.warmOptions(slices.Concat(r.env, r.socketEnv(), process.GatewayEnv(w.gateway))), sandbox.ChatDirs{}))
}

// start starts the process of an agent that is in a list.
func (w *warmAgents) start(a *warmAgent, o process.Options) {
	r := w.runner
	a.files = w.watched.state()
	var err error
	if a.child, err = process.Start(o); err != nil {
		w.remove(a)
		close(a.started)
		w.all.Done()
		r.o.Log.Debug("agent not started before its message", zap.String("chat", a.chat), zap.Error(err))
		return
	}
	a.expiry = time.AfterFunc(time.Duration(r.o.Config.Warm.For)*time.Second, func() {
		if w.remove(a) {
			w.discard(a, "")
			if a.chat == "" {
				w.addSpare()
			}
		}
	})
	close(a.started)
}

// warmOptions returns the options of a process that is started before its message.
func (r *Runner) warmOptions(env []string) process.Options {
	return process.Options{
		Args: []string{r.o.Config.Shell, "-c", r.command.Expand("", ShellQuote)}, Dir: r.workDir(), Env: env,
		DelayInput: true, Grace: outputGrace, StderrTail: stderrTail,
	}
}

// remove removes an agent from its list and reports whether it was there. Whoever has removed it
// must use or discard it.
func (w *warmAgents) remove(a *warmAgent) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.chats) + len(w.spares)
	is := func(other *warmAgent) bool { return other == a }
	w.chats, w.spares = slices.DeleteFunc(w.chats, is), slices.DeleteFunc(w.spares, is)
	return len(w.chats)+len(w.spares) < before
}

// claimWaiting returns a process for a turn of a chat; nil: there is none, and a cold start is
// needed. Unusable ones are discarded.
func (w *warmAgents) claimWaiting(chat string) *warmAgent {
	if w == nil {
		return nil
	}
	for {
		a := w.next(chat)
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
		case a.files != w.watched.state():
			w.discard(a, "its files have changed")
		case !a.expiry.Stop():
			w.discard(a, "")
		default:
			w.all.Done()
			return a
		}
	}
}

// next removes the agent of a chat, or a spare one, from its list; nil: there is none.
func (w *warmAgents) next(chat string) (a *warmAgent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a = w.removeOf(chat); a == nil && len(w.spares) > 0 {
		a, w.spares = w.spares[0], w.spares[1:]
	}
	return a
}

// removeOf removes the agent of a chat from the list; nil: there is none. The caller has locked mu.
func (w *warmAgents) removeOf(chat string) *warmAgent {
	i := slices.IndexFunc(w.chats, func(a *warmAgent) bool { return a.chat == chat })
	if i < 0 {
		return nil
	}
	a := w.chats[i]
	w.chats = slices.Delete(w.chats, i, i+1)
	return a
}

// discard ends the process of an agent that is in no list. The reason is logged unless it is "".
func (w *warmAgents) discard(a *warmAgent, reason string) {
	<-a.started
	if a.child == nil {
		return
	}
	if reason != "" {
		w.runner.o.Log.Info("cold start instead of the process that was waiting", zap.String("chat", a.chat), zap.String("reason", reason))
	}
	a.expiry.Stop()
	a.child.Kill()
	go func() {
		defer w.all.Done()
		a.child.Wait()
	}()
}

// end ends the process that waits for a chat.
func (w *warmAgents) end(chat string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	a := w.removeOf(chat)
	w.mu.Unlock()
	if a != nil {
		w.discard(a, "")
	}
}

// close ends all processes and waits for them.
func (w *warmAgents) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	all := slices.Concat(w.chats, w.spares)
	w.chats, w.spares, w.closed = nil, nil, true
	w.mu.Unlock()
	for _, a := range all {
		w.discard(a, "")
	}
	w.all.Wait()
}

// killWaiting ends the process that was waiting for the turn, if the turn has not used it.
func (t *turn) killWaiting() {
	if t.waiting != nil {
		t.waiting.child.Kill()
		t.waiting.child.Wait()
	}
}

// begin gives the process its message and ties it to a turn.
func (a *warmAgent) begin(ctx context.Context, t *turn, in Input) *Agent {
	before := a.child.Usage()
	a.child.SetOwner(t.owner())
	agent := bind(ctx, a.child, in.onStop)
	agent.firstInput = len(in.First)
	agent.reportUsage = func(u process.Usage) {
		u.CPU -= before.CPU
		t.used.add(u)
	}
	t.Report(Launched(agent.Pid()))
	a.child.SetInput(in.First, in.KeepOpen)
	return agent
}
