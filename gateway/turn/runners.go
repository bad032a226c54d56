package turn

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

// runners closes each runner once: when it was replaced and its last turn has ended.
type runners struct {
	mu      sync.Mutex
	current map[Runner]bool // runners of new turns
	busy    map[Runner]int  // number of turns per runner
	closing sync.WaitGroup
}

// replace makes next the runners of new turns. Turns that begin meanwhile wait for announce.
func (r *runners) replace(next []Runner, announce func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	announce()
	last := r.current
	r.current = map[Runner]bool{}
	for _, runner := range next {
		r.current[runner] = true
	}
	for runner := range last {
		if !r.current[runner] && r.busy[runner] == 0 && runner != nil {
			r.closing.Go(runner.Close)
		}
	}
}

// acquire counts a turn of the runner that announced returns. The turn calls release when its agent
// has ended.
func (r *runners) acquire(announced func() Runner) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	runner := announced()
	if r.busy == nil {
		r.busy = map[Runner]int{}
	}
	r.busy[runner]++
	return func() { r.release(runner) }
}

func (r *runners) release(runner Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[runner]--; r.busy[runner] > 0 {
		return
	}
	delete(r.busy, runner)
	if !r.current[runner] && runner != nil {
		r.closing.Go(runner.Close)
	}
}

// closeAll closes the remaining runners and waits for them, at most for the given timeout.
func (r *runners) closeAll(timeout time.Duration, log *zap.Logger) {
	r.replace(nil, func() {})
	closed := make(chan struct{})
	go func() {
		r.closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(timeout):
		log.Error("agents did not end in time")
	}
}
