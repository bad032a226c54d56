package postgres

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store/prepared"
)

// partArg is a channels.Part as the functions take it.
type partArg struct {
	Group string `json:"group"`
	Last  bool   `json:"last,omitempty"`
}

// partOf returns the part of an incoming message; nil: there is none.
func partOf(in channels.Incoming) *partArg {
	if in.Part == nil {
		return nil
	}
	return &partArg{in.Part.Group, in.Part.Last}
}

// StorePart stores a part of a message.
func (s inbox) StorePart(ctx context.Context, in channels.Incoming) error {
	what := fmt.Sprintf("store part %s of %s", in.ID, in.Chat)
	if in.Part == nil {
		return fmt.Errorf("%s: it is not a part of a message", what)
	}
	var known bool
	err := s.change(ctx, changeRequest{what: what, function: "store_part", scope: ofChat(in.Chat), args: map[string]any{
		"chat": in.Chat.String(), "message": in.ID, "group": in.Part.Group, "incoming": prepared.JSON(&in),
	}}, &known)
	if err == nil {
		s.moveCursor(in.Chat.Channel, in.Cursor)
	}
	if known {
		err = fmt.Errorf("%s: %w", what, channels.ErrKnown)
	}
	return err
}

// Parts returns the stored parts of a channel.
func (s inbox) Parts(ctx context.Context, channel string) ([]channels.Incoming, error) {
	return readAll[channels.Incoming](ctx, s.state, "read the parts of "+channel,
		"SELECT incoming::json FROM part WHERE split_part(chat, ':', 1) = $1 ORDER BY seq", channel)
}

// DropParts removes the parts of a message.
func (s inbox) DropParts(ctx context.Context, chat channels.Chat, group string) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("drop parts %s of %s", group, chat), function: "drop_parts", scope: ofChat(chat),
		args: map[string]any{"chat": chat.String(), "part": partArg{group, true}},
	}, nil)
}

// Known reports whether a message was received, refused or dropped.
func (s inbox) Known(ctx context.Context, chat channels.Chat, id string) (bool, error) {
	return readValue[bool](ctx, s.state, fmt.Sprintf("look up message %s of %s", id, chat),
		"SELECT to_json(is_known($1, $2))", chat.String(), id)
}
