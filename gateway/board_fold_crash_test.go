package gateway_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
)

// isFoldedOnce reports whether a chat shows the answer and, once, the details of the steps, and
// nothing else: no button of a turn that has ended.
func isFoldedOnce(calls []gatewaytest.Call) bool {
	answers, folds, buttons := 0, 0, 0
	for _, c := range calls {
		buttons += len(c.Buttons)
		if c.Text == "All done." {
			answers++
		}
		if c.Details == "run 1\nrun 2" && strings.Contains(c.Text, "2 steps") {
			folds++
		}
	}
	return answers == 1 && folds == 1 && buttons == 0 && len(calls) == 2
}

// stepsCommand is an agent with two steps, which answers when the file go exists.
func stepsCommand() string {
	return "echo step run 1; echo step run 2; " + waitForFileScript("go") + "echo All done."
}

func TestWhatOnlyTheBoardHasIsShownOnceAfterACrashAtAnyWriteOfItsEnd(t *testing.T) {
	t.Parallel()
	for method, c := range map[string]struct {
		number  int
		refused bool // the edit that folds the board, so that a message replaces it
	}{"Finish": {1, false}, "EndFold": {1, false}, "ReplaceFold": {1, true}, "Enqueue": {2, true}, "Settle": {2, true}} {
		for _, after := range []bool{false, true} {
			at := storeWrite{method, c.number, after}
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				fx := newFixture(t, stepsCommand())
				fx.protocol, fx.settings.OnCrash, fx.net.Idempotent = stepsProtocol{required: true}, "retry", true
				var mu sync.Mutex
				refused := c.refused
				fx.net.EditFault = func(c gatewaytest.Call) gatewaytest.Fault {
					mu.Lock()
					defer mu.Unlock()
					if c.Details != "" && refused {
						return gatewaytest.Fault{Status: http.StatusForbidden}
					}
					return gatewaytest.Fault{}
				}
				fx.startCrashing(at)
				fx.net.UserWrites("1", "u", "work")
				fx.awaitText("1", "run 2")
				fx.touchFile("go")
				fx.awaitCrash()
				mu.Lock()
				refused = false // the next start could fold the board
				mu.Unlock()
				fx.wrapStore, fx.abandonAfter = nil, 0
				fx.start()
				fx.net.Await("1", testTimeout, isFoldedOnce)
				fx.stop()
				if all := fx.net.Sent("1"); !isFoldedOnce(all) {
					t.Errorf("left are %+v", all)
				}
			})
		}
	}
}

// foldKill is where a daemon is killed while it ends a board.
type foldKill struct {
	name string
	// faults returns the faults of sends and edits. It calls kill at the right moment.
	faults func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault)
}

var foldKills = []foldKill{
	{"before the answer", func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault) {
		return func(c gatewaytest.Call) gatewaytest.Fault { return killIf(c.Text == "All done.", kill) }, nil
	}},
	{"before the edit", func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault) {
		return nil, func(c gatewaytest.Call) gatewaytest.Fault { return killIf(c.Details != "", kill) }
	}},
	{"after the edit", func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault) {
		return nil, func(c gatewaytest.Call) gatewaytest.Fault {
			if c.Details == "" {
				return gatewaytest.Fault{}
			}
			go kill()
			return gatewaytest.Fault{DelayAfter: testTimeout} // until the connection is gone
		}
	}},
	{"before the message that replaces the board", func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault) {
		return func(c gatewaytest.Call) gatewaytest.Fault { return killIf(c.Details != "", kill) },
			func(c gatewaytest.Call) gatewaytest.Fault {
				if c.Details != "" {
					return gatewaytest.Fault{Status: http.StatusForbidden}
				}
				return gatewaytest.Fault{}
			}
	}},
}

func killIf(so bool, kill func()) gatewaytest.Fault {
	if !so {
		return gatewaytest.Fault{}
	}
	kill()
	return gatewaytest.Fault{Status: http.StatusInternalServerError}
}

