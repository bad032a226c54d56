package intake_test

import (
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askQuestion lets the turn of ann's chat ask a question, and returns the network's ID of the
// question's message.
func (fx *fixture) askQuestion(id string, options ...string) (receipt string) {
	fx.t.Helper()
	chat := chatOf("ann")
	q := store.Question{Question: terminal.Question{ID: id, Text: "Really?", Options: options, Timeout: time.Hour}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
	if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		fx.t.Fatal(err)
	}
	fx.outbox.Wake(chat)
	return receiptOf(fx.checkStored(chat, "Really?")[0])
}

func TestAQuestionIsAnsweredByNumberByTextOrByPress(t *testing.T) {
	for said, want := range map[string]string{"2": "No, never", " no, NEVER ": "No, never", "1": "Yes", "press 2": "No, never", "0": "", "3": "", "maybe": "", "press 3": ""} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.writeMessage("ann", "hello")
				fx.askQuestion("q", "Yes", "No, never")
				var number int
				pressed, _ := fmt.Sscanf(said, "press %d", &number)
				switch {
				case pressed == 1 && want == "":
					fx.pressButton("ann", fmt.Sprint("answer:q:", number), "This question is no longer open.")
				case pressed == 1:
					fx.pressButton("ann", fmt.Sprint("answer:q:", number))
				default:
					fx.writeMessage("ann", said)
				}
				if want == "" {
					fx.checkEqual("answers", fx.answered, []string(nil))
					return
				}
				fx.checkEqual("answers", fx.answered, []string{"q: " + want + " by ann"})
				fx.checkEqual("the question shows", fx.outbox.ended, []string{"q: " + want + " (by Name of ann)"})
				fx.checkEqual("records", fx.decisions(), []string{"answer " + want})
				fx.checkEqual("the state of the message", fx.recent(chatOf("ann"))[0].State, store.Done)
			})
		})
	}
}

func TestAQuestionOfATurnThatDoesNotRunCannotBeAnsweredByTyping(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		asking := fx.writeMessage("ann", "hello")
		fx.askQuestion("q")
		delete(fx.lanes.turns, chatOf("ann"))
		if err := fx.store.Requeue(fx.t.Context(), asking.ID, false); err != nil { // as after a crash
			fx.t.Fatal(err)
		}
		fx.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		fx.writeMessage("ann", "something else")
		fx.checkEqual("answers", fx.answered, []string(nil))
		fx.checkEqual("the message has a turn", fx.runningTurn("ann").inbound.In.Text, "something else")
	})
}

func TestAnyTextAnswersAQuestionWithoutOptions(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askQuestion("q")
		fx.writeMessage("ann", "*both* of them\nplease ")
		fx.checkEqual("answers", fx.answered, []string{"q: *both* of them\nplease  by ann"})
		fx.checkEqual("the question shows", fx.outbox.ended, []string{`q: \*both\* of them (by Name of ann)`})
		fx.checkEqual("records", fx.decisions(), []string{"answer text"}) // what they wrote is no decision
	})
}

func TestTheSecondOfTwoAnswersOfOnePersonIsNotRecorded(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askQuestion("q", "Yes", "No")
		fx.lanes.onAccept = func() { // while the press of the other button is received
			fx.lanes.onAccept = nil
			fx.pressButton("ann", "answer:q:1")
		}
		fx.pressButton("ann", "answer:q:2")
		fx.checkEqual("records", fx.decisions(), []string{"answer Yes"})
		fx.checkEqual("the question shows", fx.outbox.ended, []string{"q: Yes (by Name of ann)"})
	})
}

func TestOnlyTheFirstAnswerCountsAndOnlyInItsChat(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askQuestion("q", "Yes", "No")
		fx.pressButton("bob", "answer:q:1", "This question is no longer open.")
		fx.pressButton("ann", "answer:q:2")
		fx.pressButton("ann", "answer:q:1") // they may have pressed twice
		fx.checkEqual("answers", fx.answered, []string{"q: No by ann"})
		fx.writeMessage("ann", "1")
	})
}

func TestAnExpiredOrWithdrawnQuestionCannotBeAnswered(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askQuestion("expired", "Yes", "No")
		time.Sleep(time.Hour)
		fx.pressButton("ann", "answer:expired:1", "This question is no longer open.")
		fx.askQuestion("withdrawn", "Yes", "No")
		if ok, err := fx.store.Withdraw(fx.t.Context(), "withdrawn"); !ok || err != nil {
			fx.t.Fatal(ok, err)
		}
		fx.pressButton("ann", "answer:withdrawn:1", "This question is no longer open.")
		fx.checkEqual("the questions show", fx.outbox.ended, []string{"expired: no answer", "withdrawn: no answer"})
		fx.writeMessage("ann", "yes")
		fx.pressButton("ann", "answer:unheard-of:1", "This question is no longer open.")
		fx.pressButton("ann", "nothing of ours")
		fx.checkEqual("answers", fx.answered, []string(nil))
	})
}

func TestTypedTextThatCouldAnswerTwoQuestionsAnswersNeither(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		first := fx.askQuestion("q1", "Yes", "No")
		fx.askQuestion("q2", "Yes", "No")
		fx.writeMessage("ann", "yes", "Which question do you mean? Press a button under it, or reply to it.")
		fx.writeMessage("ann", "what?") // which is no answer to any of them
		fx.checkEqual("answers", fx.answered, []string(nil))
		in := fx.message("ann", "yes")
		in.ReplyTo = &channels.Quote{ID: first}
		fx.receive(in)
		fx.checkEqual("answers", fx.answered, []string{"q1: Yes by ann"})
	})
}

func TestWithoutARunningTurnTypedTextIsAMessage(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askQuestion("q", "Yes", "No")
		delete(fx.lanes.turns, chatOf("ann")) // a daemon that was started again has not run it again yet
		fx.writeMessage("ann", "yes")
		fx.checkEqual("answers", fx.answered, []string(nil))
		fx.checkInbounds("ann", "hello running", "yes pending")
	})
}
