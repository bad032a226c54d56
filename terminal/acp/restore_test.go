package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

func TestAReplayAfterTheResponseIsHidden(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-load -behind")
	p := d.person("a")
	p.send("say one")
	p.send("say two")
	d.restart()
	d.protocol.QuietPeriod = 3 * time.Second // on a busy machine the replay may begin late
	h := p.send("history").expect(terminal.Done, "prompts so far: 3")
	for _, f := range h.frames {
		if strings.Contains(f.Text, "REPLAYED") {
			t.Errorf("the past was shown: %+v", f)
		}
	}
}

func TestAnEndlessReplayIsLimited(t *testing.T) {
	t.Parallel()
	begin, _, _ := strings.Cut(untilPrompt, "receive; send")
	d := newShellAgent(t, begin+`
receive; send '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}'
receive
case $line in
*session/load*)
	rm prompted
	send '{"jsonrpc":"2.0","id":2,"result":null}'
	while [ ! -e prompted ]; do chunk OLD; sleep 0.01; done & ;;
*) send '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}' ;;
esac
receive; touch prompted; wait; chunk answer`+endTurn+"receive")
	p := d.person("a")
	p.send("hello").expect(terminal.Done, "answer")
	d.restart()
	d.protocol.ReplayLimit = 300 * time.Millisecond
	if text := p.send("hello").text(terminal.Message); !strings.HasSuffix(text, "answer") || strings.Contains(text, newSessionNotice) {
		t.Errorf("said %q", text)
	}
}

func TestResumingWaitsForNoReplay(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a")
	p.send("hello")
	d.restart()
	d.protocol.QuietPeriod, d.protocol.ReplayLimit = time.Hour, time.Hour
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestAnAgentThatCrashesWhileItRestoresASessionIsRestarted(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"exit", "hang"} {
		t.Run(way, func(t *testing.T) {
			d := newFixture(t, "-load -on-load "+way)
			d.protocol.RestoreTimeout = 100 * time.Millisecond
			p := d.person("a")
			p.send("hello")
			d.restart()
			d.protocol.RestoreTimeout = 100 * time.Millisecond
			h := p.send("history").expect(terminal.Done, newSessionNotice+"\n\nprompts so far: 1")
			if !strings.Contains(h.text(terminal.Log), "could not be resumed") {
				t.Errorf("log %q", h.text(terminal.Log))
			}
			p.send("history").expect(terminal.Done, "prompts so far: 2")
			if processExists(p.pids[1]) || !processExists(p.pids[len(p.pids)-1]) {
				t.Errorf("of %v the wrong ones live", p.pids)
			}
		})
	}
}

// endsSoon is a context whose deadline is always one second away and that never ends, so that a
// busy machine makes no difference.
type endsSoon struct {
	context.Context //nolint:containedctx // endsSoon is a context with another Deadline
}

func (endsSoon) Deadline() (time.Time, bool) { return time.Now().Add(time.Second), true }

func TestAShortTurnLeavesTimeForANewConversation(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-load -on-load hang", func(c *config.Terminal) { c.Timeout = 300 })
	p := d.person("a")
	p.send("hello")
	d.restart()
	d.protocol.RestoreTimeout = time.Hour
	p.sendUntil(endsSoon{t.Context()}, "history").expect(terminal.Done, newSessionNotice+"\n\nprompts so far: 1")
}

// untilPrinted calls send with longer and longer limits, until the agent has printed its question
// before the limit, and returns the limit. The machine may be busy.
func untilPrinted(t *testing.T, send func(seconds int) *turnResult) (*turnResult, int) {
	t.Helper()
	for seconds := 1; ; seconds *= 2 {
		h := send(seconds)
		if strings.Contains(h.text(terminal.Error)+h.text(terminal.Log)+h.text(terminal.Message), "proceed") {
			return h, seconds
		}
		if seconds > 100 {
			t.Fatalf("the agent printed nothing: %+v", h.frames)
		}
	}
}

func TestAnAgentThatDoesNotGetReadyIsEnded(t *testing.T) {
	t.Parallel()
	noHello := "echo 'Ok to proceed? (y)' >&2; exec sleep 3600"
	noSession := strings.Replace(untilPrompt, `send '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'`, "echo 'Ok to proceed? (y)' >&2; exec sleep 3600", 1)
	for name, script := range map[string]string{"initialize": noHello, "session/new": noSession} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newShellAgent(t, script)
			p := d.person("a")
			send := func(seconds int) *turnResult {
				d.protocol.StartTimeout = time.Duration(seconds) * time.Second
				return p.send("hello")
			}
			h, seconds := untilPrinted(t, send)
			h.expectError(terminal.Failed, fmt.Sprintf("The agent did not get ready within %d s.", seconds), "STDERR: Ok to proceed? (y)")
			if processExists(p.pids[0]) {
				t.Error("it is kept")
			}
			d.cfg.RevealErrors = config.Selection{}
			d.restart()
			h, _ = untilPrinted(t, send)
			h.expectError(terminal.Failed, "The agent did not get ready")
			if strings.Contains(h.text(terminal.Error), "proceed") || !strings.Contains(h.text(terminal.Log), "proceed") {
				t.Errorf("said %q, logged %q", h.text(terminal.Error), h.text(terminal.Log))
			}
		})
	}
	t.Run("the turn's own timeout", func(t *testing.T) {
		t.Parallel()
		d := newShellAgent(t, noHello)
		h, seconds := untilPrinted(t, func(seconds int) *turnResult {
			d.cfg.Timeout = seconds
			d.restart()
			return d.person("a").send("hello")
		})
		h.expectError(terminal.TimedOut, fmt.Sprintf("Timed out after %d s.", seconds), "STDERR: Ok to proceed? (y)")
	})
}
