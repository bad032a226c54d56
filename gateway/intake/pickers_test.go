package intake_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// offerPicker lets the turn of ann's chat post a picker, and ends the turn.
func (r *fixture) offerPicker(id string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{
		ID: id, Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Which?", Options: []string{"Small", "Large"}, Commands: []string{"/model s", "/model l"},
	}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	r.checkStored(chat, "Which?")
	r.finishTurn("ann")
}

func TestAChoiceFromAPickerIsAMessageWithItsCommand(t *testing.T) {
	for said, want := range map[string]string{"press": "/model l", "2": "/model l", " LARGE ": "/model l", "1": "/model s"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.writeMessage("ann", "/model")
				r.offerPicker("p")
				if said == "press" {
					r.pressButton("ann", "answer:p:2")
				} else {
					r.writeMessage("ann", said)
				}
				r.checkEqual("the turn", r.runningTurn("ann").inbound.In.Text, want)
				r.checkEqual("the picker shows", len(r.outbox.ended), 1)
				r.pressButton("ann", "answer:p:1") // they may have pressed twice
				r.finishTurn("ann")
				r.checkEqual("turns", len(r.lanes.turns), 0)
			})
		})
	}
}

func TestTheTurnOfAChoiceDoesNotCloseItsPickerFirst(t *testing.T) {
	for _, said := range []string{"press", "2"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.writeMessage("ann", "/model")
				r.offerPicker("p")
				r.lanes.onClaim = func() { // each turn closes the pickers of its chat as it begins
					if err := r.outbox.ClosePickers(r.t.Context(), chatOf("ann"), 0, r.options.Words.For("")); err != nil {
						t.Error(err)
					}
				}
				if said == "press" {
					r.pressButton("ann", "answer:p:2")
				} else {
					r.writeMessage("ann", said)
				}
				r.checkEqual("the turn", r.runningTurn("ann").inbound.In.Text, "/model l")
				r.checkEqual("the picker shows", r.outbox.ended, []string{"p: Large (by Name of ann)"})
			})
		})
	}
}

func TestAnyOtherMessageOrCommandClosesAPicker(t *testing.T) {
	for _, said := range []string{"hello", "3", "/whoami", "/stop", "/status"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.writeMessage("ann", "/model")
				r.offerPicker("p")
				if err := r.Receive(r.t.Context(), r.message("ann", said)); err != nil {
					t.Fatal(err)
				}
				r.settleAll(chatOf("ann"))
				r.checkEqual("the picker shows", r.outbox.ended, []string{"p: nothing chosen"})
				r.pressButton("ann", "answer:p:1", "This question is no longer open.")
				if turn := r.lanes.turns[chatOf("ann")]; turn != nil {
					r.checkEqual("the turn", turn.inbound.In.Text, said)
				}
			})
		})
	}
}

func TestAMessageThatIsDeliveredAgainLeavesANewerPickerOpen(t *testing.T) {
	for _, said := range []string{"2", "hello", "/whoami", "choice"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				var in channels.Incoming
				if said == "choice" {
					in = r.message("ann", "")
					in.Press = r.offerChoices("ann", "2")[0]
				} else {
					r.writeMessage("ann", "/model")
					r.offerPicker("p1")
					in = r.message("ann", said)
				}
				if err := r.Receive(r.t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if r.lanes.turns[chatOf("ann")] != nil {
					r.finishTurn("ann")
				}
				r.settleAll(chatOf("ann"))
				r.writeMessage("ann", "/model")
				r.offerPicker("p2")
				r.outbox.ended = nil
				r.receive(in) // which the network has delivered again
				r.checkEqual("closed pickers", r.outbox.ended, []string(nil))
				r.pressButton("ann", "answer:p2:2")
				r.checkEqual("the turn", r.runningTurn("ann").inbound.In.Text, "/model l")
			})
		})
	}
}

