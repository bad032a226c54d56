package gateway_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
)

// newACPFixture returns a fixture with the scripted agent of the protocol acp.
func newACPFixture(t *testing.T, flags string) *fixture {
	t.Helper()
	fx := newFixture(t, acpVariable+"=1 exec "+terminal.ShellQuote(os.Args[0])+" -dir "+terminal.ShellQuote(t.TempDir())+" "+flags)
	fx.terminal.Protocol = acp.Name
	fx.protocol = acp.New(terminal.OpenOptions{Config: fx.terminal})
	fx.settings.WhileRunning = "inject"
	return fx
}

func TestAnACPAgentGetsWhatAPersonWritesDuringATurn(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-queueing").start()
	fx.net.UserWrites("1", "u", "say one\nsteer\nsay , two")
	fx.awaitText("1", "one") // on the board
	fx.net.UserWrites("1", "u", "say three")
	fx.expect("1", "one, two", "three")
	fx.net.UserWrites("1", "u", "history")
	fx.expect("1", "one, two", "three", "prompts so far: 3")
}

func TestAnACPAgentThatAcceptsNoPromptsDuringATurnHasAQueue(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "").start()
	fx.net.UserWrites("1", "u", "say one\nuntil "+fx.dir+"/go")
	fx.awaitText("1", "one") // on the board
	fx.net.UserWrites("1", "u", "history")
	fx.awaitText("1", "Queued.")
	fx.touchFile("go")
	fx.awaitText("1", "prompts so far: 2")
}

// A command of the gateway is not passed to the agent, although that accepts prompts.
func TestThePersonSeesThatACommandDuringATurnWaits(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-queueing -modes").start()
	fx.net.UserWrites("1", "u", "say one\nuntil "+fx.dir+"/go")
	fx.awaitText("1", "one") // on the board
	fx.net.UserWrites("1", "u", "/mode plan")
	fx.awaitText("1", "Queued.")
	fx.touchFile("go")
	fx.awaitText("1", "Mode: ")
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
	fx := newFixture(t, "true")
	p := refusingProtocol{make(chan struct{}), make(chan struct{})}
	fx.protocol, fx.settings.WhileRunning = p, "inject"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	<-p.started
	fx.net.UserWrites("1", "u", "two")
	fx.awaitText("1", "Queued.")
	close(p.end)
	fx.awaitText("1", "done two")
}

// A message that the agent has worked on is settled at once, so that a crash does not repeat it.
// One that the agent has not begun gets a turn after the crash.
func TestAfterACrashOnlyMessagesThatTheAgentHasNotBegunRun(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-queueing -resume")
	fx.settings.DrainTimeout = 0
	fx.start()
	fx.net.UserWrites("1", "u", "say one\nsteer")
	fx.awaitText("1", "one") // on the board
	fx.net.UserWrites("1", "u", "say two\nsteer")
	fx.net.UserWrites("1", "u", "say three\nuntil "+fx.dir+"/go")
	fx.awaitText("1", "two")
	fx.net.UserWrites("1", "u", "say four")
	fx.awaitTrue("the second message is settled", func() bool {
		n, err := fx.store.CountPending(t.Context(), channels.Chat{Channel: "net", ID: "1"})
		return err == nil && n == 2
	})
	fx.crash(errors.New("killed"))
	fx.stop()
	fx.touchFile("go")
	fx.protocol = acp.New(terminal.OpenOptions{Config: fx.terminal})
	fx.start()
	fx.awaitText("1", "I was restarted while working on this.")
	fx.awaitText("1", "four")
	calls, _ := fx.net.Await("1", testTimeout, func([]gatewaytest.Call) bool { return true })
	if got := strings.Join(texts(calls), "|") + "|"; strings.Count(got, "two|") != 1 {
		t.Errorf("the chat has %q", got)
	}
}

func TestWhatAnACPAgentSaysBetweenTurnsIsSent(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "").start()
	fx.net.UserWrites("1", "u", "late by the way\nsay done")
	fx.expect("1", "done", "by the way")
}

// The answer has notified people, or what the agent says after the notice does.
func TestANoticeOfAnACPAgentAfterItsAnswerNotifiesNobody(t *testing.T) {
	t.Parallel()
	const notice = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"low on credits"},"_meta":{"claudeCode":{"kind":"informational"}}}`
	for when, silent := range map[string][]bool{
		"say done\nraw " + notice: {true, false}, "late " + notice + "\nsay done": {false, true},
		"late " + notice + "\nlate by the way\nsay done": {false, true, false},
	} {
		fx := newACPFixture(t, "").start()
		fx.net.UserWrites("1", "u", when)
		lasting := func() []gatewaytest.Call {
			return slices.DeleteFunc(fx.net.Sent("1"), func(c gatewaytest.Call) bool { return c.Kind == string(channels.Progress) })
		}
		fx.awaitTrue("the last message", func() bool { return len(lasting()) == len(silent) })
		for i, c := range lasting() {
			if c.Silent != silent[i] || silent[i] != strings.Contains(c.Text, "low on credits") {
				t.Errorf("%q: message %d is %+v", when, i+1, c)
			}
		}
	}
}

// heldStore is a store that tells who has written in a chat only when it is released.
type heldStore struct {
	store.Store
	asked, released chan struct{}
}

func (s heldStore) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	select {
	case <-s.released:
		return s.Store.Recent(ctx, chat, n)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestWhatAnACPAgentSaysBetweenTurnsIsNotSentToPeopleWithoutAccess(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "")
	fx.settings.AllowFrom = map[string][]string{"net": {"u"}}
	asked, released := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	fx.wrapStore = func(s store.Store) store.Store { return heldStore{s, asked, released} }
	fx.start()
	fx.net.UserWrites("1", "u", "late by the way\nsay done")
	fx.awaitText("1", "done")
	fx.awaitTrue("the question who has access", func() bool { return len(asked) > 0 }) // for the message after the turn
	fx.settings.AllowFrom = map[string][]string{"net": {"v"}}
	fx.gw.Reload(fx.settings)
	release()
	fx.awaitTrue("the message is refused", func() bool { return fx.logs.FilterMessage("message between turns not sent").Len() > 0 })
	fx.expect("1", "done")
}

func TestTheBoardOfAnACPTurnSaysThatItIsStopping(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-stubborn")
	protocol := acp.New(terminal.OpenOptions{Config: fx.terminal})
	protocol.StopTimeout = testTimeout
	fx.protocol = protocol
	fx.start()
	fx.net.UserWrites("1", "u", "hang")
	fx.awaitText("1", "Thinking…")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "Stopping…")
	for _, pid := range fx.gw.Activity()[store.DefaultAgent].PIDs {
		musttest.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	fx.awaitText("1", "Stopped.")
}
