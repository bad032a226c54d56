package gateway_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// use is what a process holds.
type use struct{ goroutines, files, heap int }

func measure(t *testing.T) use {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("descriptors cannot be counted here: %v", err)
	}
	return use{runtime.NumGoroutine(), len(files), int(m.HeapAlloc)}
}

// readerFiles is how many files the store's connections for reading open, two each, when they are
// first needed, which may be at any time.
const readerFiles = 6

// settles waits until no more is held than before, but for some slack.
func settles(t *testing.T, before, slack use) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		now := measure(t)
		if now.goroutines <= before.goroutines+slack.goroutines && now.files <= before.files+slack.files && now.heap <= before.heap+slack.heap {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("held %+v before, %+v now\n%s", before, now, buf[:runtime.Stack(buf, true)])
		}
	}
}

// turns has people ask side by side, so often in all.
func turns(t *testing.T, asks []func() error, n int) {
	t.Helper()
	var g sync.WaitGroup
	for _, ask := range asks {
		g.Go(func() {
			for range n / len(asks) {
				if err := ask(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
}

// TestManyTurnsLeaveNothingBehind runs some hundred turns, or 10,000 with NANOBOT_LONG=1.
func TestManyTurnsLeaveNothingBehind(t *testing.T) {
	n := 320
	if long() {
		n = 10_000
	}
	others := goleak.IgnoreCurrent()
	l := newLoop()
	stop := benchGateway(t, t.TempDir(), trivial, l, nil)
	var asks []func() error
	for i := range 16 {
		asks = append(asks, l.asker(fmt.Sprintf("w%d-", i)))
	}
	turns(t, asks, 160) // after these, everything that is kept for later is there
	before := measure(t)
	turns(t, asks, n)
	settles(t, before, use{files: readerFiles, heap: 1 << 20})
	noZombies(t)
	stop()
	goleak.VerifyNone(t, others)
}

// TestAChatThatIsIdleCostsNothing has 500 chats talk once, or 10,000 with NANOBOT_LONG=1.
func TestAChatThatIsIdleCostsNothing(t *testing.T) {
	n := 500
	if long() {
		n = 10_000
	}
	l := newLoop()
	benchGateway(t, t.TempDir(), trivial, l, nil)
	var next sync.Mutex
	chat := 0
	var asks []func() error
	for range 32 {
		asks = append(asks, func() error {
			next.Lock()
			chat++
			name := "c" + strconv.Itoa(chat)
			next.Unlock()
			answered := make(chan struct{})
			l.waiting.Store(name, answered)
			defer l.waiting.Delete(name)
			if err := l.say(name, "hello"); err != nil {
				return err
			}
			<-answered
			return nil
		})
	}
	turns(t, asks, 160)
	before := measure(t)
	turns(t, asks, n)
	settles(t, before, use{files: readerFiles, heap: 1 << 20})
}
