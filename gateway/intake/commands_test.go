package intake_test

import (
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestStopCancelsTheTurnAndDropsWhatWaitsOnce(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "one")
		second := r.say("ann", "two", "Queued")
		third := r.say("ann", "three", "Queued")
		r.events = nil
		stop := r.message("ann", " /STOP please")
		r.receive(stop, "2 waiting messages dropped.")
		r.same("the turn is cancelled with", r.running("ann").cancelled, []error{errStopped})
		r.has("ann", "one running", "two dead", "three dead", " /STOP please done")
		r.same("records", r.decisions(), []string{"command allowed /stop"})
		r.same("events", fmt.Sprint(r.events), fmt.Sprint([]events.Event{
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: third.ID, Reason: events.Cancelled},
			{Type: events.Dropped, Chat: chatOf("ann"), Inbound: second.ID, Reason: events.Cancelled},
		}))

		r.finish("ann")
		r.say("ann", "four")
		r.receive(stop)
		r.same("a /stop that is delivered again cancels the next turn with", r.running("ann").cancelled, []error(nil))
		r.same("records of it", r.decisions(), []string(nil))
	})
}

func TestStopBetweenTurnsEndsWhatTheAgentHasLeftRunning(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "/stop", "Nothing is running.")
		r.agents.left = 3
		r.say("ann", "/stop", "3 commands stopped.")
		r.agents.left = 3
		r.say("ann", "hello")
		r.say("ann", "/stop")
		r.same("commands that a stopped turn ends by itself", r.agents.left, 3)
	})
}

func TestNewClearsTheConversationAndWhatTheRunningTurnSaves(t *testing.T) {
	simulate(t, func(r *rig) {
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
		r.say("ann", "/new", "This is a new conversation")
		forgotten()
		r.same("what agents keep ends in", r.agents.afresh, []string{chatOf("ann").String()})
		r.say("ann", "hello")
		remember()
		r.say("ann", "/new", "This is a new conversation")
		forgotten()
		r.same("the turn that runs forgets", r.running("ann").forgot, true)
		r.same("it is cancelled with", r.running("ann").cancelled, []error(nil))
	})
}

func TestStatusSaysWhatRunsWaitsAndIsNotDelivered(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "/status", "Nothing is running.\nWaiting: 0")
		r.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Line: "Coder 2\nwith more to say"}}
		r.say("ann", "the first")
		time.Sleep(1500 * time.Millisecond)
		r.finish("ann")
		r.say("ann", "the second,\nwhose text is so long that only its beginning is shown")
		for _, text := range []string{"waits", "waits, too"} {
			if err := r.Receive(r.t.Context(), r.message("ann", text)); err != nil {
				r.t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		r.say("ann", "/status", "Queued, number 1 in line.", "Queued, number 2 in line.", `Running for 5s: the second, whose text is so long that o…
Agent: Coder 2
Waiting: 2
Last turns:
- done, 1.5s, CPU 200ms: the first
Not delivered:
- pending for 5s: Queued, number 2 in line.
- pending for 5s: Queued, number 1 in line.`)
	})
}

func TestHelpNamesTheAgentsCommandsThatReachIt(t *testing.T) {
	simulate(t, func(r *rig) {
		r.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Commands: []terminal.Command{{Name: "Stop", Help: "never reached"}, {Name: "review", Help: "look at a change\nclosely"}, {Name: "bare"}, {Name: "start"}}}}
		r.say("ann", "/help", `/stop: stop the current work and drop waiting messages
/status: show what is running, waiting and undelivered
/new: start a new conversation
/retry: run your last message again
/whoami: show your ID and this chat's
/help: list these commands

The agent's own commands:
/review: look at a change
/bare

Everything else goes to the agent.`)
	})
}

func TestAllOtherCommandsGoToTheAgent(t *testing.T) {
	simulate(t, func(r *rig) {
		for _, text := range []string{"/review now", "/cancel 1", "/again 1", "cancel:1", "please /stop", "stop", "/stopped"} {
			inbound := r.say("ann", text)
			r.same(text, inbound.State, store.Running)
			r.finish("ann")
		}
	})
}

func TestRetryRunsTheLastTurnAgainOfSomebodyWhoIsAdmitted(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "/retry", "There is nothing to run again.")
		r.say("ann", "of ann")
		r.say("ann", "/retry", "I am still working. Send /stop first.")
		r.finish("ann")
		in := r.message("bob", "of bob")
		in.Chat = chatOf("ann")
		r.receive(in)
		r.finish("ann")
		r.settings.AllowFrom["net"] = []string{"ann"}
		r.say("ann", "/retry")
		r.same("state of the message", r.recent(chatOf("ann"))[3].State, store.Pending)
		r.same("its text", r.recent(chatOf("ann"))[3].In.Text, "of ann")
		r.same("the lanes are woken", r.lanes.woken, 1)
	})
}

func TestTheButtonOfATurnThatWasCutOffRunsItAgain(t *testing.T) {
	simulate(t, func(r *rig) {
		inbound := r.say("ann", "hello")
		again := fmt.Sprint("again:", inbound.ID)
		r.press("ann", again) // it runs
		r.finish("ann")
		r.press("bob", again) // it is another chat's
		r.press("ann", "again:x")
		r.same("the lanes are woken", r.lanes.woken, 0)
		in := r.message("bob", "")
		in.Chat, in.Press = chatOf("ann"), again
		r.settings.AllowFrom["net"] = []string{"bob"}
		r.receive(in, "The person who wrote that no longer has access.")
		r.settings.AllowFrom["net"] = []string{"ann"}
		r.press("ann", again)
		r.same("the lanes are woken", r.lanes.woken, 1)
		now, _, err := r.store.Inbound(r.t.Context(), inbound.ID)
		r.same("error", err, error(nil))
		r.same("state", now.State, store.Pending)
	})
}

func TestTheButtonOfAWaitingMessageCancelsItAlone(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "one")
		in := r.message("ann", "two")
		if err := r.Receive(r.t.Context(), in); err != nil {
			r.t.Fatal(err)
		}
		notice := r.told(chatOf("ann"), "Queued, number 1 in line.")[0].Out
		r.same("the notice replies to", notice.ReplyTo, in.ID)
		r.say("ann", "three", "Queued, number 2 in line.")
		r.same("the button", notice.Buttons, []channels.Button{{Label: "Cancel", Data: fmt.Sprint("cancel:", r.recent(chatOf("ann"))[1].ID)}})
		r.press("bob", notice.Buttons[0].Data, "That message is no longer waiting.") // it is another chat's
		r.press("ann", notice.Buttons[0].Data, "Cancelled.")
		r.press("ann", notice.Buttons[0].Data, "That message is no longer waiting.")
		press := notice.Buttons[0].Data + " done"
		r.has("ann", "one running", "two dead", "three pending", press, press)
	})
}
