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

	"nanobot/internal/killtest"
)

// resourceUse counts the resources of a process.
type resourceUse struct{ goroutines, files, heap int }

func measureResources(t *testing.T) resourceUse {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("descriptors cannot be counted here: %v", err)
	}
	return resourceUse{runtime.NumGoroutine(), len(files), int(m.HeapAlloc)}
}

// readerFiles is how many files the store's connections for reading open, two each, when they are
// first needed, which may be at any time.
const readerFiles = 6

// awaitResources waits until no more resources are used than before, except for some slack.
func awaitResources(t *testing.T, before, slack resourceUse) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(20 * time.Millisecond) {
		now := measureResources(t)
		if now.goroutines <= before.goroutines+slack.goroutines && now.files <= before.files+slack.files && now.heap <= before.heap+slack.heap {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("held %+v before, %+v now\n%s", before, now, buf[:runtime.Stack(buf, true)])
		}
	}
}

// runTurns calls the functions in parallel, n times in total.
func runTurns(t *testing.T, asks []func() error, n int) {
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
	n := killtest.Rounds(t, 320, 10_000)
	others := goleak.IgnoreCurrent()
	l := newLoopChannel()
	stop := benchGateway(t, t.TempDir(), trivial, l, nil)
	var asks []func() error
	for i := range 16 {
		asks = append(asks, l.newAsker(fmt.Sprintf("w%d-", i)))
	}
	runTurns(t, asks, 160) // after these, everything that is kept for later is there
	before := measureResources(t)
	runTurns(t, asks, n)
	awaitResources(t, before, resourceUse{files: readerFiles, heap: 1 << 20})
	checkNoZombies(t)
	stop()
	goleak.VerifyNone(t, others)
}

// TestAChatThatIsIdleCostsNothing has 500 chats talk once, or 10,000 with NANOBOT_LONG=1.
func TestAChatThatIsIdleCostsNothing(t *testing.T) {
	n := killtest.Rounds(t, 500, 10_000)
	l := newLoopChannel()
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
			if err := l.receiveText(name, "hello"); err != nil {
				return err
			}
			<-answered
			return nil
		})
	}
	runTurns(t, asks, 160)
	before := measureResources(t)
	runTurns(t, asks, n)
	awaitResources(t, before, resourceUse{files: readerFiles, heap: 1 << 20})
}
