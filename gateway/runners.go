package gateway

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/terminal"
)

// runners sees to it that each runner is closed once: when another one has taken its place, and its last turn has ended.
type runners struct {
	mu   sync.Mutex
	now  *terminal.Runner
	busy map[*terminal.Runner]int // turns
	work sync.WaitGroup
}

// appoint makes a runner that of the next turns; nil: there are no more. Those that begin meanwhile wait for announce.
func (r *runners) appoint(next *terminal.Runner, announce func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	announce()
	last := r.now
	if r.now = next; last != nil && last != next && r.busy[last] == 0 {
		r.work.Go(last.Close)
	}
}

// use says that a turn begins, with the runner that is announced. The turn calls done when it has ended.
func (r *runners) use(announced func() *terminal.Runner) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	runner := announced()
	if r.busy == nil {
		r.busy = map[*terminal.Runner]int{}
	}
	r.busy[runner]++
	return func() { r.done(runner) }
}

func (r *runners) done(runner *terminal.Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[runner]--; r.busy[runner] > 0 {
		return
	}
	delete(r.busy, runner)
	if runner != r.now && runner != nil {
		r.work.Go(runner.Close)
	}
}

// end closes what is left and waits for that, but not for ever: a turn that was left behind may never end, and its agents die with us.
func (r *runners) end(patience time.Duration, log *zap.Logger) {
	r.appoint(nil, func() {})
	closed := make(chan struct{})
	go func() {
		r.work.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		log.Error("agents do not end")
	}
}
