package terminal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// queuedInjections returns n injections that are queued before the agent starts. Each text is its
// number.
func queuedInjections(n int) chan terminal.Injection {
	c := make(chan terminal.Injection, n)
	for i := range n {
		c <- terminal.Injection{Text: strconv.Itoa(i)}
	}
	return c
}

func injectionLine(i int) string {
	return fmt.Sprintf(`{"type":"inject","version":1,"text":"%d","media":[]}`, i)
}

func TestInjectionsFollowTheEnvelopeInOrder(t *testing.T) {
	b := newTurnFixture(t, "rich", "head -n 101 > received")
	b.chat.Inject, b.req.Text = queuedInjections(100), strings.Repeat("a large envelope ", 1<<16)
	b.run().expectFrames("silent", "message: (no output)")
	raw, _ := os.ReadFile(filepath.Join(b.workspace, "received"))
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != 101 || !strings.HasPrefix(lines[0], `{"version":1,"text":"a large envelope `) {
		t.Fatalf("%d lines: %s", len(lines), shorten(lines[0]))
	}
	for i, line := range lines[1:] {
		if line != injectionLine(i) {
			t.Errorf("line %d is %s", i, line)
		}
	}
	wanttest.Equal(t, "unread:", b.out.Unread, 0)
}

func TestAnInjectionHasMediaOnlyIfConfigured(t *testing.T) {
	for _, pass := range []bool{true, false} {
		inject := make(chan terminal.Injection, 1)
		inject <- terminal.Injection{Text: "look <é>", Media: []string{"/a b.jpg"}}
		close(inject) // which must not end the turn
		b := newTurnFixture(t, "rich", readEnvelope+recordLine)
		b.chat.Inject, b.opts.Config.PassMedia = inject, pass
		media := map[bool]string{true: `["/a b.jpg"]`, false: "[]"}[pass]
		b.run().expectFrames("silent", "message: (no output)").expectInput(`{"type":"inject","version":1,"text":"look <é>","media":` + media + `}`)
	}
}

func TestAnInjectionReachesARunningAgentAndBetweenAnswers(t *testing.T) {
	inject := make(chan terminal.Injection)
	b := newInteractiveFixture(t, frame(object{"type": "progress", "text": "working"})+recordLine+askFrame("q", "x")+recordLine+frame(object{"type": "progress", "text": "working"})+recordLine,
		func(context.Context, terminal.Question) (terminal.Answer, error) {
			return terminal.Answer{Text: "yes"}, nil
		})
	b.chat.Inject = inject
	n := 0
	b.emit = func(f terminal.Frame) error {
		if f.Kind == terminal.Progress {
			inject <- terminal.Injection{Text: strconv.Itoa(n)}
			n++
		}
		return nil
	}
	b.run().expectInput(injectionLine(0), `{"type":"answer","id":"q","text":"yes"}`, injectionLine(1))
}

func TestUnreadInjectionsStayQueuedOrAreCounted(t *testing.T) {
	for range 20 {
		b := newTurnFixture(t, "rich", readEnvelope+strings.Repeat(recordLine, 5))
		inject := queuedInjections(10)
		b.chat.Inject = inject
		b.run().expectInput(injectionLine(0), injectionLine(1), injectionLine(2), injectionLine(3), injectionLine(4))
		if left := len(inject); left+b.out.Unread != 5 {
			t.Fatalf("%d left, %d unread, want 5", left, b.out.Unread)
		}
	}
}

func TestAnAgentThatNeverReadsGetsNoMoreInjections(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "progress", "text": "busy"})+"while [ ! -e go ]; do sleep 0.01; done\n"+frame(object{"type": "message", "text": "bye"}))
	inject, large := make(chan terminal.Injection), strings.Repeat("x", 100<<10) // more than a pipe holds
	first, over, taken := make(chan struct{}), make(chan struct{}), 0
	var sender sync.WaitGroup
	sender.Go(func() {
		for range 10000 {
			select {
			case inject <- terminal.Injection{Text: large}:
				if taken++; taken == 1 {
					close(first)
				}
			case <-over:
				return
			}
		}
	})
	b.chat.Inject = inject
	b.emit = func(f terminal.Frame) error {
		if f.Kind != terminal.Progress {
			return nil
		}
		<-first
		return os.WriteFile(b.workspace+"/go", nil, 0o600)
	}
	b.run().expectFrames("done", "progress: busy", "message: bye")
	close(over)
	sender.Wait()
	if taken != 1 || b.out.Unread != 1 {
		t.Errorf("%d taken, %d unread", taken, b.out.Unread)
	}
}

func TestAnAgentThatReadsUntilEOFEndsAtTheTimeoutOrWithItsOutput(t *testing.T) {
	b := newTurnFixture(t, "rich", "cat >/dev/null")
	b.opts.Config.Timeout, b.chat.Inject = 1, queuedInjections(3)
	b.run().expectFrames("timeout", "error: Timed out after 1 s.")

	b = newTurnFixture(t, "rich", "echo done; exec 1>&- 2>&-; cat >/dev/null")
	b.chat.Inject = queuedInjections(3)
	b.run().expectFrames("done", "message: done")
}

func TestPlainModeIgnoresInjections(t *testing.T) {
	b := newTurnFixture(t, "plain", "wc -l")
	inject := queuedInjections(3)
	b.chat.Inject = inject
	b.run().expectFrames("done", "message: 1")
	wanttest.Equal(t, "left of 3:", len(inject), 3)
}

func TestOnLaunchIsCalledOnceWithThePid(t *testing.T) {
	for _, protocol := range []string{"plain", "rich"} {
		b := newTurnFixture(t, protocol, "echo $$")
		var pids []string
		b.chat.OnReport = protocoltest.OnLaunch(func(pid int) { pids = append(pids, strconv.Itoa(pid)) })
		b.run()
		b.expectFrames("done", "message: "+strings.Join(pids, " "))
	}
	b := newTurnFixture(t, "rich", "true")
	b.opts.Config.Shell = "/no/such/shell"
	b.chat.OnReport = protocoltest.OnLaunch(func(int) { t.Error("told of a process that never was") })
	b.run()
}

func TestTheEnvelopeCarriesTheHistory(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	zone := time.FixedZone("", 2*60*60)
	b.req.History = []terminal.HistoryEntry{
		{Role: "user", Text: "hi", Media: []string{"/a.jpg"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 678, zone)},
		{Role: "agent", Text: ""},
	}
	want := "[map[media:[/a.jpg] role:user text:hi time:2026-01-02T01:04:05Z] map[role:agent text:]]"
	wanttest.Equal(t, "got", fmt.Sprint(b.envelope()["history"]), want)
	b.opts.Config.PassMedia = false
	wanttest.Equal(t, "got", fmt.Sprint(b.envelope()["history"]), strings.Replace(want, "media:[/a.jpg] ", "", 1))
	if b.req.History[0].Media == nil {
		t.Error("the caller's history was changed")
	}
}
