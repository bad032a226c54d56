package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store/prepared"
)

// incompletePartAge is the age at which the parts of a message that was never completed are
// deleted. Channels complete messages within minutes, so the channel was disabled long ago or
// serves another account now.
const incompletePartAge = 30 * 24 * time.Hour

// StorePart stores a part of a message.
func (s inbox) StorePart(ctx context.Context, in channels.Incoming) error {
	operation := fmt.Sprintf("store part %s of %s", in.ID, in.Chat)
	if in.Part == nil {
		return fmt.Errorf("%s: it is not a part of a message", operation)
	}
	now, group, incoming := s.now(), in.Part.Group, prepared.JSON(in)
	known, err := changed(ctx, s.state, operation, func(t *tx) bool {
		moveCursor(t, in.Chat.Channel, in.Cursor)
		if readChatState(t, in, in.ID).duplicate {
			return true
		}
		t.exec("INSERT INTO part (chat, message, whole, at, incoming) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			in.Chat.String(), in.ID, group, micros(now), incoming)
		return false
	})
	if known {
		err = fmt.Errorf("%s: %w", operation, channels.ErrKnown)
	}
	return err
}

// Parts returns the stored parts of a channel.
func (s inbox) Parts(ctx context.Context, channel string) ([]channels.Incoming, error) {
	scan := func(scan func(...any) error) (in channels.Incoming, err error) { return in, scan(jsonColumn{to: &in}) }
	return readAll(ctx, s.state, "read the parts of "+channel,
		scan, "SELECT incoming FROM part WHERE substr(chat, 1, length(?1)) = ?1 ORDER BY seq", channel+":")
}

// DropParts removes the parts of a message.
func (s inbox) DropParts(ctx context.Context, chat channels.Chat, group string) error {
	now := s.now()
	return s.change(ctx, fmt.Sprintf("drop parts %s of %s", group, chat), func(t *tx) {
		completeParts(t, chat, channels.Part{Group: group, Last: true}, 0, now)
	})
}

// Known reports whether a message was received, refused or dropped.
func (s inbox) Known(ctx context.Context, chat channels.Chat, id string) (bool, error) {
	what := fmt.Sprintf("look up message %s of %s", id, chat)
	known, err := readValue[bool](ctx, s.state, what,
		`SELECT EXISTS (SELECT 1 FROM seen WHERE chat = ?1 AND message = ?2)
		OR EXISTS (SELECT 1 FROM refused WHERE chat = ?1 AND message = ?2)`, chat.String(), id)
	// Another file may be read than the one that was written, and a message be known by a commit
	// that was not confirmed.
	_ = s.watch.Check()
	if lost := s.watch.Err(); lost != nil {
		return false, wrapError(what, lost)
	}
	return known, err
}

// completeParts deletes the parts of a complete message and stores their IDs as known, with the
// inbound message that they belong to (0: none).
func completeParts(t *tx, chat channels.Chat, p channels.Part, inbound int64, now time.Time) {
	if p.Last {
		t.exec(`INSERT INTO seen (chat, message, inbound, at) SELECT chat, message, ?3, ?4 FROM part
			WHERE chat = ?1 AND whole = ?2 AND message <> '' ON CONFLICT DO NOTHING`, chat.String(), p.Group, inbound,
			micros(now))
		removeParts(t, chat, p)
	}
}

// refuseParts deletes the parts of an outsider's complete message and stores their IDs as refused.
func refuseParts(t *tx, chat channels.Chat, p channels.Part, now time.Time) {
	if p.Last {
		t.exec(`INSERT INTO refused (chat, message, at) SELECT chat, message, ?3 FROM part
			WHERE chat = ?1 AND whole = ?2 AND message <> '' ON CONFLICT DO NOTHING`, chat.String(), p.Group, micros(now))
		limitRefused(t)
		removeParts(t, chat, p)
	}
}

func removeParts(t *tx, chat channels.Chat, p channels.Part) {
	t.exec("DELETE FROM part WHERE chat = ? AND whole = ?", chat.String(), p.Group)
}

// pruneParts deletes old parts of messages that were never completed.
func (s pruner) pruneParts(ctx context.Context, before time.Time) error {
	// Mostly there are none, and a transaction would write to the disk.
	some, err := readValue[bool](ctx, s.state, "look for old parts",
		"SELECT EXISTS (SELECT 1 FROM part WHERE at < ?)", micros(before))
	if err != nil || !some {
		return err
	}
	return s.change(ctx, "delete parts", func(t *tx) { t.exec("DELETE FROM part WHERE at < ?", micros(before)) })
}
