package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// readTimeout is how long a protocol may take to read a message. Other chats of the channel may
	// wait with it.
	readTimeout = 5 * time.Second
	// mostQueued bounds how many messages of a queue are offered in one step.
	mostQueued = 1000
)

// errNotRead says that the protocol of the turn that runs failed to read a message. The message
// then waits in the queue for another attempt, so that it does not hold up its channel.
var errNotRead = errors.New("message not read")

// reading returns the turn that runs in a chat if its agent's protocol reads messages, else nil.
func (i *Intake) reading(chat channels.Chat) Turn {
	if t := i.o.Lanes.Running(chat); t != nil && t.MessageReader() != nil {
		return t
	}
	return nil
}

// offerMessage offers a message to the turn that runs in its chat, behind those in the queue. It
// reports whether nothing else is to be done with the message. A message that was read is settled
// afterwards: after a crash in between the network delivers it again, and the protocol knows it.
func (i *Intake) offerMessage(ctx context.Context, in channels.Incoming) (bool, error) {
	if i.reading(in.Chat) == nil {
		return false, nil
	}
	defer i.o.Lanes.Lock(in.Chat)()
	t := i.reading(in.Chat)
	if t == nil {
		return false, nil
	}
	known, err := i.o.Store.Known(ctx, in.Chat, in.ID)
	if err != nil {
		return false, fmt.Errorf("look up message: %w", err)
	}
	if known && in.ID != "" { // perhaps the message that the turn works on
		return false, nil
	}
	agent, err := i.AgentOf(ctx, in.Chat)
	if err != nil || agent != t.Agent() { // it reaches no other agent than its own
		return false, err
	}
	if all, err := i.offerQueue(ctx, t); !all || err != nil {
		return false, err
	}
	if read, err := readMessage(ctx, t, in); !read || err != nil {
		return false, err
	}
	return true, i.settleRead(ctx, t, in)
}

// settleRead stores a message that a turn has read.
func (i *Intake) settleRead(ctx context.Context, t Turn, in channels.Incoming) error {
	fresh, err := i.conclude(ctx, store.ReceiveRequest{In: in, Agent: t.Agent(), Cursor: in.Cursor, Settle: true}, channels.Message{})
	if fresh {
		i.recordRead(t, in)
		t.MoveBoardDown() // the person's message is below the board
	}
	return err
}

// recordRead writes down that a turn has read what somebody sent.
func (i *Intake) recordRead(t Turn, in channels.Incoming) {
	i.o.Audit.Record(in, audit.Record{
		Event: audit.Answer, Decision: "text", Run: t.Inbound().ID, Agent: t.Agent(), Text: in.Text,
		In: audit.Size{Bytes: len(in.Text), Media: len(in.Media)},
	})
}

// OfferQueue offers the queue of a chat to the turn that runs in it, if that reads messages. The
// turn calls it when it begins to wait for them: they may have come before it could read any.
func (i *Intake) OfferQueue(ctx context.Context, chat channels.Chat) error {
	defer i.o.Lanes.Lock(chat)()
	t := i.reading(chat)
	if t == nil {
		return nil
	}
	_, err := i.offerQueue(ctx, t)
	return err
}

// offerQueue offers the queue of a turn's chat to the turn, in order, until it does not read a
// message, and reports whether it has read all. The caller has locked the chat. It passes over what
// is for another agent and what was a turn before.
func (i *Intake) offerQueue(ctx context.Context, t Turn) (all bool, err error) {
	chat := t.Inbound().In.Chat
	queue, err := i.o.Store.Queue(ctx, chat, mostQueued)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	for _, inbound := range queue {
		if inbound.Agent != t.Agent() || inbound.Attempt > 0 {
			continue
		}
		if read, err := readMessage(ctx, t, inbound.In); !read || err != nil {
			return false, err
		}
		if err := i.o.Store.SettlePending(context.WithoutCancel(ctx), inbound.ID); err != nil {
			return false, fmt.Errorf("settle message: %w", err)
		}
		i.recordRead(t, inbound.In)
		i.o.Events.Report(events.Event{Type: events.Dropped, Chat: chat, Inbound: inbound.ID, Reason: events.Read})
	}
	return len(queue) < mostQueued, nil
}

// readMessage calls the protocol. A panic is a failure to read this message and nothing else.
func readMessage(ctx context.Context, t Turn, in channels.Incoming) (read bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", errNotRead, p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read, err = t.MessageReader().ReadMessage(ctx, terminal.PersonMessage{
		Chat: in.Chat.String(), ID: in.ID, User: in.User.ID, Text: in.Text, Media: in.Media,
	})
	if err != nil {
		return false, fmt.Errorf("%w: %w", errNotRead, err)
	}
	return read, nil
}

// readLate offers the queue to a turn behind which a message was just queued: the turn may have
// begun to read between the offer and that. It reports whether the turn has read the message.
func (i *Intake) readLate(ctx context.Context, t Turn, inbound store.Inbound) bool {
	if t == nil || t.MessageReader() == nil {
		return false
	}
	if err := i.OfferQueue(ctx, inbound.In.Chat); err != nil {
		i.o.Log.Warn("message not read by the turn that runs, will retry", zap.Stringer("chat", inbound.In.Chat), zap.Int64("run", t.Inbound().ID), zap.Error(err))
		t.OfferQueueAgain()
		return false
	}
	now, ok, err := i.o.Store.Inbound(ctx, inbound.ID)
	return err == nil && ok && now.State == store.Done
}
