package intake_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// offerPicker lets the turn of ann's chat post a picker, and ends the turn.
func (fx *fixture) offerPicker(id string) {
	fx.t.Helper()
	chat := chatOf("ann")
	q := store.Question{Question: terminal.Question{ID: id, Text: "Which?", Options: []string{"Small", "Large"}, Commands: []string{"/model s", "/model l"}}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
	if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		fx.t.Fatal(err)
	}
	fx.outbox.Wake(chat)
	fx.checkStored(chat, "Which?")
	fx.finishTurn("ann")
}

func TestAChoiceFromAPickerIsAMessageWithItsCommand(t *testing.T) {
	for said, want := range map[string]string{"press": "/model l", "2": "/model l", " LARGE ": "/model l", "1": "/model s"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.writeMessage("ann", "/model")
				fx.offerPicker("p")
				if said == "press" {
					fx.pressButton("ann", "answer:p:2")
				} else {
					fx.writeMessage("ann", said)
				}
				fx.checkEqual("the turn", fx.runningTurn("ann").inbound.In.Text, want)
				fx.checkEqual("the picker shows", len(fx.outbox.ended), 1)
				fx.pressButton("ann", "answer:p:1") // they may have pressed twice
				fx.finishTurn("ann")
				fx.checkEqual("turns", len(fx.lanes.turns), 0)
			})
		})
	}
}

func TestTheTurnOfAChoiceDoesNotCloseItsPickerFirst(t *testing.T) {
	for _, said := range []string{"press", "2"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.writeMessage("ann", "/model")
				fx.offerPicker("p")
				fx.lanes.onClaim = func() { // each turn closes the pickers of its chat as it begins
					if err := fx.outbox.ClosePickers(fx.t.Context(), chatOf("ann"), 0, fx.options.Words.For("")); err != nil {
						t.Error(err)
					}
				}
				if said == "press" {
					fx.pressButton("ann", "answer:p:2")
				} else {
					fx.writeMessage("ann", said)
				}
				fx.checkEqual("the turn", fx.runningTurn("ann").inbound.In.Text, "/model l")
				fx.checkEqual("the picker shows", fx.outbox.ended, []string{"p: Large (by Name of ann)"})
			})
		})
	}
}

func TestAnyOtherMessageOrCommandClosesAPicker(t *testing.T) {
	for _, said := range []string{"hello", "3", "/whoami", "/stop", "/status"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.writeMessage("ann", "/model")
				fx.offerPicker("p")
				if err := fx.Receive(fx.t.Context(), fx.message("ann", said)); err != nil {
					t.Fatal(err)
				}
				fx.settleAll(chatOf("ann"))
				fx.checkEqual("the picker shows", fx.outbox.ended, []string{"p: nothing chosen"})
				fx.pressButton("ann", "answer:p:1", "This question is no longer open.")
				if turn := fx.lanes.turns[chatOf("ann")]; turn != nil {
					fx.checkEqual("the turn", turn.inbound.In.Text, said)
				}
			})
		})
	}
}

func TestAMessageThatIsDeliveredAgainLeavesANewerPickerOpen(t *testing.T) {
	for _, said := range []string{"2", "hello", "/whoami", "choice"} {
		t.Run(said, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				var in channels.Incoming
				if said == "choice" {
					in = fx.message("ann", "")
					in.Press = fx.offerChoices("ann", "2")[0]
				} else {
					fx.writeMessage("ann", "/model")
					fx.offerPicker("p1")
					in = fx.message("ann", said)
				}
				if err := fx.Receive(fx.t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if fx.lanes.turns[chatOf("ann")] != nil {
					fx.finishTurn("ann")
				}
				fx.settleAll(chatOf("ann"))
				fx.writeMessage("ann", "/model")
				fx.offerPicker("p2")
				fx.outbox.ended = nil
				fx.receive(in) // which the network has delivered again
				fx.checkEqual("closed pickers", fx.outbox.ended, []string(nil))
				fx.pressButton("ann", "answer:p2:2")
				fx.checkEqual("the turn", fx.runningTurn("ann").inbound.In.Text, "/model l")
			})
		})
	}
}

