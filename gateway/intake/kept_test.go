package intake_test

import (
	"errors"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

func TestNothingIsDoneWithAMessageThatIsToBeForwarded(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		waiting := fx.message("ann", "two")
		fx.writeMessage("ann", "one")
		fx.receive(waiting)
		fx.askQuestion("q", "Yes", "No")
		press := fx.message("ann", "")
		press.Press = "q:0"
		check := func(what string, in channels.Incoming) {
			fx.t.Helper()
			if err := fx.Receive(fx.t.Context(), in); !errors.Is(err, store.ErrKept) {
				fx.t.Errorf("%s: got %v, want ErrKept", what, err)
			}
		}
		for _, kept := range []bool{true, false} {
			fx.disk.kept, fx.disk.forwarded = kept, !kept
			texts := []channels.Incoming{fx.message("ann", "three"), fx.message("ann", "Yes"), fx.message("ann", "/stop")}
			for _, in := range append(texts, press) {
				in.Stored = kept // whoever keeps the chat gets also what was forwarded
				check(in.Text+in.Press, in)
			}
			check("an edit", edited(waiting, "edited"))
		}
		fx.checkInbounds("ann", "one running", "two pending")
		fx.checkEqual("answers", fx.answered, []string(nil))
		fx.checkEqual("how often the turn was stopped", len(fx.runningTurn("ann").cancelled), 0)
		change := edited(waiting, "edited")
		change.Stored = true
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), change))
		stored := fx.message("ann", "three")
		stored.Stored = true // it was forwarded itself
		fx.receive(stored)
		fx.checkInbounds("ann", "one running", "edited pending", "three pending")
	})
}

func TestTheMessageFromBeforeAnAdmissionIsForwardedToTheKeeperOfItsChat(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		code := fx.codeFor("eve", "first")
		if _, ok, err := fx.store.Accept(fx.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			fx.t.Fatal(ok, err)
		}
		fx.disk.kept = true
		if err := fx.Receive(fx.t.Context(), fx.message("eve", "second")); !errors.Is(err, store.ErrKept) {
			fx.t.Errorf("the next message: got %v, want ErrKept", err)
		}
		fx.checkStored(chatOf("eve"), "You have access now.")
		fx.checkEqual("forwarded", fx.disk.sent, []string{"first"})
		if pairings, err := fx.store.PairingsToGreet(fx.t.Context(), store.Person{}); len(pairings) > 0 || err != nil {
			fx.t.Errorf("still to be welcomed are %v, %v", pairings, err)
		}
	})
}
