package intake_test

import (
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// askQuestion lets the turn of ann's chat ask a question, and returns the network's ID of the
// question's message.
func (r *fixture) askQuestion(id string, options ...string) (receipt string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{ID: id, Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Really?", Options: options, Within: time.Hour}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	return receiptOf(r.checkStored(chat, "Really?")[0])
}

func TestAQuestionIsAnsweredByNumberByTextOrByPress(t *testing.T) {
	for said, want := range map[string]string{"2": "No, never", " no, NEVER ": "No, never", "1": "Yes", "press 2": "No, never", "0": "", "3": "", "maybe": "", "press 3": ""} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.writeMessage("ann", "hello")
				r.askQuestion("q", "Yes", "No, never")
				var number int
				pressed, _ := fmt.Sscanf(said, "press %d", &number)
				switch {
				case pressed == 1 && want == "":
					r.pressButton("ann", fmt.Sprint("answer:q:", number), "This question is no longer open.")
				case pressed == 1:
					r.pressButton("ann", fmt.Sprint("answer:q:", number))
				default:
					r.writeMessage("ann", said)
				}
				if want == "" {
					r.checkEqual("answers", r.answered, []string(nil))
					return
				}
				r.checkEqual("answers", r.answered, []string{"q: " + want + " by ann"})
				r.checkEqual("the question shows", r.outbox.ended, []string{"q: " + want + " (by Name of ann)"})
				r.checkEqual("records", r.decisions(), []string{"answer " + want})
				r.checkEqual("the state of the message", r.recent(chatOf("ann"))[0].State, store.Done)
			})
		})
	}
}

func TestAQuestionOfATurnThatDoesNotRunCannotBeAnsweredByTyping(t *testing.T) {
	runIntake(t, func(r *fixture) {
		asking := r.writeMessage("ann", "hello")
		r.askQuestion("q")
		delete(r.lanes.turns, chatOf("ann"))
		if err := r.store.Requeue(r.t.Context(), asking.ID, false); err != nil { // as after a crash
			r.t.Fatal(err)
		}
		r.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		r.writeMessage("ann", "something else")
		r.checkEqual("answers", r.answered, []string(nil))
		r.checkEqual("the message has a turn", r.runningTurn("ann").inbound.In.Text, "something else")
	})
}

func TestAnyTextAnswersAQuestionWithoutOptions(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askQuestion("q")
		r.writeMessage("ann", "*both* of them\nplease ")
		r.checkEqual("answers", r.answered, []string{"q: *both* of them\nplease  by ann"})
		r.checkEqual("the question shows", r.outbox.ended, []string{`q: \*both\* of them (by Name of ann)`})
		r.checkEqual("records", r.decisions(), []string{"answer text"}) // what they wrote is no decision
	})
}

func TestTheSecondOfTwoAnswersOfOnePersonIsNotRecorded(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askQuestion("q", "Yes", "No")
		r.lanes.onAccept = func() { // while the press of the other button is received
			r.lanes.onAccept = nil
			r.pressButton("ann", "answer:q:1")
		}
		r.pressButton("ann", "answer:q:2")
		r.checkEqual("records", r.decisions(), []string{"answer Yes"})
		r.checkEqual("the question shows", r.outbox.ended, []string{"q: Yes (by Name of ann)"})
	})
}

func TestOnlyTheFirstAnswerCountsAndOnlyInItsChat(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askQuestion("q", "Yes", "No")
		r.pressButton("bob", "answer:q:1", "This question is no longer open.")
		r.pressButton("ann", "answer:q:2")
		r.pressButton("ann", "answer:q:1") // they may have pressed twice
		r.checkEqual("answers", r.answered, []string{"q: No by ann"})
		r.writeMessage("ann", "1")
	})
}

func TestAnExpiredOrWithdrawnQuestionCannotBeAnswered(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askQuestion("expired", "Yes", "No")
		time.Sleep(time.Hour)
		r.pressButton("ann", "answer:expired:1", "This question is no longer open.")
		r.askQuestion("withdrawn", "Yes", "No")
		if ok, err := r.store.Withdraw(r.t.Context(), "withdrawn"); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.pressButton("ann", "answer:withdrawn:1", "This question is no longer open.")
		r.checkEqual("the questions show", r.outbox.ended, []string{"expired: no answer", "withdrawn: no answer"})
		r.writeMessage("ann", "yes")
		r.pressButton("ann", "answer:unheard-of:1", "This question is no longer open.")
		r.pressButton("ann", "nothing of ours")
		r.checkEqual("answers", r.answered, []string(nil))
	})
}

func TestTypedTextThatCouldAnswerTwoQuestionsAnswersNeither(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		first := r.askQuestion("q1", "Yes", "No")
		r.askQuestion("q2", "Yes", "No")
		r.writeMessage("ann", "yes", "Which question do you mean? Press a button under it, or reply to it.")
		r.writeMessage("ann", "what?") // which is no answer to any of them
		r.checkEqual("answers", r.answered, []string(nil))
		in := r.message("ann", "yes")
		in.ReplyTo = &channels.Quote{ID: first}
		r.receive(in)
		r.checkEqual("answers", r.answered, []string{"q1: Yes by ann"})
	})
}

func TestWithoutARunningTurnTypedTextIsAMessage(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askQuestion("q", "Yes", "No")
		delete(r.lanes.turns, chatOf("ann")) // a daemon that was started again has not run it again yet
		r.writeMessage("ann", "yes")
		r.checkEqual("answers", r.answered, []string(nil))
		r.checkInbounds("ann", "hello running", "yes pending")
	})
}
