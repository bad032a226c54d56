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
func (i *Intake) enqueue(ctx context.Context, in channels.Incoming) error {
	set := i.o.Settings()
	t := i.o.Lanes.Running(in.Chat)
	if t != nil {
		switch set.WhileRunning {
		case Reject:
			return i.settle(ctx, in, "I am still working on your last message. Send it again later, or /stop.")
		case Inject:
			return i.inject(ctx, t, in)
		case Queue, Interrupt:
		}
	}
	waiting := 0
	if t != nil || i.o.Lanes.Full() {
		var err error
		if waiting, err = i.o.Store.Waiting(ctx, in.Chat); err != nil {
			return fmt.Errorf("count waiting messages: %w", err)
		}
		if set.QueueLimit > 0 && waiting >= set.QueueLimit {
			return i.settle(ctx, in, fmt.Sprintf("%d messages are waiting already, which is all I keep. /stop clears them.", waiting))
		}
	}
	inbound, result, err := i.accept(ctx, store.ReceiveRequest{In: in})
	// A person who only waits for a free slot, which often takes a moment, is not told.
	if err != nil || result != store.Queued || t == nil {
		return err
	}
	if set.WhileRunning == Interrupt {
		t.Cancel(i.o.Interrupted)
		return nil
	}
	notice := channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: fmt.Sprintf("Queued, number %d in line.", waiting+1), ReplyTo: in.ID,
		Buttons: []channels.Button{{Label: "Cancel", Data: fmt.Sprintf("cancel:%d", inbound.ID)}},
	}
	return i.o.Outbox.Post(ctx, &outbox.Message{Message: notice, About: inbound.ID})
}

// accept stores a message and starts its turn if that can begin at once.
func (i *Intake) accept(ctx context.Context, a store.ReceiveRequest) (store.Inbound, store.ReceiveResult, error) {
	a.Cursor = a.In.Cursor
	inbound, result, err := i.o.Lanes.Accept(ctx, a)
	if err == nil && result == store.Queued {
		i.o.Events.Tell(events.Event{What: events.Queued, Chat: a.In.Chat, Inbound: inbound.ID})
	}
	return inbound, result, err
}

// inject hands a message to the turn that runs. It stays pending until that turn has ended, so that
// it gets a turn of its own if this one does not read it or is cut off. It passes none that waits.
func (i *Intake) inject(ctx context.Context, t Turn, in channels.Incoming) error {
	inbound, result, err := i.accept(ctx, store.ReceiveRequest{In: in})
	if err != nil || result != store.Queued {
		return err
	}
	waiting, err := i.o.Store.Waiting(ctx, in.Chat)
	if err == nil && waiting == t.Injected()+1 {
		t.Inject(inbound)
	}
	return nil // it is stored, and gets a turn of its own
}
