package prepared

import (
	"cmp"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Change is a change of an earlier message.
type Change struct {
	store.ChangeRequest
	Part    channels.Part
	Now     time.Time
	Answers map[store.Effect][]*Outbound
}

// NewChange prepares a change.
func NewChange(request store.ChangeRequest, member string, now time.Time) Change {
	c := Change{ChangeRequest: request, Now: now, Answers: map[store.Effect][]*Outbound{}}
	c.Part, c.In = ExtractPart(request.In)
	for effect, answer := range request.Answers {
		c.Answers[effect] = NewOutbounds(answer, member)
	}
	return c
}

// Decision is what is to be stored because of a change.
type Decision struct {
	// ChangeResult is the result. The Inbound of StoredForRerun is to be inserted and has no ID; a
	// Withdrawn one is to be cancelled.
	store.ChangeResult
	// Replaces says that the content and the agent of Inbound replace those of the earlier message.
	Replaces bool
	// Messages, of StoredForRerun, are the IDs of the network's messages that lead to Inbound from
	// then on.
	Messages []string
}

// Decide decides what a change does to the message that it changes.
func (c Change) Decide(before store.Inbound) Decision {
	switch {
	case c.Refused || before.State == store.Dead:
	case c.In.Change == channels.Deleted:
		return c.decideDeletion(before)
	case c.In.Change == channels.Edited:
		return c.decideEdit(before)
	}
	return Decision{}
}

// decideDeletion withdraws a pending message, or removes one of the messages that it was made of.
func (c Change) decideDeletion(before store.Inbound) Decision {
	if before.State != store.Pending || c.Injected {
		return Decision{}
	}
	if rest, ok := before.In.Without(c.In.ID); ok {
		return replaceContent(before, rest)
	}
	return c.withdrawPending(before)
}

func (c Change) withdrawPending(before store.Inbound) Decision {
	before.State, before.Ended = store.Dead, storedTime(c.Now)
	return Decision{ChangeResult: store.ChangeResult{Effect: store.Withdrawn, Inbound: before}}
}

// decideEdit replaces the content of a message that had no turn, or stores the new content beside a
// message that had one.
func (c Change) decideEdit(before store.Inbound) Decision {
	edited := before.In.ApplyEdit(c.In)
	isOlder := !c.In.ChangedAt.IsZero() && c.In.ChangedAt.Before(before.In.ChangedAt)
	isUnusedEdit := before.State == store.Done && before.Attempt == 0 && before.In.Change == channels.Edited
	isSame := edited.SameContent(before.In) && cmp.Or(c.Agent, before.Agent) == before.Agent
	switch before.Agent = cmp.Or(c.Agent, before.Agent); {
	case isSame || isOlder:
		return Decision{}
	case before.State == store.Pending && c.Withdraw && !c.Injected:
		return c.withdrawPending(before)
	case c.Withdraw:
		return Decision{}
	case before.State == store.Pending && c.Injected: // it gets a turn of its own if the running one did not read it
		decision := c.storeForRerun(before, edited)
		decision.Replaces = true
		return decision
	case before.State == store.Pending || isUnusedEdit:
		return replaceContent(before, edited)
	case before.Attempt == 0: // a command, an answer to a question, or a message that was not accepted
		return Decision{}
	}
	return c.storeForRerun(before, edited)
}

func replaceContent(before store.Inbound, in channels.Incoming) Decision {
	before.In = in
	return Decision{ChangeResult: store.ChangeResult{Effect: store.Replaced, Inbound: before}, Replaces: true}
}

// storeForRerun makes an inbound message without a turn of new content.
func (c Change) storeForRerun(before store.Inbound, in channels.Incoming) Decision {
	at := storedTime(c.Now)
	i := store.Inbound{In: in, Agent: before.Agent, State: store.Done, Received: at, Ended: at}
	i.Outcome.Status = store.ByEdit
	messages := []string{c.In.ID, in.ID}
	for _, p := range in.Pieces {
		messages = append(messages, p.ID)
	}
	return Decision{ChangeResult: store.ChangeResult{Effect: store.StoredForRerun, Inbound: i}, Messages: messages}
}

// storedTime is a time as it is stored, in microseconds.
func storedTime(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }
