package protocoltest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// Suite is a protocol that Run tests.
type Suite struct {
	// Agent returns an agent of the protocol that follows a script.
	Agent func(t *testing.T, s Script) Agent
	// Questions says that the agents of the protocol can ask questions.
	Questions bool
	// AfterTimeout is how a turn ends that has timed out; "": terminal.TimedOut.
	AfterTimeout terminal.Status
	// Supervisor is that of the test binary, which has only one; nil: Run opens one.
	Supervisor *process.Supervisor
}

// Agent is a scripted agent.
type Agent struct {
	Protocol terminal.Protocol
	// Config has a Command that a shell can run in the background of another.
	Config config.Terminal
	Text   string // of the person's message
}

// Script is what an agent does in a turn.
type Script struct {
	Says []string // texts for the person, one after the other
	Asks bool     // then it asks a question, and says Answered after the answer
	Ends Ending
}

// Answered is what an agent says when its question was answered.
const Answered = "that was the answer"

// Ending is what an agent does in the end.
type Ending string

// The endings of an agent.
const (
	Finishes Ending = "finishes"
	Hangs    Ending = "hangs"
	Dies     Ending = "dies" // with the exit status 3
)

// Run tests a protocol.
func Run(t *testing.T, s Suite) {
	if s.Supervisor == nil {
		s.Supervisor = process.NewSupervisor(process.SupervisorOptions{})
		t.Cleanup(s.Supervisor.Close)
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, Suite)
	}{
		{"what the agent says is emitted in order", testOrder},
		{"a stopped turn delivers what was said before", testStop},
		{"a turn that times out delivers what was said before", testTimeout},
		{"a turn that is stopped before it begins ends", testStoppedBefore},
		{"the death of the agent is the final response", testDeath},
		{"the error of a message that is not stored ends the turn", testNotStored},
		{"the agent does not get the secrets of the gateway", testSecrets},
		{"the agent works in the place of its message", testPlace},
		{"the agent gets the text of a file", testHeard},
		{"the turn goes on with the answer to a question", testQuestion},
		{"the time that a person takes to answer does not count", testTimeOfPerson},
		{"a question is withdrawn when the turn is stopped", testWithdrawn},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func testOrder(t *testing.T, s Suite) {
	r := s.start(t, Script{Says: []string{"alpha", "beta", "gamma"}, Ends: Finishes})
	r.expect(terminal.Done)
	shown := r.shown()
	at := []int{strings.Index(shown, "alpha"), strings.Index(shown, "beta"), strings.Index(shown, "gamma")}
	if at[0] < 0 || !slices.IsSorted(at) {
		t.Errorf("shown:\n%s", shown)
	}
}

func testStop(t *testing.T, s Suite) {
	r := s.start(t, Script{Says: []string{"alpha"}, Ends: Hangs})
	r.awaitShown("alpha")
	r.stop()
	r.expect(terminal.Stopped)
	if last := r.last(); last.Kind != terminal.Error || last.Code != terminal.StoppedCode {
		t.Errorf("the last frame is %+v", last)
	}
	r.expectDelivered("alpha")
}

func testTimeout(t *testing.T, s Suite) {
	r := s.prepare(t, Script{Says: []string{"alpha"}, Ends: Hangs})
	r.agent.Config.Timeout = 1
	resume := r.pauseClock()
	r.begin()
	r.awaitShown("alpha")
	(<-resume)()
	if want := s.AfterTimeout; want != "" {
		r.expect(want)
		return
	}
	r.expect(terminal.TimedOut)
	if last := r.last(); last.Kind != terminal.Error || last.Code != "TIMEOUT" {
		t.Errorf("the last frame is %+v", last)
	}
	r.expectDelivered("alpha")
}

func testStoppedBefore(t *testing.T, s Suite) {
	r := s.prepare(t, Script{Says: []string{"alpha"}, Ends: Hangs})
	r.stop()
	r.begin()
	r.expect(terminal.Stopped)
}

func testDeath(t *testing.T, s Suite) {
	r := s.start(t, Script{Says: []string{"alpha"}, Ends: Dies})
	out := r.expect(terminal.Failed)
	if last := r.last(); out.ExitCode != 3 || !strings.Contains(text(last), "3") || last.Kind == terminal.Progress {
		t.Errorf("status %d, and the last frame is %+v", out.ExitCode, last)
	}
	r.expectDelivered("alpha")
}

func testNotStored(t *testing.T, s Suite) {
	full := errors.New("no room")
	r := s.prepare(t, Script{Says: []string{"alpha"}, Ends: Finishes})
	r.refuse = full
	r.begin()
	if ended := r.end(); !errors.Is(ended.err, full) {
		t.Errorf("the turn ended with %v", ended.err)
	}
}

func testSecrets(t *testing.T, s Suite) {
	r := s.start(t, Script{Says: []string{"alpha"}, Ends: Hangs})
	r.awaitShown("alpha")
	for _, env := range r.environments() {
		if strings.Contains(env, secret) {
			t.Error("the agent has a secret")
		}
	}
	r.stop()
	r.expect(terminal.Stopped)
}

func testPlace(t *testing.T, s Suite) {
	r := s.prepare(t, Script{Says: []string{"alpha"}, Ends: Hangs})
	r.place = terminal.Place{Workspace: "projects/x"}
	r.begin()
	r.awaitShown("alpha")
	want := filepath.Join(r.workspace, "projects", "x")
	for _, folder := range r.folders() {
		if folder != want {
			t.Errorf("a process works in %s, want %s", folder, want)
		}
	}
	for _, env := range r.environments() {
		if !strings.Contains("\x00"+env, "\x00PWD="+want+"\x00") {
			t.Errorf("PWD is not %s in %q", want, env)
		}
	}
	r.stop()
	r.expect(terminal.Stopped)
}

func testHeard(t *testing.T, s Suite) {
	r := s.prepare(t, Script{Says: []string{"alpha"}, Ends: Finishes})
	r.speaks = true
	r.begin()
	r.expect(terminal.Done)
	if shown := r.shown(); !strings.Contains(shown, "alpha") {
		t.Errorf("shown:\n%s", shown)
	}
}

func testQuestion(t *testing.T, s Suite) {
	r := s.prepareQuestion(t)
	r.chat.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) { return answer(q), nil }
	r.begin()
	r.expect(terminal.Done)
	if !strings.Contains(r.shown(), Answered) {
		t.Errorf("shown:\n%s", r.shown())
	}
}

func testTimeOfPerson(t *testing.T, s Suite) {
	r := s.prepareQuestion(t)
	r.agent.Config.Timeout = 1
	resume := r.pauseClock()
	r.chat.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		(<-resume)()
		time.Sleep(1200 * time.Millisecond) // longer than the timeout of the turn
		r.pause()
		return answer(q), nil
	}
	r.begin()
	r.expect(terminal.Done)
}

func testWithdrawn(t *testing.T, s Suite) {
	r := s.prepareQuestion(t)
	r.chat.OnAsk = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
		r.stop()
		<-ctx.Done()
		select {
		case ended := <-r.ended:
			t.Error("the turn has ended before its question")
			r.ended <- ended
		case <-time.After(time.Second):
		}
		return terminal.Answer{}, context.Cause(ctx)
	}
	r.begin()
	r.expect(terminal.Stopped)
}

func answer(q terminal.Question) terminal.Answer {
	if len(q.Options) > 0 {
		return terminal.Answer{Text: q.Options[0], By: "ann"}
	}
	return terminal.Answer{Text: "yes", By: "ann"}
}
