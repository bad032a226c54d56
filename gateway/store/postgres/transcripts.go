package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// entryArgs is a store.Entry as the function add_entry takes it.
type entryArgs struct {
	Text  string `json:"text"`
	Media string `json:"media"` // JSON
	At    int64  `json:"at"`    // 0: now
}

func prepareEntry(e *store.Entry) *entryArgs {
	if e == nil {
		return nil
	}
	return &entryArgs{e.Text, encodeJSON(e.Media), micros(e.Time)}
}

// turn is a turn of a conversation.
type turn struct {
	ID       int64
	Received time.Time
	Incoming *channels.Incoming // nil: the message was only sent
	Entries  []store.Entry
}

// entries returns the person's message and the agent's messages.
func (t turn) entries() (all []store.Entry) {
	if t.Incoming != nil {
		all = append(all, store.Entry{Role: "user", Text: t.Incoming.Text, Media: t.Incoming.Media, Time: t.Received})
	}
	all = append(all, t.Entries...)
	for i := range all {
		all[i].Inbound = t.ID
		if all[i].Role == "" {
			all[i].Role = "agent"
		}
	}
	return all
}

// readTurns returns the newest turns of the chat's conversation before an inbound message, without
// another one.
func (s questions) readTurns(ctx context.Context, chat channels.Chat, before, without int64, most int) ([]turn, error) {
	return readAll[turn](ctx, s.state, "read the history of "+chat.String(), "SELECT turns_of($1, $2, $3, $4)",
		chat.String(), before, without, most)
}

// History returns the last turns of a chat: the messages whose turn has started, each with the
// agent's messages.
func (s questions) History(ctx context.Context, chat channels.Chat, turns int, without int64) (
	entries []store.Entry, err error,
) {
	if turns <= 0 {
		return nil, nil
	}
	all, err := s.readTurns(ctx, chat, math.MaxInt64, without, turns)
	for _, t := range slices.Backward(all) {
		entries = append(entries, t.entries()...)
	}
	return entries, err
}

// foundRow is a message that was found.
type foundRow struct {
	store.Found
	ID int64
	In *channels.Incoming // nil: the message is the agent's
}

// Search finds messages of a chat by the index.
func (s questions) Search(ctx context.Context, f store.SearchFilter) (found []store.Found, err error) {
	if f.Limit <= 0 {
		return nil, nil
	}
	rows, err := readAll[foundRow](ctx, s.state, "search "+f.Chat.String(), "SELECT search_chat($1, $2, $3, $4)",
		f.Chat.String(), f.Text, f.Conversation, f.Limit)
	for _, row := range rows {
		row.Inbound = row.ID
		found = append(found, prepared.Found(row.Found, row.In))
	}
	return found, err
}

// Recall returns a memory of a chat.
func (s outbox) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("recall %s of %s", key, chat),
		"SELECT to_json(value) FROM memory WHERE chat = $1 AND key = $2", chat.String(), key)
}

// Remember replaces a memory of a chat.
func (s outbox) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("remember %s of %s", key, chat), function: "remember", scope: ofChat(chat),
		args: map[string]any{"chat": chat.String(), "key": key, "value": value},
	}, nil)
}