func TestAPickerOfAnotherChatStaysOpen(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "/model")
		fx.offerPicker("p")
		fx.writeMessage("bob", "2")
		fx.pressButton("bob", "answer:p:2", "This question is no longer open.")
		fx.checkEqual("closed pickers", fx.outbox.ended, []string(nil))
		fx.pressButton("ann", "answer:p:2")
		fx.checkEqual("the turn", fx.runningTurn("ann").inbound.In.Text, "/model l")
	})
}

func TestOnlyApproversChooseFromAPickerThatPermitsSomething(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "/mode")
		chat := chatOf("ann")
		q := store.Question{Question: terminal.Question{ID: "p", Options: []string{"A"}, Commands: []string{"/mode a"}, Approval: true}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
		if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{}); err != nil {
			t.Fatal(err)
		}
		fx.finishTurn("ann")
		fx.pressButton("ann", "answer:p:1", onlyApprovers)
		fx.checkEqual("closed pickers", fx.outbox.ended, []string(nil))
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:p:1"))
		in := fx.runningTurn("ann").inbound.In
		fx.checkEqual("the turn", in.Text+" of "+in.User.ID, "/mode a of bob")
	})
}

// askPermission lets the turn of ann's chat ask for a permission that other texts dismiss.
func (fx *fixture) askPermission(id string) {
	fx.t.Helper()
	chat := chatOf("ann")
	q := store.Question{Question: terminal.Question{ID: id, Text: "Run it?", Options: []string{"Yes", "No"}, Approval: true, OtherText: terminal.OtherTextDismisses}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
	if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		fx.t.Fatal(err)
	}
	fx.outbox.Wake(chat)
	fx.checkStored(chat, "Run it?")
}

func TestAnotherTextDismissesAPermissionAndIsTheNextMessage(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject} {
		t.Run(string(how), func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = how
				fx.writeMessage("ann", "work")
				fx.askPermission("q")
				fx.writeMessage("bob", "hello") // in another chat
				fx.checkEqual("answers", fx.answered, []string(nil))
				other := fx.message("ann", "do something else")
				fx.receive(other)
				fx.checkEqual("answers", fx.answered, []string{"q: dismissed by ann"})
				fx.checkEqual("the question shows", fx.outbox.ended, []string{"q: refused, since Name of ann wrote something else"})
				fx.askPermission("q2")
				fx.receive(other) // which the network has delivered again
				fx.pressButton("ann", "answer:q2:1")
				fx.checkEqual("answers", fx.answered, []string{"q: dismissed by ann", "q2: Yes by ann"})
				fx.checkInbounds("ann", "work running", "do something else pending", "answer:q2:1 done")
			})
		})
	}
}

func TestAQuestionThatAsksForNoPermissionIsCancelledByAnotherText(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "work")
		chat := chatOf("ann")
		q := store.Question{Question: terminal.Question{ID: "q", Text: "Open it.", Options: []string{"Done", "Cancel"}, OtherText: terminal.OtherTextDismisses}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
		if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
			t.Fatal(err)
		}
		fx.outbox.Wake(chat)
		fx.checkStored(chat, "Open it.")
		fx.writeMessage("ann", "do something else")
		fx.checkEqual("the question shows", fx.outbox.ended, []string{"q: cancelled, since Name of ann wrote something else"})
	})
}

func TestTheTextOfSomebodyWhoMayNotApproveDismissesNothing(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "work")
		fx.askPermission("q")
		fx.writeMessage("ann", "do something else")
		fx.checkEqual("answers", fx.answered, []string(nil))
		fx.receive(fx.messageInChat("ann", "bob", "no, something else", ""))
		fx.checkEqual("answers", fx.answered, []string{"q: dismissed by bob"})
	})
}

func TestAnyTextAnswersAQuestionWithOptionsThatAcceptsIt(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		chat := chatOf("ann")
		q := store.Question{Question: terminal.Question{ID: "q", Text: "Name?", Options: []string{"Skip"}, OtherText: terminal.OtherTextAnswers}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
		if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
			t.Fatal(err)
		}
		fx.outbox.Wake(chat)
		fx.checkStored(chat, "Name?")
		fx.writeMessage("ann", "*Ada*")
		fx.checkEqual("answers", fx.answered, []string{"q: *Ada* by ann"})
		fx.checkEqual("the question shows", fx.outbox.ended, []string{`q: \*Ada\* (by Name of ann)`})
	})
}
