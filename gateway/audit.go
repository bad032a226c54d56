package gateway

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// cutOff is the status of a turn that a shutdown has ended. Another gateway runs it again or reports it.
const cutOff = "cut off"

// longestChoice and longestTitle bound what is written down of the option that somebody chose and of what it was about, which is in the
// agent's words.
const longestChoice, longestTitle = 80, 200

// audit writes down something that a message led to.
func (g *Gateway) audit(in channels.Incoming, r audit.Record) {
	if g.o.Audit == nil {
		return
	}
	r.Channel, r.Chat, r.Message = in.Chat.Channel, in.Chat.ID, in.ID
	r.User = audit.User{ID: in.User.ID, Name: in.User.Name, Username: in.User.Username}
	g.o.Audit(r)
}

// auditStart writes down that an agent is about to be started.
func (t *turn) auditStart() {
	t.g.audit(t.item.In, audit.Record{
		Event: audit.TurnStart, Decision: audit.Allowed, Run: t.item.ID, Attempt: t.item.Attempt, Launch: t.set.Launch,
		In: audit.Size{Bytes: len(t.item.In.Text), Media: len(t.item.In.Media)}, Text: t.item.In.Text,
	})
}

// auditEnd writes down how a turn has ended.
func (t *turn) auditEnd(out terminal.Outcome, err error, took time.Duration) {
	end := &audit.End{Status: string(out.Status), Exit: out.ExitCode, Signal: out.Signal, Error: err != nil, Millis: took.Milliseconds()}
	switch {
	case t.cutOff(out, err):
		end.Status = cutOff
	case err != nil:
		end.Status = string(terminal.Failed)
	}
	t.g.audit(t.item.In, audit.Record{
		Event: audit.TurnEnd, Run: t.item.ID, Attempt: t.item.Attempt, End: end,
		Out: audit.Size{Bytes: int(t.saidBytes.Load()), Media: int(t.saidMedia.Load())},
	})
}

// auditAnswer writes down that somebody answered a question. What they chose of several options is the decision; what they wrote is text.
func (g *Gateway) auditAnswer(in channels.Incoming, q store.Question) {
	r := audit.Record{Event: audit.Answer, Decision: "text", Run: q.Item, Question: q.ID, Text: short(q.Text, longestTitle) + " → " + *q.Answer}
	if len(q.Options) > 0 {
		r.Decision = short(*q.Answer, longestChoice)
	}
	g.audit(in, r)
}

// auditDecision writes down what was decided in a turn.
func (t *turn) auditDecision(what string) {
	t.g.audit(t.item.In, audit.Record{Event: audit.Decided, Run: t.item.ID, Attempt: t.item.Attempt, Title: short(what, 2*longestTitle)})
}

// auditStranger writes down that somebody was not let in: when they are given a code, and else as often as that is logged. Were it each time,
// they could push everything else out of the record.
func (g *Gateway) auditStranger(in channels.Incoming, coded, before bool) {
	switch {
	case coded:
		g.audit(in, audit.Record{Event: audit.Denied, Decision: audit.Coded})
	case !before:
		g.audit(in, audit.Record{Event: audit.Denied, Decision: audit.Refused})
	}
}

// auditOperator writes down what an operator does to a turn.
func (g *Gateway) auditOperator(item store.Item, command string) {
	g.audit(channels.Incoming{Chat: item.In.Chat, ID: item.In.ID}, audit.Record{Event: audit.Command, Decision: "operator", Command: command, Run: item.ID})
}
