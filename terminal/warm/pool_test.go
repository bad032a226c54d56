package warm_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/warm"
)

const (
	idleTime = 10 * time.Minute
	// dyingTime is how long a fakeProcess takes to die.
	dyingTime = time.Second
)

// fakeProcess takes a while to die, as a process does.
type fakeProcess struct {
	name string
	bad  bool // it is not reusable

	memory   int64
	measured int  // how often
	inUse    bool // between turns

	mu     sync.Mutex
	closed int
	dead   bool
}

func (f *fakeProcess) Reusable() bool { return !f.bad }

func (f *fakeProcess) InUse() bool { return f.inUse }

func (f *fakeProcess) Memory() int64 {
	f.measured++
	return f.memory
}

func (f *fakeProcess) Close() {
	f.mu.Lock()
	f.closed++
	f.mu.Unlock()
	time.Sleep(dyingTime)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *fakeProcess) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *fakeProcess) timesClosed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

type pool = warm.Pool[*fakeProcess]

func newPool(maxKept int) *pool {
	return &pool{IdleTime: idleTime, Room: warm.Room{MaxProcesses: maxKept}}
}

// inPool runs a test in a synctest bubble, and closes the pool at its end.
func inPool(t *testing.T, maxKept int, f func(t *testing.T, p *pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(maxKept)
		defer p.Close()
		f(t, p)
	})
}

func acquire(t *testing.T, p *pool, chat string) *warm.Entry[*fakeProcess] {
	t.Helper()
	e := musttest.Get(p.Acquire(t.Context(), chat, ""))(t)
	return e
}

// turn runs a turn of a chat, which starts a process if there is none.
func runTurn(t *testing.T, p *pool, chat string) *fakeProcess {
	t.Helper()
	e := acquire(t, p, chat)
	defer e.Release()
	return processOf(e, chat)
}

func processOf(e *warm.Entry[*fakeProcess], name string) *fakeProcess {
	process, ok := e.Process()
	if !ok {
		process = &fakeProcess{name: name}
		e.SetProcess(process)
	}
	return process
}

// wantIdle compares the chats whose processes no turn uses.
func wantIdle(t *testing.T, p *pool, want ...string) {
	t.Helper()
	wanttest.EqualSlices(t, "idle are", slices.Sorted(maps.Keys(p.Idle())), want)
}

func TestTheNextTurnGetsTheSameProcess(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		first, other := runTurn(t, p, "a"), runTurn(t, p, "b")
		if runTurn(t, p, "a") != first || first == other {
			t.Error("it is another one")
		}
		all := maps.Collect(p.All())
		if len(all) != 2 || all["a"] != first || all["b"] != other {
			t.Errorf("the pool has %v", all)
		}
	})
}

func TestAPoolEndsAProcessThatIsIdleForLong(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		a := runTurn(t, p, "a")
		time.Sleep(idleTime - time.Second)
		b := runTurn(t, p, "a") // which starts the time again
		time.Sleep(idleTime - time.Second)
		synctest.Wait()
		if a != b || a.timesClosed() != 0 {
			t.Fatal("it was ended too early")
		}
		time.Sleep(time.Second + dyingTime)
		synctest.Wait()
		if !a.isDead() || a.timesClosed() != 1 {
			t.Errorf("closed %d times, dead %v", a.timesClosed(), a.isDead())
		}
		wantIdle(t, p)
		if runTurn(t, p, "a") == a {
			t.Error("a dead process is used again")
		}
	})
}

func TestAPoolEndsNoProcessDuringATurn(t *testing.T) {
	inPool(t, 1, func(t *testing.T, p *pool) {
		e := acquire(t, p, "a")
		a := processOf(e, "a")
		time.Sleep(2 * idleTime)
		b := runTurn(t, p, "b") // there is no room for it, but only once its turn is over
		p.End("a")
		p.ReportDeath("a", a)
		time.Sleep(dyingTime)
		synctest.Wait()
		if a.timesClosed() != 0 || !b.isDead() {
			t.Errorf("a was closed %d times, b is dead: %v", a.timesClosed(), b.isDead())
		}
		e.Release()
		wantIdle(t, p, "a")
	})
}

func TestAPoolEndsTheProcessLongestIdleFirst(t *testing.T) {
	inPool(t, 3, func(t *testing.T, p *pool) {
		processes := map[string]*fakeProcess{}
		for _, chat := range []string{"a", "b", "c", "a"} {
			processes[chat] = runTurn(t, p, chat)
			time.Sleep(time.Second)
		}
		wantIdle(t, p, "a", "b", "c")
		for _, step := range []struct {
			chat string
			idle []string
		}{{"d", []string{"a", "c", "d"}}, {"e", []string{"a", "d", "e"}}, {"f", []string{"d", "e", "f"}}} {
			runTurn(t, p, step.chat)
			wantIdle(t, p, step.idle...)
			time.Sleep(time.Second)
		}
		time.Sleep(dyingTime)
		synctest.Wait()
		for name, process := range processes {
			if !process.isDead() {
				t.Errorf("%s lives on", name)
			}
		}
	})
}

func TestAPoolMakesRoomAsSoonAsAProcessIsStarted(t *testing.T) {
	inPool(t, 1, func(t *testing.T, p *pool) {
		a := runTurn(t, p, "a")
		e := acquire(t, p, "b")
		b := processOf(e, "b")
		time.Sleep(dyingTime)
		synctest.Wait()
		if !a.isDead() || b.timesClosed() != 0 {
			t.Errorf("a is dead: %v, b was closed %d times", a.isDead(), b.timesClosed())
		}
		e.Release()
		wantIdle(t, p, "b")
	})
}

