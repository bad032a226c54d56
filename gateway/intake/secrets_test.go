package intake_test

import (
	"testing"
	"time"

	"nanobot/gateway/store"
)

func TestALineThatWaitedForAPasswordPromptIsRemovedWhenItIsTyped(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.takes, r.agents.asksAfter = keysCommands, time.Second, 1
		r.writeToProtocol("ann", "/key asks for a password")
		r.writeToProtocol("ann", "/key hunter2") // while the first one is carried out
		r.awaitAndCheck("ann")
		r.writeToProtocol("ann", "/key hunter3")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", r.agents.done, []string{`net:ann key "asks for a password"`, `net:ann key "hunter2"`, `net:ann key "hunter3"`})
		r.checkInbounds("ann", "/key asks for a password done", " done", " done")
		var texts []string
		for _, record := range r.records {
			texts = append(texts, record.Command+" "+record.Text)
		}
		r.checkEqual("the audit log", texts, []string{"/key /key asks for a password", "/key ", "/key "})
		left, err := r.store.Transients(r.t.Context())
		if err != nil || len(left) != 2 || left[0] != (store.Transient{Chat: chatOf("ann"), ID: left[0].ID, Inbound: 2, Incoming: true}) {
			r.t.Errorf("to be deleted are %+v, %v", left, err)
		}
	})
}

func TestATextThatMayAnswerASecretQuestionAmongOthersIsNotStored(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "log in")
		r.askQuestion("one")
		secret := store.Question{ID: "two", Inbound: r.runningTurn("ann").inbound.ID, Chat: chatOf("ann"), Text: "Password?", Secret: true}
		if err := r.store.Ask(r.t.Context(), secret, store.Outbound{}); err != nil {
			r.t.Fatal(err)
		}
		r.writeMessage("ann", "hunter2", "Which question do you mean? Press a button under it, or reply to it.")
		r.checkEqual("the stored text", r.recent(chatOf("ann"))[0].In.Text, "")
	})
}
