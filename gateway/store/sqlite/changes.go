package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// ChangeMessage applies an edit or a deletion of an earlier message.
func (s inbox) ChangeMessage(ctx context.Context, request store.ChangeRequest) (store.ChangeResult, error) {
	c := preparedChange{ChangeRequest: request, now: s.now(), answers: map[store.Effect][]*preparedOutbound{}}
	c.part, c.In = extractPart(request.In)
	for effect, answer := range request.Answers {
		c.answers[effect] = s.prepareEach(answer)
	}
	return changed(ctx, s.state, fmt.Sprintf("change message %s of %s", request.In.ID, request.In.Chat),
		func(t *tx) store.ChangeResult { return changeMessage(t, c) })
}

// preparedChange is a store.ChangeRequest whose answers were encoded before the transaction.
type preparedChange struct {
	store.ChangeRequest
	part    channels.Part
	now     time.Time
	answers map[store.Effect][]*preparedOutbound
}

func changeMessage(t *tx, c preparedChange) (result store.ChangeResult) {
	before, found, _ := queryInbound(t, selectInbound+byMessage, c.In.Chat.String(), c.In.ID)
	switch {
	case !found || c.Refused || before.State == store.Dead:
	case c.In.Change == channels.Deleted:
		result = deleteMessage(t, c, before)
	case c.In.Change == channels.Edited:
		result = editMessage(t, c, before)
	}
	if result.Effect != store.NoEffect {
		insertOutbounds(t, c.answers[result.Effect], result.Inbound.ID, c.now)
	}
	completeParts(t, c.In.Chat, c.part, result.Inbound.ID, c.now)
	moveCursor(t, c.In.Chat.Channel, c.Cursor)
	return result
}

// deleteMessage withdraws a pending message, or removes one of the messages that it was made of.
func deleteMessage(t *tx, c preparedChange, before store.Inbound) store.ChangeResult {
	if before.State != store.Pending || c.Injected {
		return store.ChangeResult{}
	}
	if rest, ok := before.In.Without(c.In.ID); ok {
		return replaceContent(t, before, rest)
	}
	return withdrawPending(t, c, before)
}

func withdrawPending(t *tx, c preparedChange, before store.Inbound) store.ChangeResult {
	cancelPending(t, c.In.Chat.String(), before.ID, c.now)
	before.State, before.Ended = store.Dead, fromMicros(micros(c.now))
	return store.ChangeResult{Effect: store.Withdrawn, Inbound: before}
}

// editMessage replaces the content of a message that had no turn, or stores the new content beside
// a message that had one.
func editMessage(t *tx, c preparedChange, before store.Inbound) store.ChangeResult {
	edited := before.In.ApplyEdit(c.In)
	isOlder := !c.In.ChangedAt.IsZero() && c.In.ChangedAt.Before(before.In.ChangedAt)
	isUnusedEdit := before.State == store.Done && before.Attempt == 0 && before.In.Change == channels.Edited
	isSame := edited.SameContent(before.In) && cmp.Or(c.Agent, before.Agent) == before.Agent
	switch before.Agent = cmp.Or(c.Agent, before.Agent); {
	case isSame || isOlder:
		return store.ChangeResult{}
	case before.State == store.Pending && c.Withdraw && !c.Injected:
		return withdrawPending(t, c, before)
	case c.Withdraw:
		return store.ChangeResult{}
	case before.State == store.Pending && c.Injected: // it gets a turn of its own if the running one did not read it
		replaceContent(t, before, edited)
		return storeForRerun(t, c, before, edited)
	case before.State == store.Pending || isUnusedEdit:
		return replaceContent(t, before, edited)
	case before.Attempt == 0: // a command, an answer to a question, or a message that was not accepted
		return store.ChangeResult{}
	}
	return storeForRerun(t, c, before, edited)
}

func replaceContent(t *tx, before store.Inbound, in channels.Incoming) store.ChangeResult {
	before.In = in
	t.exec("UPDATE inbox SET incoming = ?, agent = ? WHERE id = ?", encodeJSON(in), before.Agent, before.ID)
	return store.ChangeResult{Effect: store.Replaced, Inbound: before}
}

// storeForRerun stores new content as an inbound message without a turn. From then on, the ID of
// the network's message leads to it.
func storeForRerun(t *tx, c preparedChange, before store.Inbound, in channels.Incoming) store.ChangeResult {
	at := fromMicros(micros(c.now))
	i := store.Inbound{In: in, Agent: before.Agent, State: store.Done, Received: at, Ended: at}
	i.ID = t.execInsert("INSERT INTO inbox (chat, agent, state, received, ended, incoming) VALUES (?, ?, ?, ?, ?, ?)",
		in.Chat.String(), i.Agent, i.State, micros(at), micros(at), encodeJSON(in))
	ids := []string{c.In.ID, in.ID}
	for _, p := range in.Pieces {
		ids = append(ids, p.ID)
	}
	for _, id := range ids {
		t.exec("UPDATE seen SET inbound = ? WHERE chat = ? AND message = ?", i.ID, in.Chat.String(), id)
	}
	return store.ChangeResult{Effect: store.StoredForRerun, Inbound: i}
}

// byMessage is the condition on the inbound message that contains a message of the network.
const byMessage = "id = (SELECT inbound FROM seen WHERE chat = ? AND message = ?)"

// Message returns the inbound message with the newest content of a message of the network.
func (s inbox) Message(ctx context.Context, chat channels.Chat, id string) (store.Inbound, bool, error) {
	return readOne(ctx, s.state, fmt.Sprintf("read message %s of %s", id, chat),
		scanInbound, selectInbound+byMessage, chat.String(), id)
}
