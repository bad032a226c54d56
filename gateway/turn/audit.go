package turn

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/terminal"
)

// cutOffStatus is the audit status of a turn that a shutdown ended. The next start runs it again or
// reports it.
const cutOffStatus = "cut off"

// longestTitle bounds what is recorded of a decision, which is in the agent's words.
const longestTitle = 400

// audit writes down something about the turn.
func (t *Turn) audit(r audit.Record) {
	r.Run, r.Agent = t.inbound.ID, t.agent
	t.stage.o.Audit.Record(t.inbound.In, r)
}

// auditStart writes down that an agent is about to be started.
func (t *Turn) auditStart() {
	t.audit(audit.Record{
		Event: audit.TurnStart, Decision: audit.Allowed, Attempt: t.inbound.Attempt, Launch: t.set.Launch,
		In: audit.Size{Bytes: len(t.inbound.In.Text), Media: len(t.inbound.In.Media)}, Text: t.inbound.In.Text,
	})
}

// auditEnd writes down how a turn has ended.
func (t *Turn) auditEnd(out terminal.Outcome, err error, cut bool, took time.Duration) {
	end := &audit.End{Status: string(out.Status), Exit: out.ExitCode, Signal: out.Signal, Error: err != nil, Millis: took.Milliseconds()}
	switch {
	case cut:
		end.Status = cutOffStatus
	case err != nil:
		end.Status = string(terminal.Failed)
	}
	t.audit(audit.Record{
		Event: audit.TurnEnd, Attempt: t.inbound.Attempt, End: end,
		Out: audit.Size{Bytes: int(t.saidBytes.Load()), Media: int(t.saidMedia.Load())},
	})
}

// auditDecision writes down what was decided in a turn.
func (t *Turn) auditDecision(what string) {
	t.audit(audit.Record{Event: audit.Decided, Attempt: t.inbound.Attempt, Title: channels.FirstLine(what, longestTitle)})
}
