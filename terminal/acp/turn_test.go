package acp_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

func TestAnAgentIsKeptFromTurnToTurn(t *testing.T) {
	p := newDesk(t, "").person("a")
	first := p.says("hello").is(terminal.Done, "You said: hello")
	if first.frames[0].Kind != terminal.Progress || first.frames[0].Text != "Starting the agent…" {
		t.Errorf("it began with %+v", first.frames[0])
	}
	again := p.says("history").is(terminal.Done, "prompts so far: 2")
	if got := again.text(terminal.Progress); strings.Contains(got, "Starting") {
		t.Errorf("it was started again: %q", got)
	}
	if len(p.pids) != 2 || p.pids[0] != p.pids[1] {
		t.Errorf("the processes of two turns are %v", p.pids)
	}
}

func TestStopReasonsAreExplained(t *testing.T) {
	p := newDesk(t, "").person("a")
	for _, c := range []struct {
		reason, said string
		status       terminal.Status
		kind         terminal.Kind
	}{
		{"max_tokens", "its token limit", terminal.Done, terminal.Message},
		{"max_turn_requests", "its limit of model requests", terminal.Done, terminal.Message},
		{"cancelled", "was cancelled", terminal.Done, terminal.Message},
		{"refusal", "Error (REFUSAL): The agent refused", terminal.Failed, terminal.Error},
	} {
		h := p.says("say half an answer\nstop " + c.reason)
		if h.err != nil || h.out.Status != c.status || !strings.Contains(h.text(c.kind), c.said) || !strings.Contains(h.text(terminal.Message), "half an answer") {
			t.Errorf("%s: %s, %v, %q, %q", c.reason, h.out.Status, h.err, h.text(terminal.Message), h.text(terminal.Error))
		}
	}
	p.says("think about it").is(terminal.Done, "(no output)")
	p.says("fail out of luck").fails(terminal.Failed, "Error: Out of luck")
	p.says("still there").is(terminal.Done, "You said: still there")
}

func TestStopLetsTheAgentEndItsPrompt(t *testing.T) {
	p := newDesk(t, "").person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial && strings.Contains(f.Text, "begun") {
			stop()
		}
	}
	p.saysUntil(ctx, "say begun\nawait").is(terminal.Stopped, "begun").fails(terminal.Stopped, "Stopped.")
	p.says("history").is(terminal.Done, "prompts so far: 2")
	if p.pids[0] != p.pids[1] {
		t.Error("the agent was started anew")
	}
}

// The time is up when the agent has spoken, however long that took.
func TestATimeoutIsReportedAsATimeout(t *testing.T) {
	p := newDesk(t, "", func(c *config.Terminal) { c.Timeout = 300 }).person("a")
	ctx, end := context.WithCancelCause(t.Context())
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial {
			end(terminal.ErrTimeout)
		}
	}
	p.saysUntil(ctx, "say begun\nawait").is(terminal.TimedOut, "begun").fails(terminal.TimedOut, "Timed out after 300 s.")
}

func TestAnAgentThatIgnoresStopIsClosedAndResumed(t *testing.T) {
	d := newDesk(t, "-resume -stubborn")
	d.protocol.StopTimeout = 50 * time.Millisecond
	p := d.person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial {
			stop()
		}
	}
	p.saysUntil(ctx, "say begun\nhang").is(terminal.Stopped, "begun").fails(terminal.Stopped, "Stopped.")
	if stillRunning(p.pids[0]) {
		t.Error("the agent still runs")
	}
	p.saw = nil
	p.says("history").is(terminal.Done, "prompts so far: 2")
}

func TestStopCancelsPermissionsAndKillsTerminals(t *testing.T) {
	p := newDesk(t, "", unasked).person("a")
	ctx, stop := context.WithCancel(t.Context())
	pidFile := p.file("pid")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		eventually(t, "the command runs", func() bool { b, _ := os.ReadFile(pidFile); return len(b) > 0 })
		stop()
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	h := p.saysUntil(ctx, "embed tool echo $$ > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 600\nask t fetch May I?")
	h.is(terminal.Stopped, "permission cancelled")
	pid := pidIn(t, pidFile)
	eventually(t, "the command is dead", func() bool { return !stillRunning(pid) })
	p.says("hello").is(terminal.Done, "You said: hello")
}

func TestStopWhileTheAgentBegins(t *testing.T) {
	d := newDesk(t, "-slow 1h")
	p := d.person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Progress {
			time.AfterFunc(50*time.Millisecond, stop)
		}
	}
	p.saysUntil(ctx, "hello").fails(terminal.Stopped, "Stopped.")
	if stillRunning(p.pids[0]) {
		t.Error("the agent still runs")
	}
}

func TestUpdatesAfterTheResponseAreShownInTheNextTurn(t *testing.T) {
	p := newDesk(t, "").person("a")
	p.says("late by the way\nsay done").is(terminal.Done, "done")
	eventually(t, "the late words have come", func() bool {
		h := p.says("think")
		return strings.Contains(h.text(terminal.Message), "by the way")
	})
}

func TestManyChatsSideBySide(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { settings(c).MaxKept = 50 })
	done := make(chan *heard, 20)
	gate := d.file("go")
	for i := range 20 {
		go func() { done <- d.person(string(rune('a' + i))).says("chunks 50\nuntil " + gate + "\npid") }()
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = os.WriteFile(gate, nil, 0o600) })
	pids := map[string]bool{}
	for range 20 {
		h := <-done
		text := h.text(terminal.Message)
		if h.err != nil || h.out.Status != terminal.Done || !strings.Contains(text, "w0000049") {
			t.Errorf("%v %v %q", h.err, h.out, text)
		}
		pids[text[strings.LastIndex(text, "pid"):]] = true
	}
	if len(pids) != 20 {
		t.Errorf("%d processes for 20 chats", len(pids))
	}
}

func TestAFloodOfChunksComesWholeAndInOrder(t *testing.T) {
	h := newDesk(t, "").person("a").says("chunks 20000")
	words := strings.Fields(h.text(terminal.Message))
	if h.out.Status != terminal.Done || len(words) != 20000 {
		t.Fatalf("%s, %d words", h.out.Status, len(words))
	}
	for i := 1; i < len(words); i++ {
		if words[i] <= words[i-1] {
			t.Fatalf("%s comes after %s", words[i], words[i-1])
		}
	}
}
