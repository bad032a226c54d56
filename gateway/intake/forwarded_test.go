package intake_test

import (
	"testing"

	"nanobot/channels"
)

func TestAForwardedTextIsNoCommand(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		in := r.message("ann", "/stop")
		in.Forwarded = &channels.Forwarded{}
		r.receive(in)
		r.checkInbounds("ann", "one running", "/stop pending")
		if len(r.runningTurn("ann").cancelled) != 0 {
			r.t.Error("the turn was stopped")
		}
	})
}

func TestTheTextAfterStartGetsATurn(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "/start", "Hello!")
		r.writeMessage("ann", "/start order-7")
		r.checkInbounds("ann", "/start done", "order-7 running")
	})
}

func TestAForwardedTextIsNoAnswer(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		r.askQuestion("q", "Yes", "No")
		in := r.message("ann", "yes")
		in.Forwarded = &channels.Forwarded{}
		r.receive(in)
		r.checkEqual("answers", r.answered, []string(nil))
	})
}