func TestAProcessThatCannotBeUsedAgainIsDeadWhenItsTurnIsReleased(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		e := acquire(t, p, "a")
		a := processOf(e, "a")
		a.bad = true
		e.Release()
		if !a.isDead() {
			t.Error("it lives")
		}
		wantIdle(t, p)
	})
}

func TestTheNextTurnWaitsUntilAnUnusableProcessIsDead(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		e := acquire(t, p, "a")
		a := processOf(e, "a")
		a.bad = true
		next := make(chan *fakeProcess)
		go func() { next <- runTurn(t, p, "a") }()
		synctest.Wait()
		e.Release()
		if b := <-next; b == a || !a.isDead() {
			t.Errorf("the same: %v, dead: %v", b == a, a.isDead())
		}
	})
}

func TestAProcessThatDiesWhileIdleIsForgotten(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		a := runTurn(t, p, "a")
		p.ReportDeath("a", &fakeProcess{name: "an earlier one"})
		wantIdle(t, p, "a")
		p.ReportDeath("a", a)
		wantIdle(t, p)
		time.Sleep(2 * idleTime) // the timer has nothing to end
		synctest.Wait()
		wanttest.Equal(t, "it was closed … times:", a.timesClosed(), 1)
		if runTurn(t, p, "a") == a {
			t.Error("it is used again")
		}
	})
}

func TestAProcessIsEndedForOneChatOnly(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		a, b := runTurn(t, p, "a"), runTurn(t, p, "b")
		p.End("a")
		p.End("unknown")
		wantIdle(t, p, "b")
		time.Sleep(dyingTime)
		synctest.Wait()
		if !a.isDead() || b.timesClosed() != 0 {
			t.Errorf("a is dead: %v, b was closed %d times", a.isDead(), b.timesClosed())
		}
	})
}

func TestTheTurnsOfAChatRunOneAfterAnother(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		first := acquire(t, p, "a")
		var order []string
		var all sync.WaitGroup
		all.Go(func() {
			e := acquire(t, p, "a")
			defer e.Release()
			order = append(order, "second")
		})
		acquire(t, p, "b").Release() // of another chat
		synctest.Wait()
		order = append(order, "first")
		first.Release()
		all.Wait()
		wanttest.EqualSlices(t, "got", order, []string{"first", "second"})
	})
}

func TestATurnThatIsStoppedWhileItWaitsLeavesTheProcessToExpire(t *testing.T) {
	for range 100 { // which of the two turns goes first is not known
		inPool(t, 10, func(t *testing.T, p *pool) {
			e := acquire(t, p, "a")
			a := processOf(e, "a")
			ctx, stop := context.WithCancelCause(t.Context())
			over := errors.New("over")
			failed := make(chan error)
			go func() {
				_, err := p.Acquire(ctx, "a", "")
				failed <- err
			}()
			synctest.Wait()
			stop(over)
			e.Release()
			if err := <-failed; !errors.Is(err, over) {
				t.Error(err)
			}
			wantIdle(t, p, "a")
			time.Sleep(idleTime + dyingTime)
			synctest.Wait()
			if !a.isDead() {
				t.Fatal("it lives for ever")
			}
		})
	}
}

func TestTheUsersOfAProcessAreThoseWhoHadATurn(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		for _, user := range []string{"ann", "bob", "", "ann"} {
			e := musttest.Get(p.Acquire(t.Context(), "a", user))(t)
			processOf(e, "a")
			e.Release()
		}
		if idle := p.Idle(); len(idle) != 1 || !slices.Equal(idle["a"], []string{"ann", "bob"}) {
			t.Errorf("%+v", idle)
		}
		p.End("a")
		runTurn(t, p, "a")
		if idle := p.Idle(); len(idle) != 1 || len(idle["a"]) != 0 {
			t.Errorf("the next process has worked for %+v", idle)
		}
	})
}

func TestClosingAPoolWaitsForTheDeathOfIdleProcesses(t *testing.T) {
	inPool(t, 1, func(t *testing.T, p *pool) {
		a, b := runTurn(t, p, "a"), runTurn(t, p, "b") // a is being ended when Close comes
		p.Close()
		if !a.isDead() || !b.isDead() || a.timesClosed() != 1 || b.timesClosed() != 1 {
			t.Errorf("dead: %v, %v", a.isDead(), b.isDead())
		}
	})
}

func TestAPoolThatIsClosedDuringATurnKeepsNothing(t *testing.T) {
	inPool(t, 10, func(t *testing.T, p *pool) {
		e := acquire(t, p, "a")
		a := processOf(e, "a")
		p.Close()
		if a.timesClosed() != 0 {
			t.Error("it was ended under the turn")
		}
		e.Release()
		if !a.isDead() {
			t.Error("it is kept")
		}
		if b := runTurn(t, p, "a"); b == a || !b.isDead() {
			t.Error("a later turn keeps its process")
		}
		wantIdle(t, p)
	})
}

func TestAPoolThatIsClosedWhileATurnWaitsKeepsNothing(t *testing.T) {
	for range 100 {
		inPool(t, 10, func(t *testing.T, p *pool) {
			e := acquire(t, p, "a")
			a := processOf(e, "a")
			ctx, stop := context.WithCancel(t.Context())
			failed := make(chan error)
			go func() {
				_, err := p.Acquire(ctx, "a", "")
				failed <- err
			}()
			synctest.Wait()
			stop()
			e.Release()
			p.Close()
			if err := <-failed; err == nil {
				t.Error("it was acquired")
			}
			if !a.isDead() {
				t.Fatal("it is kept")
			}
		})
	}
}