func TestAPickerOfAnotherChatStaysOpen(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "/model")
		r.offerPicker("p")
		r.writeMessage("bob", "2")
		r.pressButton("bob", "answer:p:2", "This question is no longer open.")
		r.checkEqual("closed pickers", r.outbox.ended, []string(nil))
		r.pressButton("ann", "answer:p:2")
		r.checkEqual("the turn", r.runningTurn("ann").inbound.In.Text, "/model l")
	})
}

func TestOnlyApproversChooseFromAPickerThatPermitsSomething(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "/mode")
		chat := chatOf("ann")
		q := store.Question{
			ID: "p", Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Options: []string{"A"}, Commands: []string{"/mode a"}, Approval: true,
		}
		if err := r.store.Ask(r.t.Context(), q, store.Outbound{}); err != nil {
			t.Fatal(err)
		}
		r.finishTurn("ann")
		r.pressButton("ann", "answer:p:1", onlyApprovers)
		r.checkEqual("closed pickers", r.outbox.ended, []string(nil))
		r.receive(r.messageInChat("ann", "bob", "", "answer:p:1"))
		in := r.runningTurn("ann").inbound.In
		r.checkEqual("the turn", in.Text+" of "+in.User.ID, "/mode a of bob")
	})
}

// askPermission lets the turn of ann's chat ask for a permission that other texts dismiss.
func (r *fixture) askPermission(id string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{
		ID: id, Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Run it?", Options: []string{"Yes", "No"}, Approval: true, OtherText: store.OtherTextDismisses,
	}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	r.checkStored(chat, "Run it?")
}

func TestAnotherTextDismissesAPermissionAndIsTheNextMessage(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject} {
		t.Run(string(how), func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.WhileRunning = how
				r.writeMessage("ann", "work")
				r.askPermission("q")
				r.writeMessage("bob", "hello") // in another chat
				r.checkEqual("answers", r.answered, []string(nil))
				other := r.message("ann", "do something else")
				r.receive(other)
				r.checkEqual("answers", r.answered, []string{"q: dismissed by ann"})
				r.checkEqual("the question shows", r.outbox.ended, []string{"q: refused, since Name of ann wrote something else"})
				r.askPermission("q2")
				r.receive(other) // which the network has delivered again
				r.pressButton("ann", "answer:q2:1")
				r.checkEqual("answers", r.answered, []string{"q: dismissed by ann", "q2: Yes by ann"})
				r.checkInbounds("ann", "work running", "do something else pending", "answer:q2:1 done")
			})
		})
	}
}

func TestAQuestionThatAsksForNoPermissionIsCancelledByAnotherText(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "work")
		chat := chatOf("ann")
		q := store.Question{
			ID: "q", Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Open it.", Options: []string{"Done", "Cancel"}, OtherText: store.OtherTextDismisses,
		}
		if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
			t.Fatal(err)
		}
		r.outbox.Wake(chat)
		r.checkStored(chat, "Open it.")
		r.writeMessage("ann", "do something else")
		r.checkEqual("the question shows", r.outbox.ended, []string{"q: cancelled, since Name of ann wrote something else"})
	})
}

func TestTheTextOfSomebodyWhoMayNotApproveDismissesNothing(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "work")
		r.askPermission("q")
		r.writeMessage("ann", "do something else")
		r.checkEqual("answers", r.answered, []string(nil))
		r.receive(r.messageInChat("ann", "bob", "no, something else", ""))
		r.checkEqual("answers", r.answered, []string{"q: dismissed by bob"})
	})
}

func TestAnyTextAnswersAQuestionWithOptionsThatAcceptsIt(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		chat := chatOf("ann")
		q := store.Question{
			ID: "q", Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Name?", Options: []string{"Skip"}, OtherText: store.OtherTextAnswers,
		}
		if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
			t.Fatal(err)
		}
		r.outbox.Wake(chat)
		r.checkStored(chat, "Name?")
		r.writeMessage("ann", "*Ada*")
		r.checkEqual("answers", r.answered, []string{"q: *Ada* by ann"})
		r.checkEqual("the question shows", r.outbox.ended, []string{`q: \*Ada\* (by Name of ann)`})
	})
}
