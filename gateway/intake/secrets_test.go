package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestALineThatWaitedForAPasswordPromptIsRemovedWhenItIsTyped(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.takes, fx.agents.asksAfter = keysCommands, time.Second, 1
		fx.writeToProtocol("ann", "/key asks for a password")
		fx.writeToProtocol("ann", "/key hunter2") // while the first one is carried out
		fx.awaitAndCheck("ann")
		fx.writeToProtocol("ann", "/key hunter3")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", fx.agents.done, []string{`net:ann key "asks for a password"`, `net:ann key "hunter2"`, `net:ann key "hunter3"`})
		fx.checkInbounds("ann", "/key asks for a password done", " done", " done")
		var texts []string
		for _, record := range fx.records {
			texts = append(texts, record.Command+" "+record.Text)
		}
		fx.checkEqual("the audit log", texts, []string{"/key /key asks for a password", "/key ", "/key "})
		left, err := fx.store.Transients(fx.t.Context())
		if err != nil || len(left) != 2 || left[0] != (store.Transient{Chat: chatOf("ann"), ID: left[0].ID, Inbound: 2, Incoming: true}) {
			fx.t.Errorf("to be deleted are %+v, %v", left, err)
		}
	})
}

func TestATextThatMayAnswerASecretQuestionAmongOthersIsNotStored(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "log in")
		fx.askQuestion("one")
		secret := store.Question{Question: terminal.Question{ID: "two", Text: "Password?", Secret: true}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chatOf("ann")}
		if err := fx.store.Ask(fx.t.Context(), secret, store.Outbound{}); err != nil {
			fx.t.Fatal(err)
		}
		fx.writeMessage("ann", "hunter2", "Which question do you mean? Press a button under it, or reply to it.")
		fx.checkEqual("the stored text", fx.recent(chatOf("ann"))[0].In.Text, "")
	})
}

// askSecret lets the turn of ann's chat ask for a password, and returns the network's ID of the
// question's message.
func (fx *fixture) askSecret() (receipt string) {
	fx.t.Helper()
	chat := chatOf("ann")
	q := store.Question{Question: terminal.Question{ID: "secret", Text: "Password?", Secret: true}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
	if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		fx.t.Fatal(err)
	}
	fx.outbox.Wake(chat)
	return receiptOf(fx.checkStored(chat, "Password?")[0])
}

func TestAReplyToASecretQuestionThatHasEndedIsNotStored(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "log in")
		asked := fx.askSecret()
		fx.finishTurn("ann")
		late := fx.message("ann", "hunter2")
		late.ReplyTo = &channels.Quote{ID: asked}
		fx.receive(late, "This question is no longer open.")
		other := fx.message("ann", "another message")
		other.ReplyTo = &channels.Quote{ID: "sent99"}
		fx.receive(other)
		fx.checkInbounds("ann", "log in done", " done", "another message running")
		left, err := fx.store.Transients(fx.t.Context())
		if err != nil || len(left) != 1 || left[0].ID != late.ID {
			fx.t.Errorf("to be deleted are %+v, %v", left, err)
		}
	})
}

func TestAPasswordBeyondTheRateLimitIsNotStored(t *testing.T) {
	for name, prepare := range map[string]func(fx *fixture){
		"the answer to a question": func(fx *fixture) { fx.askSecret() },
		"a line for a password's prompt": func(fx *fixture) {
			fx.agents.commands, fx.agents.asksAfter, fx.agents.done = keysCommands, 1, []string{"one"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.settings.RatePerMinute = 1
				fx.writeMessage("ann", "log in")
				prepare(fx)
				fx.writeMessage("ann", "hunter2", "That is more than 1")
				fx.checkInbounds("ann", "log in running", " done")
			})
		})
	}
}

func TestALineThatWaitedForAPasswordPromptIsRemovedAlsoAfterAFailureAndWithoutAccess(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.takes, fx.agents.asksAfter = keysCommands, time.Second, 1
		fx.disk.failedErasures = 2
		fx.writeToProtocol("ann", "/key asks for a password")
		fx.writeToProtocol("ann", "/key hunter2")
		fx.denied.Store("ann", true) // after both were received
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", len(fx.agents.done), 1)
		fx.checkInbounds("ann", "/key asks for a password done", " done")
	})
}
