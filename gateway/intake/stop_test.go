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
	runIntake(t, func(fx *fixture) {
		first := fx.writeMessage("ann", "delete everything")
		fx.writeMessage("ann", "no, only the first")
		stop := fx.message("ann", " /STOP please")
		fx.receive(stop, "1 message still waits; /stop all drops it.")
		fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.checkInbounds("ann", "delete everything running", "no, only the first pending", " /STOP please done")
		fx.checkEqual("the status of the running turn", fx.status(first.ID), "stopped")
		fx.checkEqual("records", fx.decisions(), []string{"command allowed /stop"})

		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.agents.left = 2
		fx.receive(stop)
		fx.checkEqual("a /stop that is delivered again cancels the next turn with", fx.runningTurn("ann").cancelled, []error(nil))
		fx.checkEqual("its status", fx.status(fx.runningTurn("ann").inbound.ID), "")
		fx.checkEqual("records of it", fx.decisions(), []string(nil))
		fx.writeMessage("ann", "/stop")
		fx.checkEqual("the next /stop cancels it with", fx.runningTurn("ann").cancelled, []error{errStopped})
	})
}

func TestStopAllDropsTheQueueOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		second := fx.writeMessage("ann", "two")
		third := fx.writeMessage("ann", "three")
		fx.events = nil
		stop := fx.message("ann", "/stop  All ")
		fx.receive(stop, "2 waiting messages dropped.")
		fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.checkInbounds("ann", "one running", "two dead", "three dead", "/stop  All  done")
		fx.checkEqual("events", fmt.Sprint(fx.events), fmt.Sprint([]events.Event{
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: third.ID, Reason: events.Cancelled},
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: second.ID, Reason: events.Cancelled},
		}))

		fx.finishTurn("ann")
		fx.writeMessage("ann", "four")
		fx.writeMessage("ann", "five")
		fx.receive(stop)
		fx.checkEqual("a duplicate cancels the next turn with", fx.runningTurn("ann").cancelled, []error(nil))
		fx.checkEqual("the state of the next message", fx.recent(chatOf("ann"))[0].State, store.Pending)
	})
}

func TestTheStopButtonOfABoardStopsTheTurnOfThatBoardOnly(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		first := fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		button := fmt.Sprint("stop:", first.ID)
		fx.pressButton("bob", button, "That has ended already.") // bob has no turn
		fx.pressButton("ann", button, "1 message still waits; /stop all drops it.")
		fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.pressButton("ann", button, "I am already stopping it. 1 message still waits; /stop all drops it.")

		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.agents.left = 3
		fx.pressButton("ann", button, "That has ended already.")
		fx.pressButton("ann", "stop:all", "That has ended already.")
		fx.checkEqual("the next turn is cancelled with", fx.runningTurn("ann").cancelled, []error(nil))
		fx.checkEqual("its status", fx.status(fx.runningTurn("ann").inbound.ID), "")
		fx.finishTurn("ann")
		fx.pressButton("ann", button, "That has ended already.")
		fx.checkEqual("background commands that are left", fx.agents.left, 3)
	})
}

func TestStopFindsATurnThatIsBeingClaimed(t *testing.T) {
	for _, command := range []string{"/stop", "/stop all"} {
		t.Run(strings.TrimPrefix(command, "/"), func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				inbound := fx.writeMessage("ann", "one")
				fx.lanes.claiming, fx.lanes.turns = fx.lanes.turns, map[channels.Chat]*fakeTurn{}
				fx.writeMessage("ann", command)
				fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
				fx.checkEqual("its status", fx.status(inbound.ID), "stopped")
			})
		})
	}
}

func TestStopInOneChatLeavesOthersAlone(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "of ann")
		fx.writeMessage("bob", "of bob")
		fx.writeMessage("bob", "of bob, too")
		fx.writeMessage("ann", "/stop all")
		fx.checkEqual("ann's turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.checkEqual("bob's turn is cancelled with", fx.runningTurn("bob").cancelled, []error(nil))
		fx.checkEqual("its status", fx.status(fx.runningTurn("bob").inbound.ID), "")
		fx.checkInbounds("bob", "of bob running", "of bob, too pending")
	})
}

func TestStopBetweenTurnsEndsBackgroundCommandsOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "/stop", "Nothing is running.")
		fx.agents.left = 3
		stop := fx.message("ann", "/stop")
		fx.receive(stop, "3 commands stopped.")
		fx.agents.left = 3
		fx.receive(stop)
		fx.checkEqual("commands that are left after a duplicate", fx.agents.left, 3)
		fx.writeMessage("ann", "hello")
		fx.writeMessage("ann", "/stop")
		fx.checkEqual("commands that a stopped turn ends by itself", fx.agents.left, 3)
	})
}

func TestStopWithoutATurnSaysWhatWaits(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.lanes.full = true
		fx.writeMessage("ann", "waits for a free slot")
		fx.writeMessage("ann", "/stop", "Nothing is running. 1 message still waits; /stop all drops it.")
		fx.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		fx.writeMessage("ann", "/stop all", "Nothing is running.")
	})
}

// status returns the outcome of an inbound message.
func (fx *fixture) status(inbound int64) string {
	fx.t.Helper()
	now, _, err := fx.store.Inbound(fx.t.Context(), inbound)
	if err != nil {
		fx.t.Fatal(err)
	}
	return now.Outcome.Status
}
