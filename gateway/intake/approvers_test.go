package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askApproval lets the turn of ann's chat ask for an approval.
func (fx *fixture) askApproval(id string) {
	fx.t.Helper()
	chat := chatOf("ann")
	q := store.Question{Question: terminal.Question{ID: id, Text: "Run it?", Options: []string{"Yes", "No"}, Timeout: time.Hour, Approval: true}, Inbound: fx.runningTurn("ann").inbound.ID, Chat: chat}
	if err := fx.store.Ask(fx.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		fx.t.Fatal(err)
	}
	fx.outbox.Wake(chat)
	fx.checkStored(chat, "Run it?")
}

// messageInChat returns the next message of a person in somebody else's chat.
func (fx *fixture) messageInChat(other, user, text, press string) channels.Incoming {
	in := fx.message(user, text)
	in.Chat, in.Press = chatOf(other), press
	return in
}

func (fx *fixture) setApprovers(agent string, list ...string) {
	fx.people.Approvers[agent] = list
}

const onlyApprovers = "Only approvers can decide this."

func TestOnlyApproversAnswerAnApproval(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.pressButton("ann", "answer:q:1", onlyApprovers)
		fx.writeMessage("ann", "yes", onlyApprovers)
		fx.writeMessage("ann", "2", onlyApprovers)
		fx.writeMessage("ann", "what is it about?") // which is no answer
		fx.checkEqual("answers", fx.answered, []string(nil))
		fx.checkEqual("records", fx.decisions(), []string{"denied approver", "denied approver", "denied approver"})
		fx.checkEqual("questions that show an end", len(fx.outbox.ended), 0)
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:q:1"))
		fx.checkEqual("answers", fx.answered, []string{"q: Yes by bob"})
		fx.checkEqual("records", fx.decisions(), []string{"answer Yes"})
	})
}

func TestARefusedPressThatIsDeliveredTwiceIsAnsweredAndRecordedOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		in := fx.messageInChat("ann", "ann", "", "answer:q:1")
		fx.receive(in, onlyApprovers)
		fx.receive(in)
		fx.checkEqual("records", fx.decisions(), []string{"denied approver"})
	})
}

func TestAClosedApprovalIsRefusedAsClosed(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "hello")
		fx.askApproval("withdrawn")
		if ok, err := fx.store.Withdraw(fx.t.Context(), "withdrawn"); !ok || err != nil {
			fx.t.Fatal(ok, err)
		}
		fx.askApproval("expired")
		time.Sleep(time.Hour)
		fx.pressButton("ann", "answer:withdrawn:1", "This question is no longer open.")
		fx.pressButton("ann", "answer:expired:1", "This question is no longer open.")
		fx.checkEqual("answers", fx.answered, []string(nil))
	})
}

func TestAnApproverAnswersAnApprovalByTyping(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob", "net:carla")
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.receive(fx.messageInChat("ann", "bob", "no", ""))
		fx.checkEqual("answers", fx.answered, []string{"q: No by bob"})
	})
}

func TestWithoutApproversEverybodyAnswersAnApproval(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.pressButton("ann", "answer:q:1")
		fx.checkEqual("answers", fx.answered, []string{"q: Yes by ann"})
	})
}

func TestOrdinaryQuestionsAreForEverybody(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:bob")
		fx.writeMessage("ann", "hello")
		fx.askQuestion("q", "Yes", "No")
		fx.pressButton("ann", "answer:q:1")
		fx.checkEqual("answers", fx.answered, []string{"q: Yes by ann"})
	})
}

// A turn may run with an agent that the settings do not have any more, or on another member.
func TestTheApproversAreThoseThatTheSettingsNameNowForTheAgentThatAsks(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Agents["coder"] = intake.Agent{Runner: fx.agents}
		fx.setApprovers(store.DefaultAgent, "net:ann")
		fx.setApprovers("coder", "net:bob")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.pressButton("ann", "answer:q:1", onlyApprovers)
		delete(fx.people.Approvers, "coder")
		fx.pressButton("ann", "answer:q:1", onlyApprovers)
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:q:1"), onlyApprovers)
		fx.setApprovers("coder", "net:ann")
		delete(fx.lanes.turns, chatOf("ann"))
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:q:1"), onlyApprovers)
		fx.pressButton("ann", "answer:q:1")
		fx.checkEqual("answers", fx.answered, []string{"q: Yes by ann"})
	})
}

func TestApproversAreComparedByChannelAndID(t *testing.T) {
	list := []string{"telegram:1", "example:@ann:example.org"}
	for _, test := range []struct {
		list          []string
		channel, user string
		want          bool
	}{
		{nil, "telegram", "5", true},
		{list, "telegram", "1", true},
		{list, "discord", "1", false},
		{list, "telegram", "12", false},
		{list, "telegram", "", false},
		{list, "example", "@ann:example.org", true},
	} {
		people := access.New(access.Options{Settings: func() access.Settings { return access.Settings{RunApprovers: test.list} }})
		got, err := people.MayDecideRuns(t.Context(), store.Person{Channel: test.channel, User: test.user})
		if got != test.want || err != nil {
			t.Errorf("%q, %s:%s: %v, %v", test.list, test.channel, test.user, got, err)
		}
	}
}
