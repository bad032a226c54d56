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

// longestTitle bounds what is recorded of a decision, which is in the agent's words.
const longestTitle = 400

// audit writes down something that a message led to.
func (g *Gateway) audit(in channels.Incoming, r audit.Record) {
	if g.o.Audit == nil {
		return
	}
	g.o.Audit(r.From(in))
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

// auditDecision writes down what was decided in a turn.
func (t *turn) auditDecision(what string) {
	t.g.audit(t.item.In, audit.Record{Event: audit.Decided, Run: t.item.ID, Attempt: t.item.Attempt, Title: channels.FirstLine(what, longestTitle)})
}

// auditOperator writes down what an operator does to a turn.
func (g *Gateway) auditOperator(item store.Item, command string) {
	g.audit(channels.Incoming{Chat: item.In.Chat, ID: item.In.ID}, audit.Record{Event: audit.Command, Decision: "operator", Command: command, Run: item.ID})
}
