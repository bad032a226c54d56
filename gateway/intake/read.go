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
	// readTimeout bounds the time that a protocol may take to read a message, since other chats of
	// the channel may wait, too.
	readTimeout = 5 * time.Second
	// maxOffered bounds the queued messages that are offered at once.
	maxOffered = 1000
)

// errNotRead says that the protocol of the running turn failed to read a message. The message is
// then queued for another attempt, so that it does not block its channel.
var errNotRead = errors.New("message not read")

// reading offers messages to running turns whose protocols read them.
type reading struct{ *stage }

// readingTurn returns the running turn of a chat if its protocol reads messages, else nil.
func (r *reading) readingTurn(chat channels.Chat) Turn {
	if t := r.o.Lanes.RunningTurn(chat); t != nil && t.MessageReader() != nil {
		return t
	}
	return nil
}

// answers reports whether a turn may read a message for an agent: it reaches no other agent than
// its own, and no other place.
func answers(t Turn, agent string, in channels.Incoming) bool {
	return agent == t.Agent() && in.SamePlace(t.Inbound().In)
}

// offerMessage offers a message to the running turn of its chat, after the queued messages. It
// reports whether the message is done. A message is stored after it was read: after a crash in
// between, the network delivers it again, and the protocol recognises it.
func (r *reading) offerMessage(ctx context.Context, in channels.Incoming) (bool, error) {
	if r.readingTurn(in.Chat) == nil {
		return false, nil
	}
	defer r.o.Lanes.Lock(in.Chat)()
	t := r.readingTurn(in.Chat)
	if t == nil {
		return false, nil
	}
	known, err := r.o.Store.Known(ctx, in.Chat, in.ID)
	if err != nil {
		return false, fmt.Errorf("look up message: %w", err)
	}
	if known && in.ID != "" { // it may be the message that the turn works on
		return false, nil
	}
	if !answers(t, in.Answerer.Agent, in) {
		return false, nil
	}
	if all, err := r.offerQueue(ctx, t); !all || err != nil {
		return false, err
	}
	if read, err := readMessage(ctx, t, in); !read || err != nil {
		return false, err
	}
	return true, r.storeRead(ctx, t, in)
}

// storeRead stores a message that a turn has read.
func (r *reading) storeRead(ctx context.Context, t Turn, in channels.Incoming) error {
	fresh, err := r.storeAnswered(ctx, store.ReceiveRequest{
		In: in, Agent: t.Agent(), Cursor: in.Cursor, Settle: true, Reason: store.ByRead,
	}, reply{})
	if fresh {
		r.auditRead(t, in)
		t.MoveBoardDown() // the person's message is below the board
	}
	return err
}

// auditRead records that a turn has read a person's message.
func (r *reading) auditRead(t Turn, in channels.Incoming) {
	r.o.Audit.Record(in, audit.Record{
		Event: audit.Answer, Decision: "text", Run: t.Inbound().ID, Agent: t.Agent(), Text: in.Text,
		In: audit.Size{Bytes: len(in.Text), Media: len(in.Media)},
	})
}

// OfferQueue offers the queue of a chat to its running turn, if that reads messages. The turn calls
// it when it begins to wait, since messages may have been queued before.
func (r *reading) OfferQueue(ctx context.Context, chat channels.Chat) error {
	defer r.o.Lanes.Lock(chat)()
	t := r.readingTurn(chat)
	if t == nil {
		return nil
	}
	_, err := r.offerQueue(ctx, t)
	return err
}

// offerQueue offers the queued messages of a chat to its turn, in order, until the turn does not
// read one. It reports whether all were read. It skips messages for other agents or places, those
// that already had a turn, and those that nobody has typed, since the turn waits for a person. The
// caller must have locked the chat.
func (r *reading) offerQueue(ctx context.Context, t Turn) (all bool, err error) {
	chat := t.Inbound().In.Chat
	queue, err := r.o.Store.Queue(ctx, chat, maxOffered)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	for _, inbound := range queue {
		if !answers(t, inbound.Agent, inbound.In) || inbound.Attempt > 0 || inbound.In.Origin != channels.Person {
			continue
		}
		if read, err := readMessage(ctx, t, inbound.In); !read || err != nil {
			return false, err
		}
		if err := r.o.Store.SettlePending(context.WithoutCancel(ctx), inbound.ID); err != nil {
			return false, fmt.Errorf("settle message: %w", err)
		}
		r.auditRead(t, inbound.In)
		r.o.Notices.Recheck(chat)
		r.o.Events.Report(events.Event{Type: events.Dropped, Chat: chat, Inbound: inbound.ID, Reason: events.Read})
	}
	return len(queue) < maxOffered, nil
}

// readMessage calls the protocol. A panic only means that this message was not read.
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

// offerLate offers the queue to a turn behind which a message was just queued: the turn may have
// begun to read after the first offer. It reports whether the turn has read the message.
func (r *reading) offerLate(ctx context.Context, t Turn, inbound store.Inbound) bool {
	if t == nil || t.MessageReader() == nil {
		return false
	}
	if err := r.OfferQueue(ctx, inbound.In.Chat); err != nil {
		r.o.Log.Warn("message not read by the running turn, will retry", zap.Stringer("chat", inbound.In.Chat),
			zap.Int64("run", t.Inbound().ID), zap.Error(err))
		t.OfferQueueAgain()
		return false
	}
	now, ok, err := r.o.Store.Inbound(ctx, inbound.ID)
	return err == nil && ok && now.State == store.Done
}
