package sqlite

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// ChangeMessage applies an edit or a deletion of an earlier message.
func (s inbox) ChangeMessage(ctx context.Context, request store.ChangeRequest) (store.ChangeResult, error) {
	c := prepared.NewChange(request, s.member, s.now())
	return changed(ctx, s.state, fmt.Sprintf("change message %s of %s", request.In.ID, request.In.Chat),
		func(t *tx) store.ChangeResult { return changeMessage(t, c) })
}

func changeMessage(t *tx, c prepared.Change) store.ChangeResult {
	var decision prepared.Decision
	before, found, _ := queryInbound(t, selectInbound+byMessage, c.In.Chat.String(), c.In.ID)
	if found {
		decision = c.Decide(before)
	}
	result := decision.ChangeResult
	if decision.Replaces {
		t.exec("UPDATE inbox SET incoming = ?, agent = ? WHERE id = ?", prepared.JSON(result.Inbound.In),
			result.Inbound.Agent, before.ID)
	}
	switch result.Effect {
	case store.NoEffect, store.Replaced:
	case store.Withdrawn:
		cancelPending(t, c.In.Chat.String(), before.ID, c.Now)
	case store.StoredForRerun:
		result.Inbound.ID = insertForRerun(t, result.Inbound, decision.Messages)
	}
	if result.Effect != store.NoEffect {
		insertOutbounds(t, c.Answers[result.Effect], result.Inbound.ID, c.Now)
	}
	completeParts(t, c.In.Chat, c.Part, result.Inbound.ID, c.Now)
	moveCursor(t, c.In.Chat.Channel, c.Cursor)
	return result
}

// insertForRerun stores an inbound message without a turn. From then on, the IDs of the network's
// messages lead to it.
func insertForRerun(t *tx, i store.Inbound, messages []string) int64 {
	chat := i.In.Chat.String()
	id := t.execInsert(`INSERT INTO inbox (chat, agent, state, received, ended, status, incoming)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		chat, i.Agent, i.State, micros(i.Received), micros(i.Ended), i.Outcome.Status, prepared.JSON(i.In))
	for _, message := range messages {
		t.exec("UPDATE seen SET inbound = ? WHERE chat = ? AND message = ?", id, chat, message)
	}
	return id
}

// byMessage is the condition on the inbound message that contains a message of the network.
const byMessage = "id = (SELECT inbound FROM seen WHERE chat = ? AND message = ?)"

// Message returns the inbound message with the newest content of a message of the network.
func (s inbox) Message(ctx context.Context, chat channels.Chat, id string) (store.Inbound, bool, error) {
	return readOne(ctx, s.state, fmt.Sprintf("read message %s of %s", id, chat),
		scanInbound, selectInbound+byMessage, chat.String(), id)
}
