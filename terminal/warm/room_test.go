package warm_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/wanttest"
	"nanobot/terminal/warm"
)

const mib = 1 << 20

// inRoom runs a test in a synctest bubble with a pool of 10 MiB that keeps at least two processes.
func inRoom(t *testing.T, f func(t *testing.T, p *pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(0)
		p.MaxMemory, p.MinProcesses = 10*mib, 2
		p.Keys = map[warm.Limit]string{warm.MemoryLimit: "some.memory", warm.CountLimit: "some.count"}
		defer p.Close()
		f(t, p)
	})
}

// useMemory runs a turn of a chat whose process then has this much memory.
func useMemory(t *testing.T, p *pool, chat string, bytes int64) *fakeProcess {
	t.Helper()
	e := acquire(t, p, chat)
	defer e.Release()
	process := processOf(e, chat)
	process.memory = bytes
	return process
}

func TestAPoolKeepsAsManyProcessesAsFitIntoItsMemory(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		var all []string
		for i := range 100 {
			chat := fmt.Sprintf("small%02d", i)
			useMemory(t, p, chat, mib/10)
			all = append(all, chat)
			time.Sleep(time.Second)
		}
		wantIdle(t, p, all...)
		big := useMemory(t, p, "big", 8*mib)
		wantIdle(t, p, append([]string{"big"}, all[80:]...)...)
		time.Sleep(time.Minute)
		useMemory(t, p, "small99", 7*mib)
		wantIdle(t, p, "big", "small99") // of which at least two are kept
		useMemory(t, p, "third", mib)
		wantIdle(t, p, "small99", "third")
		time.Sleep(dyingTime)
		synctest.Wait()
		wanttest.Equal(t, "the big one was closed … times:", big.timesClosed(), 1)
	})
}

func TestTheMemoryOfAProcessThatIsGoneIsFree(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		useMemory(t, p, "a", 6*mib)
		useMemory(t, p, "b", 6*mib)
		p.End("a")
		useMemory(t, p, "c", 2*mib)
		useMemory(t, p, "d", 2*mib)
		wantIdle(t, p, "b", "c", "d")
		e := acquire(t, p, "b")
		process, _ := e.Process()
		process.bad = true
		e.Release()
		e = acquire(t, p, "e")
		processOf(e, "first")
		e.RemoveProcess()
		processOf(e, "second").memory = 5 * mib
		e.Release()
		useMemory(t, p, "f", mib)
		wantIdle(t, p, "c", "d", "e", "f")
	})
}

func TestTheMemoryOfAProcessIsMeasuredEveryTenSeconds(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		a := runTurn(t, p, "a")
		for range 100 {
			runTurn(t, p, "a")
			time.Sleep(time.Second)
		}
		wanttest.Equal(t, "it was measured … times:", a.measured, 10)
	})
	inPool(t, 1, func(t *testing.T, p *pool) {
		wanttest.Equal(t, "without a limit it was measured … times:", runTurn(t, p, "a").measured, 0)
	})
}

func TestTheLastMeasurementOfAProcessCounts(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		chats := []string{"a", "b", "c"}
		for range 10 {
			for _, chat := range chats {
				useMemory(t, p, chat, 3*mib)
				time.Sleep(time.Minute)
			}
		}
		wantIdle(t, p, chats...)
		useMemory(t, p, "c", 5*mib)
		wantIdle(t, p, "b", "c")
		time.Sleep(time.Minute)
		useMemory(t, p, "c", mib)
		useMemory(t, p, "d", 6*mib)
		wantIdle(t, p, "b", "c", "d")
	})
}

func TestAProcessThatReplacesAnotherCountsOnce(t *testing.T) {
	inPool(t, 2, func(t *testing.T, p *pool) {
		runTurn(t, p, "a")
		e := acquire(t, p, "b")
		e.SetProcess(&fakeProcess{name: "first"})
		e.SetProcess(&fakeProcess{name: "second"})
		e.Release()
		wantIdle(t, p, "a", "b")
	})
}

func TestProcessesInUseAreEndedLast(t *testing.T) {
	inPool(t, 2, func(t *testing.T, p *pool) {
		for _, chat := range []string{"a", "b", "c"} {
			runTurn(t, p, chat).inUse = chat != "b"
			time.Sleep(time.Second)
		}
		wantIdle(t, p, "a", "c")
		e := acquire(t, p, "d")
		processOf(e, "d")
		wantIdle(t, p, "a", "c") // there is nobody to be told of their end
		var limits []warm.Limit
		p.OnLimit = func(_ *fakeProcess, limit warm.Limit) { limits = append(limits, limit) }
		e.Release()
		wantIdle(t, p, "a", "c") // d is ended, which is not in use
		e = acquire(t, p, "e")
		processOf(e, "e").inUse = true
		e.Release()
		wantIdle(t, p, "c", "e")
		time.Sleep(dyingTime)
		synctest.Wait()
		wanttest.EqualSlices(t, "told of", limits, []warm.Limit{warm.CountLimit})
	})
}

func TestAMaximumNumberHoldsAlsoIfThereIsMemory(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		p.MaxProcesses = 1
		useMemory(t, p, "a", 0)
		useMemory(t, p, "b", 0)
		wantIdle(t, p, "b")
		wantRestarts(t, p, 0, "")
		useMemory(t, p, "a", 0)
		wantRestarts(t, p, 1, "some.count")
	})
}

func wantRestarts(t *testing.T, p *pool, count int, key string) {
	t.Helper()
	if n, name := p.Restarts(); n != count || name != key {
		t.Errorf("%d restarts for %q, want %d for %q", n, name, count, key)
	}
}

func TestAProcessThatWouldHaveBeenKeptCountsAsRestarted(t *testing.T) {
	inRoom(t, func(t *testing.T, p *pool) {
		chats := []string{"a", "b", "c"}
		for _, chat := range chats { // a is ended for c
			useMemory(t, p, chat, 6*mib)
			time.Sleep(time.Second)
		}
		wantRestarts(t, p, 0, "")
		useMemory(t, p, "a", 6*mib) // b is ended
		wantRestarts(t, p, 1, "some.memory")
		useMemory(t, p, "a", 6*mib)
		wantRestarts(t, p, 1, "some.memory")
		p.End("a") // for another reason
		useMemory(t, p, "a", 6*mib)
		wantRestarts(t, p, 1, "some.memory")
		time.Sleep(idleTime)
		synctest.Wait()
		useMemory(t, p, "b", 6*mib) // which would have expired by now
		wantRestarts(t, p, 1, "some.memory")
	})
}

func TestATurnThatDidNotRunLeavesAProcessTheLongestIdle(t *testing.T) {
	stopped := 0
	for range 100 { // a turn that is stopped already may run nevertheless
		inPool(t, 2, func(t *testing.T, p *pool) {
			runTurn(t, p, "a")
			time.Sleep(time.Second)
			runTurn(t, p, "b")
			ctx, stop := context.WithCancel(t.Context())
			stop()
			e, err := p.Acquire(ctx, "a", "")
			if err == nil {
				e.Release()
				return
			}
			stopped++
			runTurn(t, p, "c")
			wantIdle(t, p, "b", "c")
		})
	}
	if stopped == 0 {
		t.Error("every turn ran")
	}
}
