package intake_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// offerChoices finishes a turn of a person whose agent has sent a message with buttons, and returns
// the data of the buttons.
func (fx *fixture) offerChoices(user string, labels ...string) (data []string) {
	fx.t.Helper()
	inbound := fx.writeMessage(user, "offer")
	data = fx.enqueueChoices(inbound, 1, labels...)
	fx.finishTurn(user)
	return data
}

// enqueueChoices sends a message with buttons as the agent's answer to a message. The buttons are
// the same for every sequence number, as those of a turn that is repeated.
func (fx *fixture) enqueueChoices(inbound store.Inbound, sequence int, labels ...string) (data []string) {
	fx.t.Helper()
	m := outbox.Reply(inbound, channels.Message{Kind: channels.Answer, Text: "Which?"})
	m.Sequence = 1
	m.AddChoices(labels)
	for _, b := range m.Buttons {
		data = append(data, b.Data)
	}
	_, _, err := fx.store.Enqueue(fx.t.Context(), store.Outbound{
		Inbound: inbound.ID, Sequence: sequence, Parts: []channels.Outgoing{{Chat: inbound.In.Chat, Text: "Which?", Buttons: m.Buttons}},
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.settleAll(inbound.In.Chat)
	return data
}

func TestThePressOfAnAgentsButtonIsTheNextMessage(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		data := fx.offerChoices("ann", "Yes", "No, /stop")
		fx.pressButton("ann", data[1])
		fx.pressButton("ann", data[1]) // twice
		fx.pressButton("ann", data[0]) // the other one
		fx.checkInbounds("ann", "offer done", "No, /stop running")
		if in := fx.runningTurn("ann").inbound.In; in.User.ID != "ann" || in.Press != "" {
			t.Errorf("the message is %+v", in)
		}
		fx.checkVisible()
	})
}

func TestAnAgentsButtonIsNeitherACommandNorTheAnswerToAQuestion(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		data := fx.offerChoices("ann", "/stop")
		asking := fx.writeMessage("ann", "work")
		q := store.Question{Question: terminal.Question{ID: "q", Text: "Delete it?"}, Inbound: asking.ID, Chat: asking.In.Chat}
		if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: asking.ID, Parts: []channels.Outgoing{{Chat: asking.In.Chat, Text: q.Text}}}); err != nil {
			t.Fatal(err)
		}
		fx.settleAll(asking.In.Chat)
		fx.pressButton("ann", data[0])
		fx.checkInbounds("ann", "offer done", "work running", "/stop pending")
		fx.checkEqual("answers", len(fx.answered), 0)
		fx.checkEqual("stops", len(fx.runningTurn("ann").cancelled), 0)
	})
}

func TestAnAgentsButtonThatIsTooOldOrOfAnotherChatSaysSo(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		const gone = "This button is too old. Please write your answer instead."
		data := fx.offerChoices("ann", "Yes")
		fx.pressButton("bob", data[0], gone) // a copy of the message in another chat
		for _, forged := range []string{"say:", "say:1", "say:x:1:2:3", data[0] + "1", "say:99999999999999999999:1:a:1"} {
			fx.pressButton("ann", forged, gone)
		}
		time.Sleep(time.Hour)
		if err := fx.store.Prune(fx.t.Context(), store.Retention{Age: time.Minute}); err != nil {
			t.Fatal(err)
		}
		fx.pressButton("ann", data[0], gone)
	})
}

func TestAPressCountsAsAMessageOfThePersonWhoPressed(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.RatePerMinute = 1
		data := fx.offerChoices("ann", "Yes")
		fx.pressButton("ann", data[0], "That is more than 1 messages a minute. Please wait a little.")
	})
}

func TestTheDataOfAnAgentsButtonsFitsEveryNetwork(t *testing.T) {
	m := outbox.Message{Message: channels.Message{Text: "Which?"}, Inbound: 1 << 62, Sequence: 1 << 30}
	m.AddChoices(strings.Split(strings.Repeat("x", 25), ""))
	for _, b := range m.Buttons {
		if len(b.Data) > 64 {
			t.Errorf("%q has %d bytes", b.Data, len(b.Data))
		}
	}
	again := outbox.Message{Message: channels.Message{Text: "Which one?"}, Inbound: 1 << 62, Sequence: 1 << 30}
	if again.AddChoices([]string{"x"}); again.Buttons[0].Data == m.Buttons[0].Data {
		t.Error("another message has the same buttons")
	}
}

func TestTheButtonsOfARepeatedTurnCanBePressed(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		data := fx.offerChoices("ann", "Yes", "No")
		fx.pressButton("ann", data[0])
		fx.finishTurn("ann")
		recent := fx.recent(fx.message("ann", "").Chat)
		offer := recent[len(recent)-1]
		fx.enqueueChoices(offer, 2, "Yes", "No")
		fx.pressButton("ann", data[1])
		fx.checkInbounds("ann", "offer done", "Yes done", "No running")
	})
}

func TestAnAgentsButtonDoesNotWaitForFurtherMessages(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		data := fx.offerChoices("ann", "Yes")
		fx.writeMessage("ann", "work")
		fx.settings.Gather = time.Minute
		fx.pressButton("ann", data[0])
		fx.receive(fx.message("ann", "thanks"))
		fx.checkInbounds("ann", "offer done", "work running", "Yes pending", "thanks pending")
	})
}

func TestARefusedPressDoesNotUseUpTheButtons(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		data := fx.offerChoices("ann", "Yes")
		fx.writeMessage("ann", "work")
		fx.settings.WhileRunning = intake.Reject
		fx.pressButton("ann", data[0], "I am still working on your last message. Send it again later, or /stop.")
		fx.finishTurn("ann")
		fx.pressButton("ann", data[0])
		fx.checkInbounds("ann", "offer done", "work done", data[0]+" done", "Yes running")
	})
}
