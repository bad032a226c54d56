package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/terminal"
)

// askingProtocol asks a question and prints how it ended.
func askingProtocol(q terminal.Question) protocolFunc {
	return func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		a, err := tn.Ask(ctx, q)
		text := fmt.Sprintf("%s by %s", a.Text, a.By)
		if err != nil {
			text = "error: " + err.Error()
		}
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: text})
	}
}

const notOpen = "This question is no longer open."

func TestOnlyAdmittedPeopleAnswerAQuestionAndOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.settings.AllowFrom = map[string][]string{"net": {"7", "8"}}
	fx.protocol = askingProtocol(terminal.Question{ID: "q", Text: "Run it?", Options: []string{"Allow", "Reject"}})
	fx.start()
	fx.net.UserWrites("1", "7", "work")
	question := fx.awaitText("1", "Run it?")
	fx.net.UserPresses("1", "stranger", question.Buttons[0])
	fx.awaitText("1", "This bot is private.") // and nothing else came of it
	fx.net.UserPresses("2", "8", question.Buttons[0])
	fx.awaitText("2", notOpen) // not in another chat
	fx.net.UserPresses("1", "8", question.Buttons[1])
	fx.net.UserPresses("1", "7", question.Buttons[0])
	fx.awaitText("1", "Reject by 8")
	fx.net.UserPresses("1", "7", question.Buttons[0])
	fx.net.UserWrites("1", "7", "/whoami") // when this is answered, the others were received
	fx.awaitText("1", "user id: 7")
	if got := texts(fx.net.Sent("1")); len(got) != 4 {
		t.Errorf("was shown %q", got)
	}
}

func TestAQuestionIsOpenForAsLongAsItSays(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	ask := askingProtocol(terminal.Question{Text: "Quick?", Options: []string{"Yes", "No"}, Timeout: 300 * time.Millisecond})
	asked, goOn := make(chan gatewaytest.Call, 1), make(chan struct{})
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if strings.HasPrefix(c.Text, "Quick?") {
			select {
			case asked <- c: // the chat may show it with its buttons for a moment only
			default: // it is asked again, which the end of the test does not expect
			}
		}
		return gatewaytest.Fault{}
	}
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		out, err := ask(ctx, tn)
		<-goOn
		return out, err
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	question := <-asked
	fx.awaitText("1", "error: timeout")
	for _, when := range []string{"while the turn runs", "when it has ended"} {
		before := len(fx.net.Sent("1"))
		fx.net.UserPresses("1", "u", question.Buttons[0])
		if calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) > before }); !ok || calls[before].Text != notOpen {
			t.Errorf("%s: was shown %q", when, texts(calls))
		}
		if before == 2 {
			close(goOn)
			fx.awaitIdle("1")
		}
	}
	fx.net.UserWrites("2", "u", "/whoami")
	fx.awaitText("2", "user id")
	fx.awaitIdle("1")
	if got := texts(fx.net.Sent("1")); len(got) != 4 { // the presses began no turn
		t.Errorf("was shown %q", got)
	}
}

func TestAQuestionEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		_, err := tn.Ask(ctx, terminal.Question{Text: "Sure?", Options: []string{"Yes"}})
		return terminal.Outcome{Status: terminal.Stopped}, tn.Emit(terminal.Frame{Kind: terminal.Error, Text: "ended: " + err.Error()})
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	question := fx.awaitText("1", "Sure?")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "ended: stopped by the user")
	fx.awaitIdle("1")
	fx.net.UserPresses("1", "u", question.Buttons[0])
	fx.awaitText("1", notOpen)
}

// An agent that asks the same twice means it: what was allowed once is not allowed again.
func TestTheSameQuestionAgainIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	q := terminal.Question{ID: "call-1", Text: "Delete it?", Options: []string{"Allow", "Reject"}}
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		var work sync.WaitGroup
		answers := make(chan string, 3)
		ask := func() {
			if a, err := tn.Ask(ctx, q); err == nil {
				answers <- a.Text
			}
		}
		ask()
		work.Go(ask)
		work.Go(ask)
		work.Wait()
		close(answers)
		var all []string
		for a := range answers {
			all = append(all, a)
		}
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: strings.Join(all, ",")})
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	pressed := map[string]bool{}
	for n, option := range []int{0, 1, 1} {
		calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool {
			for _, call := range c {
				if len(call.Buttons) == 2 && !pressed[call.Buttons[0]] {
					return true
				}
			}
			return false
		})
		if !ok {
			t.Fatalf("asked %d times", n)
		}
		for _, call := range calls {
			if len(call.Buttons) == 2 && !pressed[call.Buttons[0]] {
				pressed[call.Buttons[0]] = true
				fx.net.UserPresses("1", "u", call.Buttons[option])
				break
			}
		}
	}
	fx.awaitText("1", "Allow,Reject,Reject")
}
