package intake_test

import (
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestNewClearsTheConversationAndTheMemoryOfTheRunningTurn(t *testing.T) {
	runIntake(t, func(r *fixture) {
		remember := func() {
			if err := r.store.Remember(r.t.Context(), chatOf("ann"), "session", "s1"); err != nil {
				r.t.Fatal(err)
			}
		}
		forgotten := func() {
			if got, err := r.store.Recall(r.t.Context(), chatOf("ann"), "session"); got != "" || err != nil {
				r.t.Errorf("remembered is %q, %v", got, err)
			}
		}
		remember()
		r.writeMessage("ann", "/new", "This is a new conversation")
		forgotten()
		r.checkEqual("what agents keep ends in", r.agents.endedSessions, []string{chatOf("ann").String()})
		r.writeMessage("ann", "hello")
		remember()
		r.writeMessage("ann", "/new", "This is a new conversation")
		forgotten()
		r.checkEqual("the turn that runs forgets", r.runningTurn("ann").forgot, true)
		r.checkEqual("it is cancelled with", r.runningTurn("ann").cancelled, []error(nil))
	})
}

func TestStatusSaysWhatRunsWaitsAndIsNotDelivered(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "/status", "Nothing is running.\nWaiting: 0")
		r.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Line: "Coder 2\nwith more to say"}}
		r.writeMessage("ann", "the first")
		time.Sleep(1500 * time.Millisecond)
		r.finishTurn("ann")
		r.writeMessage("ann", "the second,\nwhose text is so long that only its beginning is shown")
		for _, text := range []string{"waits", "waits, too"} {
			if err := r.Receive(r.t.Context(), r.message("ann", text)); err != nil {
				r.t.Fatal(err)
			}
		}
		notice := outbox.Message{Message: channels.Message{Chat: chatOf("ann"), Text: "undelivered"}}
		if err := r.outbox.Post(r.t.Context(), &notice); err != nil {
			r.t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		r.writeMessage("ann", "/status", "undelivered", `Running for 5s: the second, whose text is so long that o…
Agent: Coder 2
Waiting: 2
Last turns:
- done, 1.5s, CPU 200ms: the first
Not delivered:
- pending for 5s: undelivered`)
	})
}

func TestHelpNamesTheAgentsCommandsThatReachIt(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Commands: []terminal.Command{{Name: "Stop", Help: "never reached"}, {Name: "review", Help: "look at a change\nclosely"}, {Name: "bare"}, {Name: "start"}}}}
		r.writeMessage("ann", "/help", `/stop: stop the current work; /stop all also drops the waiting messages
/status: show what is running, waiting and undelivered
/new: start a new conversation
/retry: run your last message again
/verbose: show the work while it runs (1) or only answers (0)
/whoami: show your ID and this chat's
/help: list these commands

The agent's own commands:
/review: look at a change
/bare

Everything else goes to the agent.`)
	})
}

func TestAllOtherCommandsGoToTheAgent(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for _, text := range []string{"/review now", "/cancel 1", "/again 1", "cancel:1", "please /stop", "stop", "/stopped"} {
			inbound := r.writeMessage("ann", text)
			r.checkEqual(text, inbound.State, store.Running)
			r.finishTurn("ann")
		}
	})
}

func TestRetryRunsTheLastTurnAgainOfSomebodyWhoIsAdmitted(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "/retry", "There is nothing to run again.")
		r.writeMessage("ann", "of ann")
		r.writeMessage("ann", "/retry", "I am still working. Send /stop first.")
		r.finishTurn("ann")
		in := r.message("bob", "of bob")
		in.Chat = chatOf("ann")
		r.receive(in)
		r.finishTurn("ann")
		r.people.AllowFrom["net"] = []string{"ann"}
		r.writeMessage("ann", "/retry")
		r.checkEqual("state of the message", r.recent(chatOf("ann"))[3].State, store.Pending)
		r.checkEqual("its text", r.recent(chatOf("ann"))[3].In.Text, "of ann")
		r.checkEqual("the lanes are woken", r.lanes.woken, 1)
	})
}

func TestTheButtonOfATurnThatWasCutOffRunsItAgain(t *testing.T) {
	runIntake(t, func(r *fixture) {
		inbound := r.writeMessage("ann", "hello")
		again := fmt.Sprint("again:", inbound.ID)
		r.pressButton("ann", again) // it runs
		r.finishTurn("ann")
		r.pressButton("bob", again) // it is another chat's
		r.pressButton("ann", "again:x")
		r.checkEqual("the lanes are woken", r.lanes.woken, 0)
		in := r.message("bob", "")
		in.Chat, in.Press = chatOf("ann"), again
		r.people.AllowFrom["net"] = []string{"bob"}
		r.receive(in, "The person who wrote that no longer has access.")
		r.people.AllowFrom["net"] = []string{"ann"}
		r.pressButton("ann", again)
		r.checkEqual("the lanes are woken", r.lanes.woken, 1)
		now, _, err := r.store.Inbound(r.t.Context(), inbound.ID)
		r.checkEqual("error", err, error(nil))
		r.checkEqual("state", now.State, store.Pending)
	})
}

func TestTheButtonOfAWaitingMessageCancelsItAlone(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		in := r.message("ann", "two")
		second := r.receive(in)
		time.Sleep(time.Millisecond)
		r.writeMessage("ann", "three")
		time.Sleep(2 * time.Second)
		r.checkVisible("t1 Queued.", "t2 Queued.")
		notice := r.outbox.shown[0]
		r.checkEqual("the notice replies to", notice.ReplyTo, in.ID)
		r.checkEqual("the button", notice.Buttons, []channels.Button{{Label: "Cancel", Data: fmt.Sprint("cancel:", second.ID)}})
		r.pressButton("bob", notice.Buttons[0].Data, "That message is no longer waiting.") // it is another chat's
		r.pressButton("ann", notice.Buttons[0].Data, "Cancelled.")
		r.checkVisible("t2 Queued.")
		r.pressButton("ann", notice.Buttons[0].Data, "That message is no longer waiting.")
		press := notice.Buttons[0].Data + " done"
		r.checkInbounds("ann", "one running", "two dead", "three pending", press, press)
	})
}
