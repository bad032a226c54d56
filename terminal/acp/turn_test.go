package acp_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestAnAgentIsKeptFromTurnToTurn(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	first := p.send("hello").expect(terminal.Done, "You said: hello")
	if first.frames[0].Kind != terminal.Progress || first.frames[0].Text != "Starting the agent…" {
		t.Errorf("it began with %+v", first.frames[0])
	}
	again := p.send("history").expect(terminal.Done, "prompts so far: 2")
	if got := again.text(terminal.Progress); strings.Contains(got, "Starting") {
		t.Errorf("it was started again: %q", got)
	}
	if len(p.pids) != 2 || p.pids[0] != p.pids[1] {
		t.Errorf("the processes of two turns are %v", p.pids)
	}
}

func TestStopReasonsAreExplained(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
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
		h := p.send("say half an answer\nstop " + c.reason)
		if h.err != nil || h.out.Status != c.status || !strings.Contains(h.text(c.kind), c.said) || !strings.Contains(h.text(terminal.Message), "half an answer") {
			t.Errorf("%s: %s, %v, %q, %q", c.reason, h.out.Status, h.err, h.text(terminal.Message), h.text(terminal.Error))
		}
	}
	p.send("think about it").expect(terminal.Silent, "The agent ended its turn without an answer.")
	p.send("fail out of luck").expectError(terminal.Failed, "Error: Out of luck")
	p.send("still there").expect(terminal.Done, "You said: still there")
}

func TestStopLetsTheAgentEndItsPrompt(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.onFrame = func(f terminal.Frame) {
		if shows(f, "begun") {
			stop()
		}
	}
	p.sendUntil(ctx, "say begun\nawait").expect(terminal.Stopped, "begun").expectError(terminal.Stopped, "Stopped.")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	if p.pids[0] != p.pids[1] {
		t.Error("the agent was started again")
	}
}

func TestAnAgentThatIgnoresStopIsClosedAndResumed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume -stubborn")
	d.protocol.StopTimeout = 50 * time.Millisecond
	p := d.person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.onFrame = func(f terminal.Frame) {
		if shows(f, "begun") {
			stop()
		}
	}
	p.sendUntil(ctx, "say begun\nhang").expect(terminal.Stopped, "begun").expectError(terminal.Stopped, "Stopped.")
	if processExists(p.pids[0]) {
		t.Error("the agent still runs")
	}
	p.onFrame = nil
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestStopCancelsPermissionsAndKillsTerminals(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", allowAll).person("a")
	ctx, stop := context.WithCancel(t.Context())
	pidFile := p.path("pid")
	p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		eventually(t, "the command runs", func() bool { b, _ := os.ReadFile(pidFile); return len(b) > 0 })
		stop()
		<-ctx.Done()
		return terminal.Answer{}, ctx.Err()
	}
	h := p.sendUntil(ctx, "embed tool echo $$ > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 600\nask t fetch May I?")
	h.expect(terminal.Stopped, "permission cancelled")
	pid := readPid(t, pidFile)
	eventually(t, "the command is dead", func() bool { return !processExists(pid) })
	p.send("hello").expect(terminal.Done, "You said: hello")
}

func TestStopWhileTheAgentStarts(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-slow 1h")
	p := d.person("a")
	ctx, stop := context.WithCancel(t.Context())
	p.onFrame = func(f terminal.Frame) {
		if f.Kind == terminal.Progress {
			time.AfterFunc(50*time.Millisecond, stop)
		}
	}
	p.sendUntil(ctx, "hello").expectError(terminal.Stopped, "Stopped.")
	if processExists(p.pids[0]) {
		t.Error("the agent still runs")
	}
}

func TestUpdatesAfterTheResponseAreShownInTheNextTurn(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.send("late by the way\nsay done").expect(terminal.Done, "done")
	eventually(t, "the late words have come", func() bool {
		h := p.send("think")
		return strings.Contains(h.text(terminal.Message), "by the way")
	})
}

func TestManyConcurrentChats(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "")
	done := make(chan *turnResult, 20)
	gate := d.path("go")
	for i := range 20 {
		go func() { done <- d.person(string(rune('a' + i))).send("chunks 50\nuntil " + gate + "\npid") }()
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
	wanttest.Equal(t, "processes for 20 chats:", len(pids), 20)
}

func TestAFloodOfChunksArrivesCompletelyAndInOrder(t *testing.T) {
	t.Parallel()
	chunks := killtest.Pick(5000, 20_000)
	h := newFixture(t, "").person("a").send(fmt.Sprint("chunks ", chunks))
	words := strings.Fields(h.text(terminal.Message))
	if h.out.Status != terminal.Done || len(words) != chunks {
		t.Fatalf("%s, %d words", h.out.Status, len(words))
	}
	for i := 1; i < len(words); i++ {
		if words[i] <= words[i-1] {
			t.Fatalf("%s comes after %s", words[i], words[i-1])
		}
	}
}
