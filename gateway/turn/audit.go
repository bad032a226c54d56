package turn

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/terminal"
)

// cutOffStatus is the audit status of a turn that a shutdown cut off. The next start retries or
// reports it.
const cutOffStatus = "cut off"

// maxTitle bounds the recorded text of a decision: what was decided, and as much of what the agent
// has written. A command of terminal.AuditQuote fits.
const maxTitle = 6000

// audit writes an audit record about the turn.
func (t *facts) audit(r audit.Record) {
	r.Run, r.Agent = t.inbound.ID, t.agent
	t.stage.o.Audit.Record(t.inbound.In, r)
}

func (t *Turn) auditStart() {
	t.audit(audit.Record{
		Event: audit.TurnStart, Decision: audit.Allowed, Attempt: t.inbound.Attempt, Launch: t.launch(),
		In: audit.Size{Bytes: len(t.inbound.In.Text), Media: len(t.inbound.In.Media)}, Text: t.inbound.In.Text,
	})
}

// launch returns how the agent is started for the message, in its place.
func (t *Turn) launch() audit.Launch {
	l := t.settings.Launch
	r, ok := t.settings.Runner.(interface {
		WorkDir(req terminal.Request) string
	})
	if !ok || l.Digest == "" {
		return l
	}
	if dir := r.WorkDir(RequestFor(t.inbound.In, "")); dir != l.Cwd {
		return audit.NewLaunch(l.Argv, dir, l.Env)
	}
	return l
}

func (t *Turn) auditEnd(out terminal.Outcome, err error, cut bool, took time.Duration) {
	end := &audit.End{
		Status: string(out.Status), Exit: out.ExitCode, Signal: out.Signal, Error: err != nil,
		Millis: took.Milliseconds(),
	}
	switch {
	case cut:
		end.Status = cutOffStatus
	case err != nil:
		end.Status = string(terminal.Failed)
	}
	t.audit(audit.Record{
		Event: audit.TurnEnd, Attempt: t.inbound.Attempt, End: end,
		Out: audit.Size{Bytes: int(t.outputBytes.Load()), Media: int(t.outputMedia.Load())},
	})
}

func (out *output) auditDecision(what string) {
	out.audit(audit.Record{Event: audit.Decided, Attempt: out.inbound.Attempt, Title: channels.FirstLine(what, maxTitle)})
}
