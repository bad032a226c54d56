package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const whichOne = "Which question do you mean? Press a button under it, or reply to it."

// permissionProtocol asks for each permission that the message names, in parallel, and prints the
// answers. One question is withdrawn when the channel withdraw is closed.
type permissionProtocol struct {
	ask, withdraw chan string
}

func newPermissionProtocol() *permissionProtocol {
	return &permissionProtocol{ask: make(chan string), withdraw: make(chan string)}
}

func (p *permissionProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	var asked sync.WaitGroup
	cancels := map[string]context.CancelFunc{}
	for {
		select {
		case what, more := <-p.ask:
			if !more {
				asked.Wait()
				return terminal.Outcome{Status: terminal.Done}, nil
			}
			ctx, cancel := context.WithCancel(ctx)
			cancels[what] = cancel
			asked.Go(func() {
				a, err := t.Ask(ctx, terminal.Question{ID: what, Text: what, Options: []string{"Allow", "Reject"}})
				_ = t.Emit(terminal.Frame{Kind: terminal.Message, Text: fmt.Sprintf("told of %s: %s %v", what, a.Text, err)})
			})
		case what := <-p.withdraw:
			cancels[what]()
		case <-ctx.Done():
			asked.Wait()
			return terminal.Outcome{Status: terminal.Stopped}, nil
		}
	}
}

// awaitQuestion waits for a message with these words and with buttons.
func (fx *fixture) awaitQuestion(chat, part string) (found gatewaytest.Call) {
	fx.t.Helper()
	calls, ok := fx.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		i := slices.IndexFunc(calls, func(c gatewaytest.Call) bool { return strings.Contains(c.Text, part) && len(c.Buttons) > 0 })
		if i >= 0 {
			found = calls[i]
		}
		return i >= 0
	})
	if !ok {
		fx.t.Fatalf("chat %s was never asked %q, but shown %q", chat, part, texts(calls))
	}
	return found
}

// checkNotTold fails the test if the agent has got an answer about a permission.
func (fx *fixture) checkNotTold(what string) {
	fx.t.Helper()
	for _, text := range texts(fx.net.Sent("1")) {
		if strings.HasPrefix(text, "told of "+what) {
			fx.t.Errorf("the agent was %s", text)
		}
	}
}

func TestWithSeveralQuestionsATypedTextApprovesNone(t *testing.T) {
	t.Parallel()
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	p.ask <- "rm -rf"
	dangerous := fx.awaitText("1", "rm -rf")
	p.ask <- "ls"
	fx.awaitText("1", "ls")
	fx.net.UserWrites("1", "u", "1")
	fx.awaitText("1", whichOne)
	fx.checkNotTold("")
	fx.net.UserReplies("1", "u", dangerous.ID, "2")
	fx.awaitText("1", "told of rm -rf: Reject")
	fx.checkNotTold("ls")
	fx.net.UserWrites("1", "u", "allow") // the only one now, and the last that was asked
	fx.awaitText("1", "told of ls: Allow")
	close(p.ask)
	fx.awaitIdle("1")
}

// The person may not have noticed that the last question has gone.
func TestATypedTextDoesNotAnswerAnOlderQuestion(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(fx *fixture, p *permissionProtocol, last gatewaytest.Call){
		"withdrawn": func(_ *fixture, p *permissionProtocol, _ gatewaytest.Call) { p.withdraw <- "ls" },
		"answered": func(fx *fixture, _ *permissionProtocol, last gatewaytest.Call) {
			fx.net.UserPresses("1", "u", last.Buttons[1])
		},
	} {
		t.Run(how, func(t *testing.T) {
			p := newPermissionProtocol()
			fx := newFixture(t, "true")
			fx.protocol = p
			fx.start()
			fx.net.UserWrites("1", "u", "work")
			p.ask <- "rm -rf"
			dangerous := fx.awaitText("1", "rm -rf")
			p.ask <- "ls"
			end(fx, p, fx.awaitText("1", "ls"))
			fx.awaitText("1", "told of ls")
			fx.net.UserWrites("1", "u", "1")
			fx.awaitText("1", whichOne)
			fx.checkNotTold("rm -rf")
			fx.net.UserPresses("1", "u", dangerous.Buttons[0])
			fx.awaitText("1", "told of rm -rf: Allow")
			close(p.ask)
			fx.awaitIdle("1")
		})
	}
}

func TestAWithdrawnQuestionCannotBeAnswered(t *testing.T) {
	t.Parallel()
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	p.ask <- "first"
	first := fx.awaitText("1", "first")
	p.withdraw <- "first"
	fx.awaitText("1", "told of first:  context canceled")
	p.ask <- "second"
	fx.awaitText("1", "second")
	fx.net.UserPresses("1", "u", first.Buttons[0])
	fx.awaitText("1", notOpen)
	fx.checkNotTold("second")
	fx.net.UserWrites("1", "u", "Allow")
	fx.awaitText("1", "told of second: Allow")
	close(p.ask)
	fx.awaitIdle("1")
}

