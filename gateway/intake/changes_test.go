package intake_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// edited returns the edit of a message.
func edited(in channels.Incoming, text string) channels.Incoming {
	in.Text, in.Change = text, channels.Edited
	return in
}

const offerText = "You edited this after I had started on it."

func TestAnEditReplacesAMessageThatWaits(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "delete prod")
		fx.receive(in)
		fx.receive(edited(in, "do NOT delete prod"))
		fx.receive(edited(in, "do NOT delete prod"))
		fx.checkInbounds("ann", "one running", "do NOT delete prod pending")
	})
}

func TestAnEditOfAMessageThatHasRunOffersToRunTheNewText(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		in := fx.message("ann", "one")
		fx.receive(in)
		fx.receive(edited(in, "two"), offerText)
		fx.receive(edited(in, "two")) // the network delivers it again
		fx.finishTurn("ann")
		fx.receive(edited(in, "three")) // the same button runs it
		fx.pressButton("ann", "rerun:"+in.ID)
		fx.pressButton("ann", "rerun:"+in.ID) // it waits already
		fx.checkInbounds("ann", "one done", "three pending", "rerun:1 done", "rerun:1 done")
		claimed, err := fx.store.Claim(fx.t.Context(), store.ClaimRequest{Limit: 1})
		if err != nil || len(claimed) != 1 || claimed[0].In.ID != in.ID {
			fx.t.Fatalf("claimed %+v, %v", claimed, err)
		}
	})
}

func TestTheOfferToRunAnEditIsSilentAndItsButtonFits(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		in := fx.message("ann", "one")
		in.ID = strings.Repeat("9", 58)
		fx.receive(in)
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), edited(in, "two")))
		offer := fx.checkStored(in.Chat, offerText)[0].Out
		if !offer.Silent || len(offer.Buttons) != 1 || len(offer.Buttons[0].Data) != 64 || offer.ReplyTo != in.ID {
			fx.t.Errorf("the offer is %+v", offer)
		}
		in = fx.message("bob", "one")
		in.ID = strings.Repeat("9", 59)
		fx.receive(in)
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), edited(in, "two")))
		if offer = fx.checkStored(in.Chat, offerText+" Send the new text again")[0].Out; len(offer.Buttons) != 0 {
			fx.t.Errorf("the offer is %+v", offer)
		}
	})
}

func TestAnEditOfACommandOrAnAnswerDoesNothing(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		help := fx.message("ann", "/help")
		fx.receive(help, "/stop")
		fx.receive(edited(help, "/stop"))
		fx.receive(edited(help, "text"))
		fx.checkInbounds("ann", "/help done")
		fx.writeMessage("ann", "one")
		fx.receive(edited(fx.message("ann", ""), "never received"))
		fx.checkInbounds("ann", "/help done", "one running")
	})
}

func TestAnEditIntoACommandWithdrawsTheMessage(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "stop")
		fx.receive(in)
		fx.receive(edited(in, "/stop"), "This message no longer waits.")
		fx.checkInbounds("ann", "one running", "stop dead")
		if n := len(fx.runningTurn("ann").cancelled); n != 0 {
			fx.t.Error("the edit has stopped the turn")
		}
	})
}

func TestAPersonWithoutAccessChangesNothing(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "two")
		fx.receive(in)
		fx.people.AllowFrom["net"] = []string{"bob"}
		fx.receive(edited(in, "three"))
		in.Change = channels.Deleted
		fx.receive(in)
		fx.checkInbounds("ann", "one running", "two pending")
	})
}

func TestADeletedMessageIsWithdrawnWhileItWaits(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		one := fx.message("ann", "one")
		fx.receive(one)
		two := fx.message("ann", "two")
		fx.receive(two)
		one.Change, two.Change = channels.Deleted, channels.Deleted
		fx.receive(one)
		fx.receive(two)
		fx.checkInbounds("ann", "one running", "two dead")
		if len(fx.runningTurn("ann").cancelled) != 0 {
			fx.t.Error("the running turn was cancelled")
		}
	})
}

func TestAnInjectedMessageIsTakenBackBeforeItIsEdited(t *testing.T) {
	for _, hasRead := range []bool{false, true} {
		t.Run(map[bool]string{false: "not read", true: "read"}[hasRead], func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = intake.Inject
				fx.writeMessage("ann", "one")
				in := fx.message("ann", "two")
				fx.receive(in)
				turn := fx.runningTurn("ann")
				turn.hasRead = hasRead
				var offer []string
				if hasRead {
					offer = []string{offerText}
				}
				fx.receive(edited(in, "three"), offer...)
				fx.checkEqual("injected", turn.InjectedCount(), map[bool]int{false: 0, true: 1}[hasRead])
			})
		})
	}
}