// TestKillingTheDaemonAroundTheFoldOfABoardLosesAndDoublesNothing kills a daemon with SIGKILL at
// the calls that end a board. With NANOBOT_LONG=1 it is also killed at 100 random moments after the
// end of the agent.
func TestKillingTheDaemonAroundTheFoldOfABoardLosesAndDoublesNothing(t *testing.T) {
	for _, k := range foldKills {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			killAroundFold(t, k)
		})
	}
	if !killtest.IsLong() {
		return
	}
	seed := killtest.Seed()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	})
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		killAroundFold(t, foldKill{"at random", func(kill func()) (send, edit func(gatewaytest.Call) gatewaytest.Fault) {
			moment := time.Duration(random.Int64N(int64(30 * time.Millisecond)))
			return func(c gatewaytest.Call) gatewaytest.Fault {
				if c.Text == "All done." {
					time.AfterFunc(moment, kill)
				}
				return gatewaytest.Fault{}
			}, nil
		}})
	}
}

// killAroundFold kills a daemon and looks at what the next one leaves.
func killAroundFold(t *testing.T, k foldKill) {
	t.Helper()
	// A board that is not folded after 1.75 seconds is replaced by a message.
	pausetest.Try(t, 500*time.Millisecond, func() error { return tryToKillAroundFold(t, k) })
}

// tryToKillAroundFold returns an error if the daemon has replaced its board before it was killed.
func tryToKillAroundFold(t *testing.T, k foldKill) error {
	t.Helper()
	net := gatewaytest.NewNetwork()
	t.Cleanup(net.Close)
	net.Idempotent = true
	dir := t.TempDir()
	prepareState(t, filepath.Join(dir, ".nanobot"))
	spec := daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: stepsCommand(), Steps: true, OnCrash: "retry", Number: 1,
		Networks: []networkSpec{{Name: "net", URL: net.URL, Idempotent: true}},
	}
	var killed atomic.Bool
	var mu sync.Mutex
	var first *killtest.Child
	var send, edit func(gatewaytest.Call) gatewaytest.Fault
	fault := func(current *func(gatewaytest.Call) gatewaytest.Fault) func(gatewaytest.Call) gatewaytest.Fault {
		return func(c gatewaytest.Call) gatewaytest.Fault {
			mu.Lock()
			do := *current
			mu.Unlock()
			if do == nil {
				return gatewaytest.Fault{}
			}
			return do(c)
		}
	}
	net.Fault, net.EditFault = fault(&send), fault(&edit)
	send, edit = k.faults(sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		first.Kill()
		send, edit = nil, nil // the next daemon is not killed
		killed.Store(true)
	}))
	net.UserWrites("1", "u", "work")
	mu.Lock()
	first = startDaemon(t, spec)
	mu.Unlock()
	begun, ok := net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
		return len(calls) == 1 && strings.Contains(calls[0].Text, "run 2")
	})
	if !ok {
		t.Fatalf("the chat does not show the board, but %+v", begun)
	}
	wasReplaced := func() bool {
		all := net.Sent("1")
		return isFoldedOnce(all) && !slices.ContainsFunc(all, func(c gatewaytest.Call) bool { return c.ID == begun[0].ID })
	}
	// A board that is not recorded yet is left in the chat: the next daemon does not know its ID.
	for deadline := time.Now().Add(testTimeout); countBoards(t, spec.State) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the board is not recorded")
		}
	}
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for deadline := time.Now().Add(testTimeout); !killed.Load(); time.Sleep(5 * time.Millisecond) {
		if wasReplaced() {
			mu.Lock()
			defer mu.Unlock()
			first.Kill()
			return errors.New("the daemon has replaced its board by a message")
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("the daemon was not killed %s; it logged:\n%s", k.name, log)
		}
	}
	spec.Number++
	_, polls := net.Acknowledged()
	last := startDaemon(t, spec)
	net.Await("1", testTimeout, isFoldedOnce)
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, now := net.Acknowledged(); now > polls { // it has cleaned up after the first one
			break
		}
	}
	if err := last.End(); err != nil {
		t.Error(err)
	}
	if all := net.Sent("1"); !isFoldedOnce(all) {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Errorf("killed %s; left are %+v; the daemons logged:\n%s", k.name, all, log)
	}
	return nil
}
