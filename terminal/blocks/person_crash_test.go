package blocks_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/internal/killtest"
)

// fakePerson saves the responses of carefulModel in the inbox, one for each outbox.
type fakePerson struct {
	t         *testing.T
	workspace string
	random    *rand.Rand
	child     *killtest.Child
	log       *strings.Builder
	ended     <-chan error
}

func (h *fakePerson) start() { h.child, h.log, h.ended = startTurn(h.t, h.workspace, "person") }

func (h *fakePerson) path(parts ...string) string {
	return filepath.Join(append([]string{h.workspace, "users", "1", "blocks"}, parts...)...)
}

// exists reports whether a file of a round exists in a folder.
func (h *fakePerson) exists(folder string, round int) bool {
	names, _ := filepath.Glob(h.path(folder, fmt.Sprintf("*_seq%04d.txt", round)))
	return len(names) > 0
}

// await waits for a condition, and reports false if the turn is done before.
func (h *fakePerson) await(what string, met func() bool) bool {
	h.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for !met() {
		select {
		case err := <-h.ended:
			if err != nil {
				h.t.Fatalf("the turn failed: %v\n%s", err, h.log.String())
			}
			return false
		case <-deadline:
			h.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
	return true
}

// saveResponse saves the response to an outbox, as an editor does: under another name first.
func (h *fakePerson) saveResponse(round int) {
	h.t.Helper()
	names, _ := filepath.Glob(h.path("outbox", fmt.Sprintf("*_seq%04d.txt", round)))
	outbox, err := os.ReadFile(names[0])
	if err == nil {
		err = os.WriteFile(h.path("inbox", "saving"), []byte(carefulResponse(string(outbox))), 0o600)
	}
	if err == nil {
		err = os.Rename(h.path("inbox", "saving"), h.path("inbox", fmt.Sprintf("answer %d.txt", round)))
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// killTurn kills the turn while it waits for the response of a round or, more often, soon after it
// has read the response.
func (h *fakePerson) killTurn(round int) (killed bool) {
	pause := time.Duration(h.random.IntN(1500)) * time.Millisecond
	if h.random.IntN(4) > 0 {
		taken := func() bool { return h.exists("inbox", round) || h.exists("outbox", round+1) }
		if !h.await("the answer to be taken", taken) {
			return false
		}
		pause = time.Duration(h.random.IntN(150)) * time.Millisecond
	}
	over := time.After(pause)
	expired := func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	}
	if !h.await("the pause to end", expired) {
		return false
	}
	_ = h.child.Signal(os.Kill)
	<-h.ended
	return true
}

// answerAll saves responses until the turn is done. It kills the turn at most kills times, at most
// once per round, and returns how often it did and how many responses it saved.
func (h *fakePerson) answerAll(kills int) (killed, answers int) {
	h.start()
	for round := 1; h.await("an outbox", func() bool { return h.exists("outbox", round) }); round++ {
		if round > 10*batches {
			h.t.Fatal("the turn does not end")
		}
		h.saveResponse(round)
		answers++
		if killed < kills {
			if !h.killTurn(round) {
				return killed, answers
			}
			killed++
			h.start()
		}
	}
	return killed, answers
}

// expectedTree returns the files that carefulModel creates, in the form of readTree.
func expectedTree() string {
	var b strings.Builder
	for _, i := range []int{0, 10, 15, 20, 25, 5} {
		fmt.Fprintf(&b, "f%d: %q\n", i, "a\nB\nB\nc\n")
	}
	fmt.Fprintf(&b, "next: %q\n", fmt.Sprint(batches))
	return b.String()
}

func TestATurnOfAPersonThatIsKilledExecutesEachAnswerOnce(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 3, 60)
	seed := killtest.Seed()
	defer func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	killed, interruptions := 0, 0
	for killed < kills {
		h := &fakePerson{t: t, workspace: t.TempDir(), random: random}
		n, answers := h.answerAll(kills - killed)
		killed += n
		checkExecuted(t, h.workspace, expectedTree())
		interruptions += countInterrupted(t, h.workspace)
		processed, _ := filepath.Glob(h.path("inbox", "processed", "*.txt"))
		checkEqual(t, "answers that were put away", len(processed), answers)
		left, _ := filepath.Glob(h.path("inbox", "*.txt"))
		checkEqual(t, "answers that were left", len(left), 0)
	}
	t.Logf("%d commands were interrupted by %d kills", interruptions, killed)
	if interruptions == 0 && killtest.IsLong() {
		t.Error("no kill has interrupted a command")
	}
}