// What is typed before a question was seen is not about it.
func TestAQuestionThatIsNotShownYetCannotBeAnsweredByTyping(t *testing.T) {
	t.Parallel()
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	var held sync.Once
	fx.net.Fault = func(c gatewaytest.Call) (f gatewaytest.Fault) {
		if strings.HasPrefix(c.Text, "rm -rf") {
			held.Do(func() { f = gatewaytest.Fault{Status: 500} })
		}
		return f
	}
	tried := make(chan struct{})
	var once sync.Once
	fx.startHooked(func(h *hookedStore) {
		h.settled = func(state store.State) {
			if state == store.Pending {
				once.Do(func() { close(tried) })
			}
		}
	})
	fx.net.UserWrites("1", "u", "work")
	p.ask <- "rm -rf"
	<-tried
	fx.net.UserWrites("1", "u", "1")
	fx.awaitText("1", "Queued.")
	fx.checkNotTold("")
	question := fx.awaitText("1", "rm -rf")
	fx.net.UserPresses("1", "u", question.Buttons[1])
	fx.awaitText("1", "told of rm -rf: Reject")
	fx.net.UserWrites("1", "u", "/stop all")
	fx.awaitText("1", "dropped")
}

// awaitShown waits until a message on the network has this text and no buttons.
func (fx *fixture) awaitShown(id, text string) {
	fx.t.Helper()
	calls, ok := fx.net.Await("1", testTimeout, func(all []gatewaytest.Call) bool {
		return slices.ContainsFunc(all, func(c gatewaytest.Call) bool { return c.ID == id && c.Text == text && len(c.Buttons) == 0 })
	})
	if !ok {
		fx.t.Errorf("%s never became %q: %+v", id, text, calls)
	}
}

func TestAQuestionSaysHowItEnded(t *testing.T) {
	t.Parallel()
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	var failed sync.Once
	fx.net.EditFault = func(gatewaytest.Call) (f gatewaytest.Fault) {
		failed.Do(func() { f = gatewaytest.Fault{Status: 500} })
		return f
	}
	fx.start()
	fx.net.UserWrites("1", "ada_l", "work")
	for what, end := range map[string]struct {
		do   func(q gatewaytest.Call)
		says string
	}{
		"pressed":   {func(q gatewaytest.Call) { fx.net.UserPresses("1", "ada_l", q.Buttons[0]) }, `Allow (by ada\_l)`},
		"typed":     {func(gatewaytest.Call) { fx.net.UserWrites("1", "ada_l", "2") }, `Reject (by ada\_l)`},
		"withdrawn": {func(gatewaytest.Call) { p.withdraw <- "withdrawn" }, "no answer"},
	} {
		p.ask <- what
		question := fx.awaitText("1", what)
		end.do(question)
		fx.awaitShown(question.ID, what+"\n\n→ "+end.says)
	}
	p.ask <- "stopped"
	question := fx.awaitText("1", "stopped")
	fx.net.UserWrites("1", "ada_l", "/stop")
	fx.awaitShown(question.ID, "stopped\n\n→ no answer")
	fx.awaitIdle("1")
}

func TestALongQuestionKeepsItsTextWhenItEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4100)
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	p.ask <- long
	question := fx.awaitQuestion("1", long[4000:])
	fx.net.UserPresses("1", "u", question.Buttons[0])
	fx.awaitShown(question.ID, long[4000:]+"\n\n→ Allow (by u)")
	close(p.ask)
	fx.awaitIdle("1")
}

// lateAnswerStore is a store that gets the answer at the moment when the wait has just ended.
type lateAnswerStore struct{ store.Store }

func (s lateAnswerStore) Withdraw(ctx context.Context, id string) (bool, error) {
	in := channels.Incoming{Chat: channels.Chat{Channel: "answers", ID: id}, ID: "late"}
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: in, Settle: true, Reply: &store.Reply{Question: id, Text: "Allow", By: "7"}}); err != nil {
		return false, err
	}
	return s.Store.Withdraw(ctx, id)
}

func TestAnAnswerAtTheLastMomentCounts(t *testing.T) {
	t.Parallel()
	p := newPermissionProtocol()
	fx := newFixture(t, "true")
	fx.protocol = p
	fx.wrapStore = func(s store.Store) store.Store { return lateAnswerStore{s} }
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	p.ask <- "ls"
	fx.awaitText("1", "ls")
	p.withdraw <- "ls"
	fx.awaitText("1", "told of ls: Allow <nil>")
	close(p.ask)
	fx.awaitIdle("1")
}

