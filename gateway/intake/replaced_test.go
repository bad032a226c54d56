package intake_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
)

// replacing returns a message that replaces another.
func (fx *fixture) replacing(in channels.Incoming, text string) channels.Incoming {
	next := fx.message(in.User.ID, text)
	next.Replaces = in.ID
	return next
}

func TestAMessageThatWaitsIsReplacedByAnother(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		two := fx.message("ann", "two")
		fx.receive(two)
		three := fx.replacing(two, "three")
		fx.receive(three)
		fx.receive(three) // the network delivers it again
		fx.checkInbounds("ann", "one running", "two dead", "three pending")
		fx.checkEqual("cancelled", len(fx.runningTurn("ann").cancelled), 0)
		fx.receive(fx.replacing(three, "/whoami"), "user id")
		fx.checkInbounds("ann", "one running", "two dead", "three dead", "/whoami done")
	})
}

func TestTheTurnOfAReplacedMessageEndsAndTheNewOneIsNeverRefused(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject} {
		t.Run(string(how), func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = how
				one := fx.message("ann", "one")
				fx.receive(one)
				two := fx.replacing(one, "two")
				fx.receive(two)
				turn := fx.runningTurn("ann")
				fx.checkEqual("cancelled", turn.cancelled, []error{errInterrupted})
				fx.checkInbounds("ann", "one running", "two pending")
				fx.finishTurn("ann")
				fx.claimNext("ann")
				fx.finishTurn("ann")
				fx.receive(fx.replacing(two, "two")) // run again
				fx.checkInbounds("ann", "one done", "two done", "two running")
			})
		})
	}
}

func TestAReplacedMessageIsRunAgainInsteadOfAnsweringAQuestion(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		one := fx.message("ann", "one")
		fx.receive(one)
		fx.askQuestion("q", "Red", "Blue")
		fx.receive(fx.replacing(one, "Red"))
		fx.checkInbounds("ann", "one running", "Red pending")
	})
}

func TestNobodyReplacesAMessageWithoutAccess(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		one := fx.message("ann", "one")
		fx.receive(one)
		fx.people.AllowFrom["net"] = []string{"bob"}
		fx.receive(fx.replacing(one, "two"), "This bot is private.")
		fx.checkEqual("cancelled", len(fx.runningTurn("ann").cancelled), 0)
		fx.checkInbounds("ann", "one running")
	})
}
