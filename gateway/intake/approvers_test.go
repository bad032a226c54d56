package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// askApproval lets the turn of ann's chat ask for an approval.
func (r *fixture) askApproval(id string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{ID: id, Inbound: r.runningTurn("ann").inbound.ID, Chat: chat, Text: "Run it?", Options: []string{"Yes", "No"}, Within: time.Hour, Approval: true}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	r.checkStored(chat, "Run it?")
}

// messageInChat returns the next message of a person in somebody else's chat.
func (r *fixture) messageInChat(other, user, text, press string) channels.Incoming {
	in := r.message(user, text)
	in.Chat, in.Press = chatOf(other), press
	return in
}

func (r *fixture) setApprovers(agent string, list ...string) {
	r.people.Approvers[agent] = list
}

const onlyApprovers = "Only approvers can decide this."

func TestOnlyApproversAnswerAnApproval(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "hello")
		r.askApproval("q")
		r.pressButton("ann", "answer:q:1", onlyApprovers)
		r.writeMessage("ann", "yes", onlyApprovers)
		r.writeMessage("ann", "2", onlyApprovers)
		r.writeMessage("ann", "what is it about?") // which is no answer
		r.checkEqual("answers", r.answered, []string(nil))
		r.checkEqual("records", r.decisions(), []string{"denied approver", "denied approver", "denied approver"})
		r.checkEqual("questions that show an end", len(r.outbox.ended), 0)
		r.receive(r.messageInChat("ann", "bob", "", "answer:q:1"))
		r.checkEqual("answers", r.answered, []string{"q: Yes by bob"})
		r.checkEqual("records", r.decisions(), []string{"answer Yes"})
	})
}

func TestARefusedPressThatIsDeliveredTwiceIsAnsweredAndRecordedOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "hello")
		r.askApproval("q")
		in := r.messageInChat("ann", "ann", "", "answer:q:1")
		r.receive(in, onlyApprovers)
		r.receive(in)
		r.checkEqual("records", r.decisions(), []string{"denied approver"})
	})
}

func TestAClosedApprovalIsRefusedAsClosed(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "hello")
		r.askApproval("withdrawn")
		if ok, err := r.store.Withdraw(r.t.Context(), "withdrawn"); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.askApproval("expired")
		time.Sleep(time.Hour)
		r.pressButton("ann", "answer:withdrawn:1", "This question is no longer open.")
		r.pressButton("ann", "answer:expired:1", "This question is no longer open.")
		r.checkEqual("answers", r.answered, []string(nil))
	})
}

func TestAnApproverAnswersAnApprovalByTyping(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob", "net:carla")
		r.writeMessage("ann", "hello")
		r.askApproval("q")
		r.receive(r.messageInChat("ann", "bob", "no", ""))
		r.checkEqual("answers", r.answered, []string{"q: No by bob"})
	})
}

func TestWithoutApproversEverybodyAnswersAnApproval(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "hello")
		r.askApproval("q")
		r.pressButton("ann", "answer:q:1")
		r.checkEqual("answers", r.answered, []string{"q: Yes by ann"})
	})
}

func TestOrdinaryQuestionsAreForEverybody(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.setApprovers(store.DefaultAgent, "net:bob")
		r.writeMessage("ann", "hello")
		r.askQuestion("q", "Yes", "No")
		r.pressButton("ann", "answer:q:1")
		r.checkEqual("answers", r.answered, []string{"q: Yes by ann"})
	})
}

// A turn may run with an agent that the settings do not have any more, or on another member.
func TestTheApproversAreThoseThatTheSettingsNameNowForTheAgentThatAsks(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.Agents["coder"] = intake.Agent{Runner: r.agents}
		r.setApprovers(store.DefaultAgent, "net:ann")
		r.setApprovers("coder", "net:bob")
		r.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		r.writeMessage("ann", "hello")
		r.askApproval("q")
		r.pressButton("ann", "answer:q:1", onlyApprovers)
		delete(r.people.Approvers, "coder")
		r.pressButton("ann", "answer:q:1", onlyApprovers)
		r.receive(r.messageInChat("ann", "bob", "", "answer:q:1"), onlyApprovers)
		r.setApprovers("coder", "net:ann")
		delete(r.lanes.turns, chatOf("ann"))
		r.receive(r.messageInChat("ann", "bob", "", "answer:q:1"), onlyApprovers)
		r.pressButton("ann", "answer:q:1")
		r.checkEqual("answers", r.answered, []string{"q: Yes by ann"})
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
		if got := people.MayDecideRuns(test.channel, test.user); got != test.want {
			t.Errorf("%q, %s:%s: %v", test.list, test.channel, test.user, got)
		}
	}
}
