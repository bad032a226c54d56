package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

// enqueue puts a message in its chat's lane, by the rule for messages that come while a turn runs.
// The store decides whether one runs.
func (i *Intake) enqueue(ctx context.Context, in channels.Incoming, set Settings) error {
	request := store.ReceiveRequest{In: in, NotWhileRunning: set.WhileRunning == Reject}
	if err := i.assign(ctx, &request); err != nil {
		return err
	}
	how := set.whileRunning(request.Agent)
	request.QueueLimit = set.QueueLimit
	if t := i.o.Lanes.Running(in.Chat); t != nil && how == Inject && set.QueueLimit > 0 {
		request.QueueLimit += t.InjectedCount() // what the agent was handed stays pending until its turn ends
	}
	result, err := i.accept(ctx, request)
	if err == nil && result.Disposition == store.Busy && i.ended(in.Chat, result) {
		request.NotWhileRunning = false
		result, err = i.accept(ctx, request)
	}
	if err != nil {
		return err
	}
	switch result.Disposition {
	case store.Busy:
		return i.drop(ctx, in, events.Busy, "I am still working on your last message. Send it again later, or /stop.")
	case store.Full:
		return i.drop(ctx, in, events.QueueFull, fmt.Sprintf("%d messages are waiting already, which is all I keep. /stop clears them.", result.Waiting))
	case store.Queued:
		return i.queued(ctx, how, result)
	case store.Duplicate, store.Claimed, store.Settled:
	}
	return nil
}

// drop settles a message that gets no turn, with its answer.
func (i *Intake) drop(ctx context.Context, in channels.Incoming, reason, answer string) error {
	fresh, err := i.conclude(ctx, store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true}, channels.Message{Text: answer})
	if fresh {
		i.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Reason: reason})
	}
	return err
}

// ended reports whether the turn that the store has as running has ended, so that only the record
// of that is to come.
func (i *Intake) ended(chat channels.Chat, result store.ReceiveResult) bool {
	return result.Runner == i.o.Store.Member() && i.running(chat, result) == nil
}

// running returns the turn of this member that ran in a chat when a message was received, if it has
// not ended.
func (i *Intake) running(chat channels.Chat, result store.ReceiveResult) Turn {
	return i.find(chat, result.Running)
}

// find returns the turn of an inbound message, or nil if this member does not run it, or its agent
// has ended.
func (i *Intake) find(chat channels.Chat, inbound int64) Turn {
	if t := i.o.Lanes.Running(chat); t != nil && t.Inbound().ID == inbound {
		return t
	}
	i.o.Lanes.AwaitClaim() // on disk it runs a moment before it can be found
	if t := i.o.Lanes.Running(chat); t != nil && t.Inbound().ID == inbound {
		return t
	}
	return nil
}

// queued does what is due for a message that waits behind a turn.
func (i *Intake) queued(ctx context.Context, how WhileRunning, result store.ReceiveResult) error {
	inbound := result.Inbound
	in := inbound.In
	// A person who only waits for a free slot, or for the end of a turn to be recorded, which often
	// takes a moment, is not told.
	if result.Running == 0 || i.ended(in.Chat, result) {
		return nil
	}
	t := i.running(in.Chat, result)
	if i.readLate(ctx, t, inbound) {
		return nil
	}
	if how == Inject && t != nil && t.Agent() != inbound.Agent { // it reaches no other agent than its own
		how = Queue
	}
	switch how {
	case Inject:
		// It stays pending until the turn has ended, so that it gets a turn of its own if this one
		// does not read it or is cut off. It passes none that waits.
		if t != nil && result.Waiting == t.InjectedCount()+1 {
			t.Inject(inbound)
		}
		return nil
	case Interrupt:
		if t != nil {
			t.Cancel(i.o.Interrupted)
		}
		return nil
	case Queue, Reject:
	}
	notice := channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: fmt.Sprintf("Queued, number %d in line.", result.Waiting), ReplyTo: in.ID,
		Buttons: []channels.Button{{Label: "Cancel", Data: fmt.Sprintf("cancel:%d", inbound.ID)}},
	}
	return i.o.Outbox.Post(ctx, &outbox.Message{Message: notice, About: inbound.ID})
}

// accept stores a message and starts its turn if that can begin at once.
func (i *Intake) accept(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	a.Cursor = a.In.Cursor
	result, err := i.o.Lanes.Accept(ctx, a)
	if err != nil {
		return result, err
	}
	if result.Disposition == store.Queued {
		i.o.Events.Report(events.Event{Type: events.Queued, Chat: a.In.Chat, Inbound: result.Inbound.ID})
	}
	if len(a.Answer) > 0 {
		i.o.Outbox.Wake(a.In.Chat)
	}
	return result, nil
}
