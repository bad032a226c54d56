package intake_test

import (
	"testing"

	"nanobot/channels"
)

func TestAForwardedTextIsNoCommand(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "/stop")
		in.Forwarded = &channels.Forwarded{}
		fx.receive(in)
		fx.checkInbounds("ann", "one running", "/stop pending")
		if len(fx.runningTurn("ann").cancelled) != 0 {
			fx.t.Error("the turn was stopped")
		}
	})
}

func TestTheTextAfterStartGetsATurn(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "/start", "Hello!")
		fx.writeMessage("ann", "/start order-7")
		fx.checkInbounds("ann", "/start done", "order-7 running")
	})
}

func TestAForwardedTextIsNoAnswer(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		fx.askQuestion("q", "Yes", "No")
		in := fx.message("ann", "yes")
		in.Forwarded = &channels.Forwarded{}
		fx.receive(in)
		fx.checkEqual("answers", fx.answered, []string(nil))
	})
}
