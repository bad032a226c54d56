package intake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestNewClearsTheConversationAndTheMemoryOfTheRunningTurn(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		remember := func() {
			musttest.Do(fx.t, fx.store.Remember(fx.t.Context(), chatOf("ann"), "session", "s1"))
		}
		forgotten := func() {
			if got, err := fx.store.Recall(fx.t.Context(), chatOf("ann"), "session"); got != "" || err != nil {
				fx.t.Errorf("remembered is %q, %v", got, err)
			}
		}
		remember()
		fx.writeMessage("ann", "/new", "This is a new conversation")
		forgotten()
		fx.checkEqual("what agents keep ends in", fx.agents.endedSessions, []string{chatOf("ann").String()})
		fx.writeMessage("ann", "hello")
		remember()
		fx.writeMessage("ann", "/new", "This is a new conversation")
		forgotten()
		fx.checkEqual("the turn that runs forgets", fx.runningTurn("ann").forgot, true)
		fx.checkEqual("it is cancelled with", fx.runningTurn("ann").cancelled, []error(nil))
	})
}

func TestStatusSaysWhatRunsWaitsAndIsNotDelivered(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "/status", "Nothing is running.\nWaiting: 0")
		fx.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Line: "Coder 2\nwith more to say"}}
		fx.writeMessage("ann", "the first")
		time.Sleep(1500 * time.Millisecond)
		fx.finishTurn("ann")
		fx.writeMessage("ann", "the second,\nwhose text is so long that only its beginning is shown")
		for _, text := range []string{"waits", "waits, too"} {
			musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", text)))
		}
		notice := outbox.Message{Message: channels.Message{Chat: chatOf("ann"), Text: "undelivered"}}
		musttest.Do(fx.t, fx.outbox.Post(fx.t.Context(), &notice))
		time.Sleep(5 * time.Second)
		fx.writeMessage("ann", "/status", "undelivered", `Running for 5s: the second, whose text is so long that o…
Agent: Coder 2
Waiting: 2
Last turns:
- done, 1.5s, CPU 200ms: the first
Not delivered:
- pending for 5s: undelivered`)
	})
}

func TestStatusSaysThatAgentsAreStartedAgainForLackOfRoom(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.restarted = 1
		fx.writeMessage("ann", "/status", "Nothing is running.\nAgents were started again 1 time, because not all could be kept running; the operator can raise acp.keptMemory.\nWaiting: 0")
		fx.agents.restarted = 12
		fx.writeMessage("ann", "/status", "Nothing is running.\nAgents were started again 12 times, because")
	})
}

func TestHelpNamesTheAgentsCommandsThatReachIt(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Commands: []terminal.Command{{Name: "Stop", Help: "never reached"}, {Name: "review", Help: "look at a change\nclosely"}, {Name: "bare"}, {Name: "start"}, {Name: "long", Help: strings.Repeat("0123456789", 9)}}}}
		fx.writeMessage("ann", "/help", `/stop: stop the current work; /stop all also drops the waiting messages
/status: show what is running, waiting and undelivered
/new: start a new conversation
/retry: run your last message again
/remind: send a text later, such as /remind 20m look at the oven
/schedules: list the reminders and schedules of this chat
/verbose: show the work while it runs (1) or only answers (0)
/search: find messages of this chat, such as /search invoice may
/usage: show what you have used today and in the last days
/whoami: show your ID and this chat's
/help: list these commands

The agent's own commands:
/review: look at a change
/bare
/long: `+strings.Repeat("0123456789", 8)+`…

Everything else goes to the agent.`)
	})
}

func TestAllOtherCommandsGoToTheAgent(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		for _, text := range []string{"/review now", "/cancel 1", "/again 1", "cancel:1", "please /stop", "stop", "/stopped"} {
			inbound := fx.writeMessage("ann", text)
			fx.checkEqual(text, inbound.State, store.Running)
			fx.finishTurn("ann")
		}
	})
}

func TestRetryRunsTheLastTurnAgainOfSomebodyWhoIsAdmitted(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "/retry", "There is nothing to run again.")
		fx.writeMessage("ann", "of ann")
		fx.writeMessage("ann", "/retry", "I am still working. Send /stop first.")
		fx.finishTurn("ann")
		in := fx.message("bob", "of bob")
		in.Chat = chatOf("ann")
		fx.receive(in)
		fx.finishTurn("ann")
		fx.people.AllowFrom["net"] = []string{"ann"}
		fx.writeMessage("ann", "/retry")
		fx.checkEqual("state of the message", fx.recent(chatOf("ann"))[3].State, store.Pending)
		fx.checkEqual("its text", fx.recent(chatOf("ann"))[3].In.Text, "of ann")
		fx.checkEqual("the lanes are woken", fx.lanes.woken, 1)
	})
}

func TestTheButtonOfATurnThatWasCutOffRunsItAgain(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		inbound := fx.writeMessage("ann", "hello")
		again := fmt.Sprint("again:", inbound.ID)
		fx.pressButton("ann", again) // it runs
		fx.endTurn("ann", store.Interrupted)
		fx.pressButton("bob", again) // it is another chat's
		fx.pressButton("ann", "again:x")
		fx.checkEqual("the lanes are woken", fx.lanes.woken, 0)
		in := fx.message("bob", "")
		in.Chat, in.Press = chatOf("ann"), again
		fx.people.AllowFrom["net"] = []string{"bob"}
		fx.receive(in, "The person who wrote that no longer has access.")
		fx.people.AllowFrom["net"] = []string{"ann"}
		fx.pressButton("ann", again)
		fx.checkEqual("the lanes are woken", fx.lanes.woken, 1)
		now, _, err := fx.store.Inbound(fx.t.Context(), inbound.ID)
		fx.checkEqual("error", err, error(nil))
		fx.checkEqual("state", now.State, store.Pending)
	})
}

func TestTheButtonOfATurnThatWasCutOffAndHasRunAgainDoesNothing(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		inbound := fx.writeMessage("ann", "hello")
		fx.finishTurn("ann")
		fx.pressButton("ann", fmt.Sprint("again:", inbound.ID), "This has run again already.")
		fx.checkInbounds("ann", "hello done", fmt.Sprintf("again:%d done", inbound.ID))
	})
}

func TestTheButtonOfAWaitingMessageCancelsItAlone(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "two")
		second := fx.receive(in)
		time.Sleep(time.Millisecond)
		fx.writeMessage("ann", "three")
		time.Sleep(2 * time.Second)
		fx.checkVisible("t1 Queued.", "t2 Queued.")
		notice := fx.outbox.shown[0]
		fx.checkEqual("the notice replies to", notice.ReplyTo, in.ID)
		fx.checkEqual("the button", notice.Buttons, []channels.Button{{Label: "Cancel", Data: fmt.Sprint("cancel:", second.ID)}})
		fx.pressButton("bob", notice.Buttons[0].Data, "That message is no longer waiting.") // it is another chat's
		fx.pressButton("ann", notice.Buttons[0].Data, "Cancelled.")
		fx.checkVisible("t2 Queued.")
		fx.pressButton("ann", notice.Buttons[0].Data, "That message is no longer waiting.")
		press := notice.Buttons[0].Data + " done"
		fx.checkInbounds("ann", "one running", "two dead", "three pending", press, press)
	})
}
