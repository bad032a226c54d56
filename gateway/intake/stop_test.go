package intake_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
)

func TestStopEndsTheTurnOnceAndTheQueueGoesOn(t *testing.T) {
	runIntake(t, func(r *fixture) {
		first := r.writeMessage("ann", "delete everything")
		r.writeMessage("ann", "no, only the first")
		stop := r.message("ann", " /STOP please")
		r.receive(stop, "1 message still waits; /stop all drops it.")
		r.checkEqual("the turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
		r.checkInbounds("ann", "delete everything running", "no, only the first pending", " /STOP please done")
		r.checkEqual("the status of the running turn", r.status(first.ID), "stopped")
		r.checkEqual("records", r.decisions(), []string{"command allowed /stop"})

		r.finishTurn("ann")
		r.claimNext("ann")
		r.agents.left = 2
		r.receive(stop)
		r.checkEqual("a /stop that is delivered again cancels the next turn with", r.runningTurn("ann").cancelled, []error(nil))
		r.checkEqual("its status", r.status(r.runningTurn("ann").inbound.ID), "")
		r.checkEqual("records of it", r.decisions(), []string(nil))
		r.writeMessage("ann", "/stop")
		r.checkEqual("the next /stop cancels it with", r.runningTurn("ann").cancelled, []error{errStopped})
	})
}

func TestStopAllDropsTheQueueOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		second := r.writeMessage("ann", "two")
		third := r.writeMessage("ann", "three")
		r.events = nil
		stop := r.message("ann", "/stop  All ")
		r.receive(stop, "2 waiting messages dropped.")
		r.checkEqual("the turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
		r.checkInbounds("ann", "one running", "two dead", "three dead", "/stop  All  done")
		r.checkEqual("events", fmt.Sprint(r.events), fmt.Sprint([]events.Event{
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: third.ID, Reason: events.Cancelled},
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: second.ID, Reason: events.Cancelled},
		}))

		r.finishTurn("ann")
		r.writeMessage("ann", "four")
		r.writeMessage("ann", "five")
		r.receive(stop)
		r.checkEqual("a duplicate cancels the next turn with", r.runningTurn("ann").cancelled, []error(nil))
		r.checkEqual("the state of the next message", r.recent(chatOf("ann"))[0].State, store.Pending)
	})
}

func TestTheStopButtonOfABoardStopsTheTurnOfThatBoardOnly(t *testing.T) {
	runIntake(t, func(r *fixture) {
		first := r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		button := fmt.Sprint("stop:", first.ID)
		r.pressButton("bob", button, "That has ended already.") // bob has no turn
		r.pressButton("ann", button, "1 message still waits; /stop all drops it.")
		r.checkEqual("the turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
		r.pressButton("ann", button, "I am already stopping it. 1 message still waits; /stop all drops it.")

		r.finishTurn("ann")
		r.claimNext("ann")
		r.agents.left = 3
		r.pressButton("ann", button, "That has ended already.")
		r.pressButton("ann", "stop:all", "That has ended already.")
		r.checkEqual("the next turn is cancelled with", r.runningTurn("ann").cancelled, []error(nil))
		r.checkEqual("its status", r.status(r.runningTurn("ann").inbound.ID), "")
		r.finishTurn("ann")
		r.pressButton("ann", button, "That has ended already.")
		r.checkEqual("background commands that are left", r.agents.left, 3)
	})
}

func TestStopFindsATurnThatIsBeingClaimed(t *testing.T) {
	for _, command := range []string{"/stop", "/stop all"} {
		t.Run(strings.TrimPrefix(command, "/"), func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				inbound := r.writeMessage("ann", "one")
				r.lanes.claiming, r.lanes.turns = r.lanes.turns, map[channels.Chat]*fakeTurn{}
				r.writeMessage("ann", command)
				r.checkEqual("the turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
				r.checkEqual("its status", r.status(inbound.ID), "stopped")
			})
		})
	}
}

func TestStopInOneChatLeavesOthersAlone(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "of ann")
		r.writeMessage("bob", "of bob")
		r.writeMessage("bob", "of bob, too")
		r.writeMessage("ann", "/stop all")
		r.checkEqual("ann's turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
		r.checkEqual("bob's turn is cancelled with", r.runningTurn("bob").cancelled, []error(nil))
		r.checkEqual("its status", r.status(r.runningTurn("bob").inbound.ID), "")
		r.checkInbounds("bob", "of bob running", "of bob, too pending")
	})
}

func TestStopBetweenTurnsEndsBackgroundCommandsOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "/stop", "Nothing is running.")
		r.agents.left = 3
		stop := r.message("ann", "/stop")
		r.receive(stop, "3 commands stopped.")
		r.agents.left = 3
		r.receive(stop)
		r.checkEqual("commands that are left after a duplicate", r.agents.left, 3)
		r.writeMessage("ann", "hello")
		r.writeMessage("ann", "/stop")
		r.checkEqual("commands that a stopped turn ends by itself", r.agents.left, 3)
	})
}

func TestStopWithoutATurnSaysWhatWaits(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.lanes.full = true
		r.writeMessage("ann", "waits for a free slot")
		r.writeMessage("ann", "/stop", "Nothing is running. 1 message still waits; /stop all drops it.")
		r.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		r.writeMessage("ann", "/stop all", "Nothing is running.")
	})
}

// status returns the outcome of an inbound message.
func (r *fixture) status(inbound int64) string {
	r.t.Helper()
	now, _, err := r.store.Inbound(r.t.Context(), inbound)
	if err != nil {
		r.t.Fatal(err)
	}
	return now.Outcome.Status
}
