package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// ChangeMessage applies an edit or a deletion of an earlier message.
func (s *Store) ChangeMessage(ctx context.Context, a store.ChangeRequest) (store.ChangeResult, error) {
	c := preparedChange{ChangeRequest: a, now: s.now(), answers: map[store.Effect][]*preparedOutbound{}}
	c.part, c.In = extractPart(a.In)
	for effect, answer := range a.Answers {
		c.answers[effect] = s.prepareEach(answer)
	}
	var result store.ChangeResult
	err := s.change(ctx, fmt.Sprintf("change message %s of %s", a.In.ID, a.In.Chat), func(t *tx) (err error) {
		result, err = t.changeMessage(c)
		return err
	})
	if err != nil {
		return store.ChangeResult{}, err
	}
	return result, nil
}

// preparedChange is a store.ChangeRequest whose answers were encoded before the transaction.
type preparedChange struct {
	store.ChangeRequest
	part    channels.Part
	now     time.Time
	answers map[store.Effect][]*preparedOutbound
}

func (t *tx) changeMessage(c preparedChange) (result store.ChangeResult, err error) {
	before, found, err := t.queryInbound("SELECT "+inboundColumns+" FROM inbox WHERE id = (SELECT inbound FROM seen WHERE chat = ? AND message = ?)",
		c.In.Chat.String(), c.In.ID)
	if errors.Is(err, errUnreadable) {
		found, err = false, nil
	}
	switch {
	case err != nil:
		return result, err
	case !found || c.Refused || before.State == store.Dead:
	case c.In.Change == channels.Deleted:
		result, err = t.deleteMessage(c, before)
	case c.In.Change == channels.Edited:
		result, err = t.editMessage(c, before)
	}
	if err == nil && result.Effect != store.NoEffect {
		err = t.insertOutbounds(c.answers[result.Effect], result.Inbound.ID, c.now)
	}
	if err == nil {
		err = t.completeParts(c.In.Chat, c.part, result.Inbound.ID, c.now)
	}
	if err == nil && c.Cursor != "" {
		err = t.setCursor(c.In.Chat.Channel, c.Cursor)
	}
	if err != nil {
		return store.ChangeResult{}, err
	}
	return result, nil
}

// deleteMessage withdraws a pending message, or removes one of the messages that it was made of.
func (t *tx) deleteMessage(c preparedChange, before store.Inbound) (store.ChangeResult, error) {
	if before.State != store.Pending || c.Injected {
		return store.ChangeResult{}, nil
	}
	if rest, ok := before.In.Without(c.In.ID); ok {
		return t.replaceContent(before, rest)
	}
	return t.withdrawPending(c, before)
}

func (t *tx) withdrawPending(c preparedChange, before store.Inbound) (store.ChangeResult, error) {
	if _, err := t.cancelPending(c.In.Chat.String(), before.ID, c.now); err != nil {
		return store.ChangeResult{}, err
	}
	before.State, before.Ended = store.Dead, fromMicros(micros(c.now))
	return store.ChangeResult{Effect: store.Withdrawn, Inbound: before}, nil
}

// editMessage replaces the content of a message that had no turn, or stores the new content beside
// a message that had one.
func (t *tx) editMessage(c preparedChange, before store.Inbound) (store.ChangeResult, error) {
	edited := before.In.ApplyEdit(c.In)
	isOlder := !c.In.ChangedAt.IsZero() && c.In.ChangedAt.Before(before.In.ChangedAt)
	isUnusedEdit := before.State == store.Done && before.Attempt == 0 && before.In.Change == channels.Edited
	switch {
	case edited.SameContent(before.In) || isOlder:
		return store.ChangeResult{}, nil
	case before.State == store.Pending && c.Withdraw && !c.Injected:
		return t.withdrawPending(c, before)
	case c.Withdraw:
		return store.ChangeResult{}, nil
	case before.State == store.Pending && c.Injected: // it gets a turn of its own if the running one did not read it
		if _, err := t.replaceContent(before, edited); err != nil {
			return store.ChangeResult{}, err
		}
		return t.storeForRerun(c, before, edited)
	case before.State == store.Pending || isUnusedEdit:
		return t.replaceContent(before, edited)
	case before.Attempt == 0: // a command, an answer to a question, or a message that was not accepted
		return store.ChangeResult{}, nil
	}
	return t.storeForRerun(c, before, edited)
}

func (t *tx) replaceContent(before store.Inbound, in channels.Incoming) (store.ChangeResult, error) {
	before.In = in
	err := t.exec("UPDATE inbox SET incoming = ? WHERE id = ?", encodeJSON(in), before.ID)
	return store.ChangeResult{Effect: store.Replaced, Inbound: before}, err
}

// storeForRerun stores new content as an inbound message without a turn. From then on, the ID of
// the network's message leads to it.
func (t *tx) storeForRerun(c preparedChange, before store.Inbound, in channels.Incoming) (store.ChangeResult, error) {
	at := fromMicros(micros(c.now))
	i := store.Inbound{In: in, Agent: before.Agent, State: store.Done, Received: at, Ended: at}
	var err error
	i.ID, err = t.execInsert("INSERT INTO inbox (chat, agent, state, received, ended, incoming) VALUES (?, ?, ?, ?, ?, ?)",
		in.Chat.String(), i.Agent, i.State, micros(at), micros(at), encodeJSON(in))
	ids := []string{c.In.ID, in.ID}
	for _, p := range in.Pieces {
		ids = append(ids, p.ID)
	}
	for _, id := range ids {
		if err == nil {
			err = t.exec("UPDATE seen SET inbound = ? WHERE chat = ? AND message = ?", i.ID, in.Chat.String(), id)
		}
	}
	return store.ChangeResult{Effect: store.StoredForRerun, Inbound: i}, err
}

// Message returns the inbound message with the newest content of a message of the network.
func (s *Store) Message(ctx context.Context, chat channels.Chat, id string) (store.Inbound, bool, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE id = (SELECT inbound FROM seen WHERE chat = ? AND message = ?)",
		chat.String(), id)
	if err != nil || len(inbounds) == 0 {
		return store.Inbound{}, false, wrapError("read message %s of %s", err, id, chat)
	}
	return inbounds[0], true, nil
}
