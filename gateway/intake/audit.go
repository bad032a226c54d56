package intake

import (
	"slices"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

// maxChoice and maxTitle bound the audited text of a chosen option and of a question, in runes.
const maxChoice, maxTitle = 80, 200

// auditAnswer records an answer to a question. A chosen option is recorded as the decision; typed
// text is recorded as text, unless it is a secret.
func (i *Intake) auditAnswer(in channels.Incoming, q store.Question) {
	r := audit.Record{
		Event: audit.Answer, Decision: "text", Run: q.Inbound, Question: q.ID,
		Text: channels.FirstLine(q.Text, maxTitle),
	}
	if slices.Contains(q.Options, *q.Answer) {
		r.Decision = channels.FirstLine(*q.Answer, maxChoice)
	}
	if !q.Secret {
		r.Text += " → " + *q.Answer
	}
	i.o.Audit.Record(in, r)
}