func TestAQuestionWithoutAnAnswerBeforeACrashIsAskedAgain(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.settings.DrainTimeout, fx.settings.OnCrash = 10*time.Millisecond, "retry"
	runs := 0
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		runs++
		q := terminal.Question{ID: "q", Text: "Sure?", Options: []string{"Yes"}, Timeout: time.Minute}
		if runs == 1 {
			q.Timeout = time.Millisecond
		}
		a, err := tn.Ask(ctx, q)
		_ = tn.Emit(terminal.Frame{Kind: terminal.Message, Text: fmt.Sprintf("run %d: %s %v", runs, a.Text, err)})
		if runs == 1 {
			<-ctx.Done()
			return terminal.Outcome{Status: terminal.Stopped}, nil
		}
		return terminal.Outcome{Status: terminal.Done}, nil
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "run 1:  timeout")
	fx.awaitText("1", "→ no answer")
	fx.stop()
	fx.start()
	again := fx.awaitQuestion("1", "Sure?")
	fx.net.UserPresses("1", "u", again.Buttons[0])
	fx.awaitText("1", "run 2: Yes <nil>")
}

func TestAQuestionIsFoundAfterARestartInAnotherLanguage(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.settings.DrainTimeout, fx.settings.OnCrash = 10*time.Millisecond, "retry"
	var runs atomic.Int32
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		q := terminal.Question{ID: "q", UniqueID: true, Text: "Sicher?", Options: []string{"Ja", "Nein"}}
		if runs.Add(1) > 1 {
			q.Text, q.Options = "Sure?", []string{"Yes", "No"}
		}
		a, err := tn.Ask(ctx, q)
		if ctx.Err() != nil {
			return terminal.Outcome{Status: terminal.Stopped}, nil //nolint:nilerr // the turn was stopped
		}
		_ = tn.Emit(terminal.Frame{Kind: terminal.Message, Text: fmt.Sprintf("run %d: %d %v", runs.Load(), a.Option, err)})
		return terminal.Outcome{Status: terminal.Done}, nil
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	asked := fx.awaitText("1", "Sicher?")
	fx.stop()
	fx.start()
	fx.net.UserPresses("1", "u", asked.Buttons[1])
	fx.awaitText("1", "run 2: 2 <nil>")
	for _, c := range fx.net.Sent("1") {
		if strings.Contains(c.Text, "Sure?") {
			t.Errorf("the question was asked again: %q", c.Text)
		}
	}
}

func TestTheAuditLogNamesApprovalsAndTheirApprovers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	long := strings.Repeat("x", 5000) + "end"
	fx := newFixture(t, "true")
	fx.audit = func(rec audit.Record) {
		mu.Lock()
		defer mu.Unlock()
		if rec.Event == audit.Answer || rec.Event == audit.Decided {
			got = append(got, fmt.Sprintf("%s %q %s %s %d", rec.Event, rec.Title, rec.Decision, rec.User.ID, rec.Run))
		}
	}
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		_ = tn.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: `permission: read "x": Allow by rule`, Audit: true})
		_ = tn.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: "nothing"})
		_ = tn.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: "permission: " + terminal.AuditQuote(long) + ": by ann", Audit: true})
		_, err := tn.Ask(ctx, terminal.Question{Text: "Run make?\nwith all that follows", Options: []string{"Allow", "Reject"}})
		return terminal.Outcome{Status: terminal.Done}, err
	})
	fx.start()
	fx.net.UserWrites("1", "7", "work")
	question := fx.awaitText("1", "Run make?")
	fx.net.UserPresses("1", "7", question.Buttons[0])
	fx.awaitText("1", "→ Allow (by 7)")
	mu.Lock()
	defer mu.Unlock()
	want := []string{`decision "permission: read \"x\": Allow by rule"  7 1`, fmt.Sprintf("decision %q  7 1", "permission: "+terminal.AuditQuote(long)+": by ann"), `answer "" Allow 7 1`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADocumentThatTheNetworkDoesNotTakeIsAnErrorBeforeItsQuestion(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel {
		c.MaxFile = 1 << 10
		return c
	}
	fx.protocol = protocolFunc(func(_ context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		large := terminal.SendDocument(tn.Words, "large.txt", strings.Repeat("x", 1<<11), tn.Emit)
		empty := terminal.SendDocument(tn.Words, "empty.txt", "", tn.Emit) // which no rule for files lets pass
		small := terminal.SendDocument(tn.Words, "small.txt", "x", tn.Emit)
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: fmt.Sprint(large != nil, empty != nil, small)})
	})
	fx.start()
	fx.net.UserWrites("1", "7", "work")
	fx.awaitText("1", "true true <nil>")
	for _, c := range fx.net.Sent("1") {
		if strings.Contains(c.Text, "not sent") {
			t.Errorf("said %q", c.Text)
		}
	}
}
