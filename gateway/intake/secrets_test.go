package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
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

// askSecret lets the turn of ann's chat ask for a password, and returns the network's ID of the
// question's message.
func (r *fixture) askSecret() (receipt string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{ID: "secret", Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Password?", Secret: true}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	return receiptOf(r.checkStored(chat, "Password?")[0])
}

func TestAReplyToASecretQuestionThatHasEndedIsNotStored(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "log in")
		asked := r.askSecret()
		r.finishTurn("ann")
		late := r.message("ann", "hunter2")
		late.ReplyTo = &channels.Quote{ID: asked}
		r.receive(late, "This question is no longer open.")
		other := r.message("ann", "another message")
		other.ReplyTo = &channels.Quote{ID: "sent99"}
		r.receive(other)
		r.checkInbounds("ann", "log in done", " done", "another message running")
		left, err := r.store.Transients(r.t.Context())
		if err != nil || len(left) != 1 || left[0].ID != late.ID {
			r.t.Errorf("to be deleted are %+v, %v", left, err)
		}
	})
}

func TestAPasswordBeyondTheRateLimitIsNotStored(t *testing.T) {
	for name, prepare := range map[string]func(r *fixture){
		"the answer to a question": func(r *fixture) { r.askSecret() },
		"a line for a password's prompt": func(r *fixture) {
			r.agents.commands, r.agents.asksAfter, r.agents.done = keysCommands, 1, []string{"one"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.settings.RatePerMinute = 1
				r.writeMessage("ann", "log in")
				prepare(r)
				r.writeMessage("ann", "hunter2", "That is more than 1")
				r.checkInbounds("ann", "log in running", " done")
			})
		})
	}
}

func TestALineThatWaitedForAPasswordPromptIsRemovedAlsoAfterAFailureAndWithoutAccess(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.takes, r.agents.asksAfter = keysCommands, time.Second, 1
		r.disk.failedErasures = 2
		r.writeToProtocol("ann", "/key asks for a password")
		r.writeToProtocol("ann", "/key hunter2")
		r.denied.Store("ann", true) // after both were received
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", len(r.agents.done), 1)
		r.checkInbounds("ann", "/key asks for a password done", " done")
	})
}
