package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// forwardedMessage is an incoming message with the fields that its JSON does not have.
type forwardedMessage struct {
	channels.Incoming
	Follows bool          `json:"follows,omitempty"`
	Waited  time.Duration `json:"waited,omitempty"`
}

// Forward stores a message for the member that keeps its chat.
func (s inbox) Forward(ctx context.Context, in channels.Incoming) error {
	text, err := json.Marshal(forwardedMessage{in, in.Follows, in.Waited})
	if err != nil {
		return err
	}
	err = s.change(ctx, changeRequest{
		what: fmt.Sprintf("forward message %s of %s", in.ID, in.Chat), function: "forward_message", scope: ofChat(in.Chat),
		args: map[string]any{"chat": in.Chat.String(), "incoming": string(text)}, hint: true,
	}, nil)
	if err == nil {
		s.moveCursor(in.Chat.Channel, in.Cursor)
	}
	return err
}

// Forwarded returns messages that this member is to receive.
func (s inbox) Forwarded(ctx context.Context, n int) ([]store.Forwarded, error) {
	type row struct {
		ID       int64
		Incoming string
	}
	rows, err := readAll[row](ctx, s.state, "read forwarded messages",
		"SELECT json_build_object('id', id, 'incoming', incoming) FROM forward WHERE member = $1 ORDER BY id LIMIT $2",
		s.member, n)
	all := make([]store.Forwarded, len(rows))
	for i, r := range rows {
		var m forwardedMessage
		if err == nil {
			err = json.Unmarshal([]byte(r.Incoming), &m)
		}
		m.Incoming.Follows, m.Incoming.Waited = m.Follows, m.Waited
		all[i] = store.Forwarded{ID: r.ID, In: m.Incoming}
	}
	return all, err
}

// DropForwarded removes a message that this member has received.
func (s inbox) DropForwarded(ctx context.Context, id int64) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("drop forwarded message %d", id), function: "drop_forwarded", args: map[string]any{"id": id},
	}, nil)
}

// Release says that this member keeps chats no longer.
func (s inbox) Release(ctx context.Context, chats []string) error {
	return s.change(ctx, changeRequest{
		what: "release chats", function: "release_chats", args: map[string]any{"chats": chats}, hint: true,
	}, nil)
}
