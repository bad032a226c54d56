package intake_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
)

// edited returns the edit of a message.
func edited(in channels.Incoming, text string) channels.Incoming {
	in.Text, in.Change = text, channels.Edited
	return in
}

const offerText = "You edited this after I had started on it."

func TestAnEditReplacesAMessageThatWaits(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		in := r.message("ann", "delete prod")
		r.receive(in)
		r.receive(edited(in, "do NOT delete prod"))
		r.receive(edited(in, "do NOT delete prod"))
		r.checkInbounds("ann", "one running", "do NOT delete prod pending")
	})
}

func TestAnEditOfAMessageThatHasRunOffersToRunTheNewText(t *testing.T) {
	runIntake(t, func(r *fixture) {
		in := r.message("ann", "one")
		r.receive(in)
		r.receive(edited(in, "two"), offerText)
		r.receive(edited(in, "two")) // the network delivers it again
		r.finishTurn("ann")
		r.receive(edited(in, "three")) // the same button runs it
		r.pressButton("ann", "rerun:"+in.ID)
		r.pressButton("ann", "rerun:"+in.ID) // it waits already
		r.checkInbounds("ann", "one done", "three pending", "rerun:1 done", "rerun:1 done")
		claimed, err := r.store.Claim(r.t.Context(), 1)
		if err != nil || len(claimed) != 1 || claimed[0].In.ID != in.ID {
			r.t.Fatalf("claimed %+v, %v", claimed, err)
		}
	})
}

func TestTheOfferToRunAnEditIsSilentAndItsButtonFits(t *testing.T) {
	runIntake(t, func(r *fixture) {
		in := r.message("ann", "one")
		in.ID = strings.Repeat("9", 58)
		r.receive(in)
		if err := r.Receive(r.t.Context(), edited(in, "two")); err != nil {
			r.t.Fatal(err)
		}
		offer := r.checkStored(in.Chat, offerText)[0].Out
		if !offer.Silent || len(offer.Buttons) != 1 || len(offer.Buttons[0].Data) != 64 || offer.ReplyTo != in.ID {
			r.t.Errorf("the offer is %+v", offer)
		}
		in = r.message("bob", "one")
		in.ID = strings.Repeat("9", 59)
		r.receive(in)
		if err := r.Receive(r.t.Context(), edited(in, "two")); err != nil {
			r.t.Fatal(err)
		}
		if offer = r.checkStored(in.Chat, offerText+" Send the new text again")[0].Out; len(offer.Buttons) != 0 {
			r.t.Errorf("the offer is %+v", offer)
		}
	})
}

func TestAnEditOfACommandOrAnAnswerDoesNothing(t *testing.T) {
	runIntake(t, func(r *fixture) {
		help := r.message("ann", "/help")
		r.receive(help, "/stop")
		r.receive(edited(help, "/stop"))
		r.receive(edited(help, "text"))
		r.checkInbounds("ann", "/help done")
		r.writeMessage("ann", "one")
		r.receive(edited(r.message("ann", ""), "never received"))
		r.checkInbounds("ann", "/help done", "one running")
	})
}

func TestAnEditIntoACommandWithdrawsTheMessage(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		in := r.message("ann", "stop")
		r.receive(in)
		r.receive(edited(in, "/stop"), "This message no longer waits.")
		r.checkInbounds("ann", "one running", "stop dead")
		if n := len(r.runningTurn("ann").cancelled); n != 0 {
			r.t.Error("the edit has stopped the turn")
		}
	})
}

func TestAPersonWithoutAccessChangesNothing(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		in := r.message("ann", "two")
		r.receive(in)
		r.people.AllowFrom["net"] = []string{"bob"}
		r.receive(edited(in, "three"))
		in.Change = channels.Deleted
		r.receive(in)
		r.checkInbounds("ann", "one running", "two pending")
	})
}

func TestADeletedMessageIsWithdrawnWhileItWaits(t *testing.T) {
	runIntake(t, func(r *fixture) {
		one := r.message("ann", "one")
		r.receive(one)
		two := r.message("ann", "two")
		r.receive(two)
		one.Change, two.Change = channels.Deleted, channels.Deleted
		r.receive(one)
		r.receive(two)
		r.checkInbounds("ann", "one running", "two dead")
		if len(r.runningTurn("ann").cancelled) != 0 {
			r.t.Error("the running turn was cancelled")
		}
	})
}

func TestAnInjectedMessageIsTakenBackBeforeItIsEdited(t *testing.T) {
	for _, hasRead := range []bool{false, true} {
		t.Run(map[bool]string{false: "not read", true: "read"}[hasRead], func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.WhileRunning = intake.Inject
				r.writeMessage("ann", "one")
				in := r.message("ann", "two")
				r.receive(in)
				turn := r.runningTurn("ann")
				turn.hasRead = hasRead
				var offer []string
				if hasRead {
					offer = []string{offerText}
				}
				r.receive(edited(in, "three"), offer...)
				r.checkEqual("injected", turn.InjectedCount(), map[bool]int{false: 0, true: 1}[hasRead])
			})
		})
	}
}
