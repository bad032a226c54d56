package turn

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

// runners closes each runner once: when another one has taken its place, and its last turn has
// ended.
type runners struct {
	mu   sync.Mutex
	now  map[Runner]bool // those of the next turns
	busy map[Runner]int  // turns
	work sync.WaitGroup
}

// swap makes these runners those of the next turns. Turns that begin meanwhile wait for announce.
func (r *runners) swap(next []Runner, announce func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	announce()
	last := r.now
	r.now = map[Runner]bool{}
	for _, runner := range next {
		r.now[runner] = true
	}
	for runner := range last {
		if !r.now[runner] && r.busy[runner] == 0 && runner != nil {
			r.work.Go(runner.Close)
		}
	}
}

// use counts a turn of the runner that announced returns. The turn calls done when its agent has
// ended.
func (r *runners) use(announced func() Runner) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	runner := announced()
	if r.busy == nil {
		r.busy = map[Runner]int{}
	}
	r.busy[runner]++
	return func() { r.done(runner) }
}

func (r *runners) done(runner Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[runner]--; r.busy[runner] > 0 {
		return
	}
	delete(r.busy, runner)
	if !r.now[runner] && runner != nil {
		r.work.Go(runner.Close)
	}
}

// end closes what is left and waits for that, as long as patience lasts.
func (r *runners) end(patience time.Duration, log *zap.Logger) {
	r.swap(nil, func() {})
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
