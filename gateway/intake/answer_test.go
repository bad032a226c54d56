package intake_test

import (
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// ask has the turn of ann's chat ask something, and returns the network's id of the question's
// message.
func (r *rig) ask(id string, options ...string) (receipt string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{ID: id, Inbound: r.running("ann").inbound.ID, Chat: chat, Text: "Really?", Options: options, Within: time.Hour}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	return receiptOf(r.told(chat, "Really?")[0])
}

func TestAQuestionIsAnsweredByNumberByWordOrByPress(t *testing.T) {
	for said, want := range map[string]string{"2": "No, never", " no, NEVER ": "No, never", "1": "Yes", "press 2": "No, never", "0": "", "3": "", "maybe": "", "press 3": ""} {
		t.Run(said, func(t *testing.T) {
			simulate(t, func(r *rig) {
				r.say("ann", "hello")
				r.ask("q", "Yes", "No, never")
				var number int
				pressed, _ := fmt.Sscanf(said, "press %d", &number)
				switch {
				case pressed == 1 && want == "":
					r.press("ann", fmt.Sprint("answer:q:", number), "This question is no longer open.")
				case pressed == 1:
					r.press("ann", fmt.Sprint("answer:q:", number))
				case want == "":
					r.say("ann", said, "Queued")
				default:
					r.say("ann", said)
				}
				if want == "" {
					r.same("answers", r.answered, []string(nil))
					return
				}
				r.same("answers", r.answered, []string{"q: " + want + " by ann"})
				r.same("the question shows", r.outbox.ended, []string{"q: " + want + " (by Name of ann)"})
				r.same("records", r.decisions(), []string{"answer " + want})
				r.same("the state of the message", r.recent(chatOf("ann"))[0].State, store.Done)
			})
		})
	}
}

func TestAQuestionOfATurnThatDoesNotRunTakesNoWords(t *testing.T) {
	simulate(t, func(r *rig) {
		asking := r.say("ann", "hello")
		r.ask("q")
		delete(r.lanes.turns, chatOf("ann"))
		if err := r.store.Requeue(r.t.Context(), asking.ID, false); err != nil { // as after a crash
			r.t.Fatal(err)
		}
		r.say("ann", "/stop", "1 waiting message dropped.")
		r.say("ann", "something else")
		r.same("answers", r.answered, []string(nil))
		r.same("the message has a turn", r.running("ann").inbound.In.Text, "something else")
	})
}

func TestAnyWordsAnswerAQuestionWithoutOptions(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		r.ask("q")
		r.say("ann", "*both* of them\nplease ")
		r.same("answers", r.answered, []string{"q: *both* of them\nplease  by ann"})
		r.same("the question shows", r.outbox.ended, []string{`q: \*both\* of them (by Name of ann)`})
		r.same("records", r.decisions(), []string{"answer text"}) // what they wrote is no decision
	})
}

func TestOnlyTheFirstAnswerCountsAndOnlyInItsChat(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		r.ask("q", "Yes", "No")
		r.press("bob", "answer:q:1", "This question is no longer open.")
		r.press("ann", "answer:q:2")
		r.press("ann", "answer:q:1") // they may have pressed twice
		r.same("answers", r.answered, []string{"q: No by ann"})
		r.say("ann", "1", "Queued")
	})
}

func TestAQuestionThatHasExpiredOrWasWithdrawnTakesNoAnswer(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		r.ask("expired", "Yes", "No")
		time.Sleep(time.Hour)
		r.press("ann", "answer:expired:1", "This question is no longer open.")
		r.ask("withdrawn", "Yes", "No")
		if ok, err := r.store.Withdraw(r.t.Context(), "withdrawn"); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.press("ann", "answer:withdrawn:1", "This question is no longer open.")
		r.say("ann", "yes", "Queued, number 1 in line.")
		r.press("ann", "answer:unheard-of:1", "This question is no longer open.")
		r.press("ann", "nothing of ours")
		r.same("answers", r.answered, []string(nil))
	})
}

func TestTypedWordsThatCouldMeanTwoQuestionsAnswerNeither(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		first := r.ask("q1", "Yes", "No")
		r.ask("q2", "Yes", "No")
		r.say("ann", "yes", "Which question do you mean? Press a button under it, or reply to it.")
		r.say("ann", "what?", "Queued") // which is no answer to any of them
		r.same("answers", r.answered, []string(nil))
		in := r.message("ann", "yes")
		in.ReplyTo = &channels.Quote{ID: first}
		r.receive(in)
		r.same("answers", r.answered, []string{"q1: Yes by ann"})
	})
}

func TestWithoutATurnThatRunsWordsAreAMessage(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		r.ask("q", "Yes", "No")
		delete(r.lanes.turns, chatOf("ann")) // a daemon that was started anew has not run it again yet
		r.say("ann", "yes")
		r.same("answers", r.answered, []string(nil))
		r.has("ann", "hello running", "yes pending")
	})
}
