package intake_test

import (
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
)

func TestVerboseIsRememberedPerChatAndOutlivesANewConversation(t *testing.T) {
	runIntake(t, func(r *fixture) {
		stored := func(user string) string {
			value, err := r.store.Recall(r.t.Context(), chatOf(user), store.VerboseMemory)
			if err != nil {
				r.t.Fatal(err)
			}
			return value
		}
		r.writeMessage("ann", "/verbose", "This chat sees the work while it runs.")
		r.writeMessage("ann", "/verbose 0", "From the next message on I show only answers")
		r.writeMessage("ann", "/new", "This is a new conversation.")
		r.writeMessage("ann", "/verbose", "This chat sees only answers")
		r.checkEqual("stored", []string{stored("ann"), stored("bob")}, []string{store.NoBoard, ""})
		r.writeMessage("bob", "/verbose", "This chat sees the work while it runs.")
		r.writeMessage("ann", "/verbose 2", "Send /verbose 0 to see only answers")
		r.checkEqual("stored after a mistake", stored("ann"), store.NoBoard)
		r.writeMessage("ann", "/verbose 1", "From the next message on I show the work")
		r.checkEqual("stored at last", stored("ann"), "")
	})
}

func TestTheDetailsOfATurnAreShownInItsChatOnly(t *testing.T) {
	runIntake(t, func(r *fixture) {
		inbound := r.writeMessage("ann", "work")
		if err := r.store.SaveDetails(r.t.Context(), inbound.ID, "1. read\n2. write"); err != nil {
			r.t.Fatal(err)
		}
		r.finishTurn("ann")
		button := fmt.Sprint("details:", inbound.ID)
		r.pressButton("ann", button, "1. read\n2. write")
		r.pressButton("ann", button, "1. read\n2. write") // it stays
		r.pressButton("bob", button)
		r.pressButton("ann", "details:nonsense")
		r.pressButton("ann", "details:4711", "The details of that work are no longer stored.")
		r.writeMessage("ann", "/details") // for the agent, without a button
		r.checkEqual("the last message", r.recent(chatOf("ann"))[0].State, store.Running)
	})
}

func TestAnswersToCommandsAreSilentAndSomeArePrivate(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for text, private := range map[string]bool{"/status": true, "/help": true, "/whoami": true, "/new": false, "/verbose": false} {
			if err := r.Receive(r.t.Context(), r.message("ann", text)); err != nil {
				r.t.Fatal(err)
			}
			for _, p := range r.settleAll(chatOf("ann")) {
				r.checkEqual(text, p.Out.Notification, channels.Notification{Silent: true, Private: private})
			}
		}
	})
}
