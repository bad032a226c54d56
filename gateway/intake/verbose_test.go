package intake_test

import (
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

func TestVerboseIsRememberedPerChatAndOutlivesANewConversation(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		stored := func(user string) string {
			value := musttest.Get(fx.store.Recall(fx.t.Context(), chatOf(user), store.VerboseMemory))(fx.t)
			return value
		}
		fx.writeMessage("ann", "/verbose", "This chat sees the work while it runs.")
		fx.writeMessage("ann", "/verbose 0", "From the next message on I show only answers")
		fx.writeMessage("ann", "/new", "This is a new conversation.")
		fx.writeMessage("ann", "/verbose", "This chat sees only answers")
		fx.checkEqual("stored", []string{stored("ann"), stored("bob")}, []string{store.NoBoard, ""})
		fx.writeMessage("bob", "/verbose", "This chat sees the work while it runs.")
		fx.writeMessage("ann", "/verbose 2", "Send /verbose 0 to see only answers")
		fx.checkEqual("stored after a mistake", stored("ann"), store.NoBoard)
		fx.writeMessage("ann", "/verbose 1", "From the next message on I show the work")
		fx.checkEqual("stored at last", stored("ann"), "")
	})
}

func TestTheDetailsOfATurnAreShownInItsChatOnly(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		inbound := fx.writeMessage("ann", "work")
		musttest.Do(fx.t, fx.store.SaveDetails(fx.t.Context(), inbound.ID, "1. read\n2. write"))
		fx.finishTurn("ann")
		button := fmt.Sprint("details:", inbound.ID)
		fx.pressButton("ann", button, "1. read\n2. write")
		fx.pressButton("ann", button, "1. read\n2. write") // it stays
		fx.pressButton("bob", button)
		fx.pressButton("ann", "details:nonsense")
		fx.pressButton("ann", "details:4711", "The details of that work are no longer stored.")
		fx.writeMessage("ann", "/details") // for the agent, without a button
		fx.checkEqual("the last message", fx.recent(chatOf("ann"))[0].State, store.Running)
	})
}

func TestAnswersToCommandsAreSilentAndSomeArePrivate(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		for text, private := range map[string]bool{"/status": true, "/help": true, "/whoami": true, "/new": false, "/verbose": false} {
			musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", text)))
			for _, delivery := range fx.settleAll(chatOf("ann")) {
				fx.checkEqual(text, delivery.Out.Notification, channels.Notification{Silent: true, Private: private})
			}
		}
	})
}
