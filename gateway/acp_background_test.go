package gateway_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
)

// newACPFixture returns a fixture with the scripted agent of the protocol acp.
func newACPFixture(t *testing.T, flags string) *fixture {
	t.Helper()
	r := newFixture(t, acpVariable+"=1 exec "+terminal.ShellQuote(os.Args[0])+" -dir "+terminal.ShellQuote(t.TempDir())+" "+flags)
	r.terminal.Protocol = acp.Name
	r.protocol = acp.New(r.terminal)
	r.settings.WhileRunning = "inject"
	return r
}

func TestAnACPAgentGetsWhatAPersonWritesDuringATurn(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "-queueing").start()
	r.net.UserWrites("1", "u", "say one\nsteer\nsay , two")
	r.awaitText("1", "one") // on the board
	r.net.UserWrites("1", "u", "say three")
	r.expect("1", "one, two", "three")
	r.net.UserWrites("1", "u", "history")
	r.expect("1", "one, two", "three", "prompts so far: 3")
}

func TestAnACPAgentThatAcceptsNoPromptsDuringATurnHasAQueue(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "").start()
	r.net.UserWrites("1", "u", "say one\nuntil "+r.dir+"/go")
	r.awaitText("1", "one") // on the board
	r.net.UserWrites("1", "u", "history")
	r.awaitText("1", "Queued.")
	r.touchFile("go")
	r.awaitText("1", "prompts so far: 2")
}

// A command of the gateway is not passed to the agent, although that accepts prompts.
func TestThePersonSeesThatACommandDuringATurnWaits(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "-queueing -modes").start()
	r.net.UserWrites("1", "u", "say one\nuntil "+r.dir+"/go")
	r.awaitText("1", "one") // on the board
	r.net.UserWrites("1", "u", "/mode plan")
	r.awaitText("1", "Queued.")
	r.touchFile("go")
	r.awaitText("1", "Mode: ")
}

// refusingProtocol accepts no injections, which it says after one has come.
type refusingProtocol struct{ started, end chan struct{} }

func (p refusingProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if t.Envelope.Text == "one" {
		close(p.started)
		for len(t.Injections()) == 0 {
			time.Sleep(time.Millisecond)
		}
		t.Report(terminal.InjectionsRefused{})
		<-p.end
	}
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "done " + t.Envelope.Text})
}

func TestThePersonSeesThatARefusedMessageWaits(t *testing.T) {
	t.Parallel()
	r := newFixture(t, "true")
	p := refusingProtocol{make(chan struct{}), make(chan struct{})}
	r.protocol, r.settings.WhileRunning = p, "inject"
	r.start()
	r.net.UserWrites("1", "u", "one")
	<-p.started
	r.net.UserWrites("1", "u", "two")
	r.awaitText("1", "Queued.")
	close(p.end)
	r.awaitText("1", "done two")
}

// A message that the agent has worked on is settled at once, so that a crash does not repeat it.
// One that the agent has not begun gets a turn after the crash.
func TestAfterACrashOnlyMessagesThatTheAgentHasNotBegunRun(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "-queueing -resume").start()
	r.net.UserWrites("1", "u", "say one\nsteer")
	r.awaitText("1", "one") // on the board
	r.net.UserWrites("1", "u", "say two\nsteer")
	r.net.UserWrites("1", "u", "say three\nuntil "+r.dir+"/go")
	r.awaitText("1", "two")
	r.net.UserWrites("1", "u", "say four")
	r.awaitTrue("the second message is settled", func() bool {
		n, err := r.store.CountPending(t.Context(), channels.Chat{Channel: "net", ID: "1"})
		return err == nil && n == 2
	})
	r.crash(errors.New("killed"))
	r.stop()
	r.touchFile("go")
	r.protocol = acp.New(r.terminal)
	r.start()
	r.awaitText("1", "I was restarted while working on this.")
	r.awaitText("1", "four")
	calls, _ := r.net.Await("1", testTimeout, func([]gatewaytest.Call) bool { return true })
	if got := strings.Join(texts(calls), "|") + "|"; strings.Count(got, "two|") != 1 {
		t.Errorf("the chat has %q", got)
	}
}

func TestWhatAnACPAgentSaysBetweenTurnsIsSent(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "").start()
	r.net.UserWrites("1", "u", "late by the way\nsay done")
	r.expect("1", "done", "by the way")
}

func TestWhatAnACPAgentSaysBetweenTurnsIsNotSentToPeopleWithoutAccess(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "")
	r.settings.AllowFrom = map[string][]string{"net": {"u"}}
	r.start()
	r.net.UserWrites("1", "u", "late by the way\nsay done")
	r.awaitText("1", "done")
	r.settings.AllowFrom = map[string][]string{"net": {"v"}}
	r.gw.Reload(r.settings)
	r.awaitTrue("the message is refused", func() bool { return r.logs.FilterMessage("message between turns not sent").Len() > 0 })
	r.expect("1", "done")
}

func TestTheBoardOfAnACPTurnSaysThatItIsStopping(t *testing.T) {
	t.Parallel()
	r := newACPFixture(t, "-stubborn")
	protocol := acp.New(r.terminal)
	protocol.StopTimeout = 2 * time.Second
	r.protocol = protocol
	r.start()
	r.net.UserWrites("1", "u", "hang")
	r.awaitText("1", "Thinking…")
	r.net.UserWrites("1", "u", "/stop")
	r.awaitText("1", "Stopping…")
	r.awaitText("1", "Stopped.")
}
