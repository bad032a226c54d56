package acp_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/terminal"
)

// steered is a person who writes during a turn.
type steered struct {
	*person
	read []string // texts of the messages that the agent has read
}

func newSteered(t *testing.T, flags string) *steered {
	p := &steered{person: newFixture(t, flags).person("a")}
	p.injections = make(chan terminal.Injection, 16)
	return p
}

// write sends a message during the turn.
func (p *steered) write(text string) {
	p.injections <- terminal.Injection{Text: text, MarkRead: func() { p.read = append(p.read, text) }}
}

// expectRead checks which messages the agent has read, and how many it has not.
func (p *steered) expectRead(h *turnResult, unread int, texts ...string) {
	p.t.Helper()
	if !slices.Equal(p.read, texts) || h.out.Unread != unread {
		p.t.Errorf("read %q and not %d others", p.read, h.out.Unread)
	}
}

func TestAMessageDuringATurnIsAnotherPrompt(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing")
	p.write("say three")
	p.write("history")
	h := p.send("say one\nsteer\nsay two")
	h.expect(terminal.Done, "onetwo\nthree\nprompts so far: 3")
	p.expectRead(h, 0, "say three", "history")
	if len(p.injections) != 0 || p.refused {
		t.Error("not every message was sent")
	}
}

func TestAMessageDuringATurnWaitsIfTheAgentAcceptsNone(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "")
	p.write("say two")
	h := p.send("say one")
	h.expect(terminal.Done, "one")
	if p.expectRead(h, 0); len(p.injections) != 1 || !p.refused {
		t.Error("the message was sent")
	}
}

func TestACommandOfTheGatewayDuringATurnWaits(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing -modes")
	p.write("/mode plan")
	p.write("say two")
	gate := p.path("go")
	over := make(chan error)
	go func() {
		for len(p.injections) > 1 {
			time.Sleep(time.Millisecond)
		}
		over <- os.WriteFile(gate, nil, 0o600)
	}()
	h := p.send("say one\nuntil " + gate)
	if h.expect(terminal.Done, "one"); len(p.injections) != 1 {
		t.Error("a message has overtaken the command")
	}
	p.expectRead(h, 1)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
}

// stopWhen cancels the returned context when the agent writes a text.
func (p *steered) stopWhen(text string) context.Context {
	ctx, stop := context.WithCancel(p.t.Context())
	p.onFrame = func(f terminal.Frame) {
		if shows(f, text) {
			stop()
		}
	}
	return ctx
}

func TestAfterAStopMessagesThatTheAgentHasNotBegunAreUnread(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing")
	p.write("say two\nsteer\nsay working on two\nawait")
	p.write("say three")
	p.write("say four")
	h := p.sendUntil(p.stopWhen("working on two"), "say one\nsteer")
	h.expectError(terminal.Stopped, "Stopped.")
	p.expectRead(h, 2, "say two\nsteer\nsay working on two\nawait")
}

func TestAMessageThatIsStoppedWithAHungAgentIsNotRunAgain(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing -stubborn -resume")
	p.protocol.StopTimeout = 50 * time.Millisecond
	p.write("say two\nsteer\nsay working on two\nhang")
	p.write("say three")
	h := p.sendUntil(p.stopWhen("working on two"), "say one\nsteer")
	h.expectError(terminal.Stopped, "Stopped.")
	p.expectRead(h, 1, "say two\nsteer\nsay working on two\nhang")
}

func TestMessagesThatADeadAgentHasNotBegunAreUnread(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing -resume")
	p.write("say two\nsteer\ndie")
	p.write("say three")
	p.write("say four")
	h := p.send("say one\nsteer")
	h.expectError(terminal.Failed, "Your next message resumes the conversation.")
	p.expectRead(h, 2, "say two\nsteer\ndie")
}

func TestAnErrorOfAnEarlierPromptIsReported(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-queueing")
	p.write("say two")
	h := p.send("say one\nsteer\nfail out of luck")
	h.expectError(terminal.Failed, "Out of luck")
	if p.expectRead(h, 0, "say two"); !strings.Contains(h.text(terminal.Message), "two") {
		t.Errorf("said %q", h.text(terminal.Message))
	}
}

// Codex takes a message during a turn by an extension of the protocol.
func TestAMessageDuringATurnIsAddedToThePrompt(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-steering")
	p.write("also this")
	h := p.send("say one, \nsteer\nsay , two")
	h.expect(terminal.Done, "one, added: also this, two")
	if p.expectRead(h, 0, "also this"); p.refused {
		t.Error("messages are refused")
	}
	p.read = nil
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestAMessageThatIsConfirmedAfterTheAnswerEndsNothingTwice(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-steering")
	p.write("confirm late")
	h := p.send("say one, \nsteer\nsay , two")
	h.expect(terminal.Done, "one, added: confirm late, two")
	p.expectRead(h, 0, "confirm late")
}

func TestAMessageThatComesTooLateForThePromptWaits(t *testing.T) {
	t.Parallel()
	p := newSteered(t, "-steering")
	waits := p.path("waits")
	p.injections <- terminal.Injection{
		Text: "too late", MarkRead: func() { t.Error("it was read") },
		MarkWaiting: func() { _ = os.WriteFile(waits, nil, 0o600) },
	}
	h := p.send("say one\nuntil " + waits)
	h.expect(terminal.Done, "one")
	if p.expectRead(h, 1); !p.refused {
		t.Error("later messages are not refused")
	}
}
