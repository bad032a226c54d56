package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/config"
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
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = c.rule
				fx.writeMessage("ann", "one")
				in := fx.message("ann", "two")
				inbound := fx.receive(in, c.told...)
				fx.receive(in) // it is delivered twice
				turn := fx.runningTurn("ann")
				fx.checkEqual("the turn works on", turn.inbound.In.Text, "one")
				fx.checkEqual("state of the second message", inbound.State, c.state)
				fx.checkEqual("the turn is cancelled with", turn.cancelled, c.cancelled)
				fx.checkEqual("messages that the turn is handed", turn.InjectedCount(), c.injected)
				fx.checkEqual("messages", len(fx.recent(chatOf("ann"))), 2)
			})
		})
	}
}

func TestAMessageIsNotInjectedIntoATurnInAnotherPlace(t *testing.T) {
	rules := []config.Route{route("x", "default"), route("y", "default")}
	rules[0].Workspace, rules[1].Workspace = "x", "y"
	for text, injected := range map[string]int{"/x work": 1, "/y work": 0, "work": 0} {
		t.Run(text, func(t *testing.T) {
			runRouted(t, rules, func(fx *fixture) {
				fx.settings.WhileRunning = intake.Inject
				fx.receive(fx.message("ann", "/x work"))
				fx.receive(fx.message("ann", text))
				fx.checkEqual("messages that the turn in x is handed", fx.runningTurn("ann").InjectedCount(), injected)
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
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = rule
				fx.writeMessage("ann", "one")
				fx.lanes.claiming, fx.lanes.turns = fx.lanes.turns, map[channels.Chat]*fakeTurn{}
				fx.writeMessage("ann", "two", want...)
				time.Sleep(2 * time.Second)
				if rule == intake.Queue {
					fx.checkVisible("t1 Queued.")
				}
			})
		})
	}
}

// The end of a turn is recorded a moment after its agent has ended.
func TestATurnWhoseAgentHasEndedDelaysNobody(t *testing.T) {
	for _, rule := range []intake.WhileRunning{intake.Queue, intake.Reject, intake.Interrupt, intake.Inject} {
		t.Run(string(rule), func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.settings.WhileRunning = rule
				fx.writeMessage("ann", "one")
				delete(fx.lanes.turns, chatOf("ann"))
				fx.checkEqual("the state of the second message", fx.writeMessage("ann", "two").State, store.Pending)
			})
		})
	}
}

func TestTheQueueLimitDoesNotCountInjectedMessages(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.WhileRunning, fx.settings.QueueLimit = intake.Inject, 1
		fx.writeMessage("ann", "one")
		for _, text := range []string{"two", "three", "four"} {
			fx.checkEqual("the state of "+text, fx.writeMessage("ann", text).State, store.Pending)
		}
		delete(fx.lanes.turns, chatOf("ann")) // its agent has ended: now they wait
		fx.writeMessage("ann", "five", "3 messages already waiting, which is the limit. /stop all empties the queue.")
	})
}

func TestAnInjectionDoesNotOvertakeWaitingMessages(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		fx.settings.WhileRunning = intake.Inject
		first := fx.writeMessage("ann", "two")
		fx.settings.WhileRunning = intake.Queue
		fx.writeMessage("ann", "three")
		fx.settings.WhileRunning = intake.Inject
		fx.writeMessage("ann", "four")
		if got := fx.runningTurn("ann").injected; len(got) != 1 || got[0].ID != first.ID {
			fx.t.Errorf("the turn was handed %v", got)
		}
		fx.writeMessage("ann", "/stop", "2 messages still wait; /stop all drops them.") // the agent has read the other one
		fx.runningTurn("ann").unread = 1
		fx.writeMessage("ann", "/stop", "I am already stopping it. 3 messages still wait; /stop all drops them.")
		fx.writeMessage("ann", "/stop all", "3 waiting messages dropped.")
	})
}

func TestTheQueueOfAChatHasALimit(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.QueueLimit = 1
		full := "1 message already waiting, which is the limit. /stop all empties the queue."
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		fx.writeMessage("ann", "three", full)
		fx.writeMessage("bob", "of another chat")
		fx.lanes.full = true
		fx.finishTurn("ann")
		fx.writeMessage("ann", "four", full) // no slot is free for the second
		fx.checkInbounds("ann", "one done", "two pending", "three done", "four done")
		fx.settings.QueueLimit = 0
		fx.writeMessage("ann", "five")
		fx.checkInbounds("ann", "one done", "two pending", "three done", "four done", "five pending")
	})
}

func TestNobodyIsToldThatTheyWaitForAFreeSlot(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.lanes.full = true
		fx.writeMessage("ann", "hello")
		fx.checkInbounds("ann", "hello pending")
	})
}

func TestAMessageThatIsDeliveredAgainRunsOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		in := fx.message("ann", "hello")
		fx.receive(in)
		fx.receive(in)
		fx.finishTurn("ann")
		fx.receive(in)
		fx.checkInbounds("ann", "hello done")
		fx.checkEqual("turns that run", len(fx.lanes.turns), 0)
	})
}
