package intake

import (
	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

// longestChoice and longestTitle bound what is recorded of the option that a person chose and of
// the question, which is in the agent's words.
const longestChoice, longestTitle = 80, 200

// recordAnswer writes down that somebody answered a question. What they chose of several options is
// the decision; what they wrote is text.
func (i *Intake) recordAnswer(in channels.Incoming, q store.Question) {
	r := audit.Record{Event: audit.Answer, Decision: "text", Run: q.Inbound, Question: q.ID, Text: channels.FirstLine(q.Text, longestTitle) + " → " + *q.Answer}
	if len(q.Options) > 0 {
		r.Decision = channels.FirstLine(*q.Answer, longestChoice)
	}
	i.o.Audit.Record(in, r)
}

// recordRefusal writes down that somebody was not let in: when they are given a code, and else as
// often as that is logged. Were it each time, they could push everything else out of the record.
func (i *Intake) recordRefusal(in channels.Incoming, coded, before bool) {
	switch {
	case coded:
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Coded})
	case !before:
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Refused})
	}
}
