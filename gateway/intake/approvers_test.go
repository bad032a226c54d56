package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// askApproval has the turn of ann's chat ask for something that needs approval.
func (r *rig) askApproval(id string) {
	r.t.Helper()
	chat := chatOf("ann")
	q := store.Question{ID: id, Inbound: r.running("ann").inbound.ID, Chat: chat, Text: "Run it?", Options: []string{"Yes", "No"}, Within: time.Hour, Approval: true}
	if err := r.store.Ask(r.t.Context(), q, store.Outbound{Inbound: q.Inbound, Parts: []channels.Outgoing{{Chat: chat, Text: q.Text}}}); err != nil {
		r.t.Fatal(err)
	}
	r.outbox.Wake(chat)
	r.told(chat, "Run it?")
}

// inChatOf is the next message of a person in somebody else's chat.
func (r *rig) inChatOf(other, user, text, press string) channels.Incoming {
	in := r.message(user, text)
	in.Chat, in.Press = chatOf(other), press
	return in
}

func (r *rig) approvers(agent string, list ...string) {
	a := r.settings.Agents[agent]
	a.Approvers = list
	r.settings.Agents[agent] = a
}

const onlyApprovers = "Only approvers can decide this."

func TestOnlyApproversAnswerAnApproval(t *testing.T) {
	simulate(t, func(r *rig) {
		r.approvers(store.DefaultAgent, "net:bob")
		r.say("ann", "hello")
		r.askApproval("q")
		r.press("ann", "answer:q:1", onlyApprovers)
		r.say("ann", "yes", onlyApprovers)
		r.say("ann", "2", onlyApprovers)
		r.say("ann", "what is it about?", "Queued") // which is no answer
		r.same("answers", r.answered, []string(nil))
		r.same("records", r.decisions(), []string{"denied approver", "denied approver", "denied approver"})
		r.same("questions that show an end", len(r.outbox.ended), 0)
		r.receive(r.inChatOf("ann", "bob", "", "answer:q:1"))
		r.same("answers", r.answered, []string{"q: Yes by bob"})
		r.same("records", r.decisions(), []string{"answer Yes"})
	})
}

func TestARefusedPressThatIsDeliveredTwiceIsAnsweredAndRecordedOnce(t *testing.T) {
	simulate(t, func(r *rig) {
		r.approvers(store.DefaultAgent, "net:bob")
		r.say("ann", "hello")
		r.askApproval("q")
		in := r.inChatOf("ann", "ann", "", "answer:q:1")
		r.receive(in, onlyApprovers)
		r.receive(in)
		r.same("records", r.decisions(), []string{"denied approver"})
	})
}

func TestAnApprovalThatIsNotOpenAnyMoreIsRefusedAsSuch(t *testing.T) {
	simulate(t, func(r *rig) {
		r.approvers(store.DefaultAgent, "net:bob")
		r.say("ann", "hello")
		r.askApproval("withdrawn")
		if ok, err := r.store.Withdraw(r.t.Context(), "withdrawn"); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.askApproval("expired")
		time.Sleep(time.Hour)
		r.press("ann", "answer:withdrawn:1", "This question is no longer open.")
		r.press("ann", "answer:expired:1", "This question is no longer open.")
		r.same("answers", r.answered, []string(nil))
	})
}

func TestAnApproverAnswersAnApprovalByTyping(t *testing.T) {
	simulate(t, func(r *rig) {
		r.approvers(store.DefaultAgent, "net:bob", "net:carla")
		r.say("ann", "hello")
		r.askApproval("q")
		r.receive(r.inChatOf("ann", "bob", "no", ""))
		r.same("answers", r.answered, []string{"q: No by bob"})
	})
}

func TestWithoutApproversEverybodyAnswersAnApproval(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("ann", "hello")
		r.askApproval("q")
		r.press("ann", "answer:q:1")
		r.same("answers", r.answered, []string{"q: Yes by ann"})
	})
}

func TestOrdinaryQuestionsAreForEverybody(t *testing.T) {
	simulate(t, func(r *rig) {
		r.approvers(store.DefaultAgent, "net:bob")
		r.say("ann", "hello")
		r.ask("q", "Yes", "No")
		r.press("ann", "answer:q:1")
		r.same("answers", r.answered, []string{"q: Yes by ann"})
	})
}

// A turn may run with an agent that the settings do not have any more, or on another member.
func TestTheApproversAreThoseThatTheSettingsNameNowForTheAgentThatAsks(t *testing.T) {
	simulate(t, func(r *rig) {
		r.settings.Agents["coder"] = intake.Agent{Runner: r.agents}
		r.approvers(store.DefaultAgent, "net:ann")
		r.approvers("coder", "net:bob")
		r.say("ann", "/agent coder", "The agent coder answers from now on.")
		r.say("ann", "hello")
		r.askApproval("q")
		r.press("ann", "answer:q:1", onlyApprovers)
		coder := r.settings.Agents["coder"]
		delete(r.settings.Agents, "coder")
		r.press("ann", "answer:q:1", onlyApprovers)
		r.receive(r.inChatOf("ann", "bob", "", "answer:q:1"), onlyApprovers)
		coder.Approvers = []string{"net:ann"}
		r.settings.Agents["coder"] = coder
		delete(r.lanes.turns, chatOf("ann"))
		r.receive(r.inChatOf("ann", "bob", "", "answer:q:1"), onlyApprovers)
		r.press("ann", "answer:q:1")
		r.same("answers", r.answered, []string{"q: Yes by ann"})
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
		if got := intake.Approves(test.list, test.channel, test.user); got != test.want {
			t.Errorf("%q, %s:%s: %v", test.list, test.channel, test.user, got)
		}
	}
}
