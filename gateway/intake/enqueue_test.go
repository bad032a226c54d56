package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

func TestWhatHappensToAMessageThatComesWhileATurnRuns(t *testing.T) {
	for _, c := range []struct {
		rule      intake.WhileRunning
		told      []string
		state     store.State
		cancelled []error
		injected  int
	}{
		{rule: intake.Queue, state: store.Pending},
		{rule: intake.Reject, told: []string{"I am still working on your last message. Send it again later, or /stop."}, state: store.Done},
		{rule: intake.Interrupt, state: store.Pending, cancelled: []error{errInterrupted}},
		{rule: intake.Inject, state: store.Pending, injected: 1},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.WhileRunning = c.rule
				r.writeMessage("ann", "one")
				in := r.message("ann", "two")
				inbound := r.receive(in, c.told...)
				r.receive(in) // it is delivered twice
				turn := r.runningTurn("ann")
				r.checkEqual("the turn works on", turn.inbound.In.Text, "one")
				r.checkEqual("state of the second message", inbound.State, c.state)
				r.checkEqual("the turn is cancelled with", turn.cancelled, c.cancelled)
				r.checkEqual("messages that the turn is handed", turn.InjectedCount(), c.injected)
				r.checkEqual("messages", len(r.recent(chatOf("ann"))), 2)
			})
		})
	}
}

// A turn is running on disk a moment before it can be found in memory.
func TestATurnThatIsBeingClaimedIsFound(t *testing.T) {
	for rule, want := range map[intake.WhileRunning][]string{
		intake.Queue: nil, intake.Reject: {"I am still working on your last message. Send it again later, or /stop."},
	} {
		t.Run(string(rule), func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.WhileRunning = rule
				r.writeMessage("ann", "one")
				r.lanes.claiming, r.lanes.turns = r.lanes.turns, map[channels.Chat]*fakeTurn{}
				r.writeMessage("ann", "two", want...)
				time.Sleep(2 * time.Second)
				if rule == intake.Queue {
					r.checkVisible("t1 Queued.")
				}
			})
		})
	}
}

// The end of a turn is recorded a moment after its agent has ended.
func TestATurnWhoseAgentHasEndedDelaysNobody(t *testing.T) {
	for _, rule := range []intake.WhileRunning{intake.Queue, intake.Reject, intake.Interrupt, intake.Inject} {
		t.Run(string(rule), func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.WhileRunning = rule
				r.writeMessage("ann", "one")
				delete(r.lanes.turns, chatOf("ann"))
				r.checkEqual("the state of the second message", r.writeMessage("ann", "two").State, store.Pending)
			})
		})
	}
}

func TestTheQueueLimitDoesNotCountInjectedMessages(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.WhileRunning, r.settings.QueueLimit = intake.Inject, 1
		r.writeMessage("ann", "one")
		for _, text := range []string{"two", "three", "four"} {
			r.checkEqual("the state of "+text, r.writeMessage("ann", text).State, store.Pending)
		}
		delete(r.lanes.turns, chatOf("ann")) // its agent has ended: now they wait
		r.writeMessage("ann", "five", "3 messages already waiting, which is the limit. /stop all empties the queue.")
	})
}

func TestAnInjectionDoesNotOvertakeWaitingMessages(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		r.settings.WhileRunning = intake.Inject
		first := r.writeMessage("ann", "two")
		r.settings.WhileRunning = intake.Queue
		r.writeMessage("ann", "three")
		r.settings.WhileRunning = intake.Inject
		r.writeMessage("ann", "four")
		if got := r.runningTurn("ann").injected; len(got) != 1 || got[0].ID != first.ID {
			r.t.Errorf("the turn was handed %v", got)
		}
		r.writeMessage("ann", "/stop", "2 messages still wait; /stop all drops them.") // the agent has read the other one
		r.runningTurn("ann").unread = 1
		r.writeMessage("ann", "/stop", "I am already stopping it. 3 messages still wait; /stop all drops them.")
		r.writeMessage("ann", "/stop all", "3 waiting messages dropped.")
	})
}

func TestTheQueueOfAChatHasALimit(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.QueueLimit = 1
		full := "1 message already waiting, which is the limit. /stop all empties the queue."
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		r.writeMessage("ann", "three", full)
		r.writeMessage("bob", "of another chat")
		r.lanes.full = true
		r.finishTurn("ann")
		r.writeMessage("ann", "four", full) // no slot is free for the second
		r.checkInbounds("ann", "one done", "two pending", "three done", "four done")
		r.settings.QueueLimit = 0
		r.writeMessage("ann", "five")
		r.checkInbounds("ann", "one done", "two pending", "three done", "four done", "five pending")
	})
}

func TestNobodyIsToldThatTheyWaitForAFreeSlot(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.lanes.full = true
		r.writeMessage("ann", "hello")
		r.checkInbounds("ann", "hello pending")
	})
}

func TestAMessageThatIsDeliveredAgainRunsOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		in := r.message("ann", "hello")
		r.receive(in)
		r.receive(in)
		r.finishTurn("ann")
		r.receive(in)
		r.checkInbounds("ann", "hello done")
		r.checkEqual("turns that run", len(r.lanes.turns), 0)
	})
}
