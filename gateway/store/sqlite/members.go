package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Member returns the name of this handle's member.
func (s inbox) Member() string { return s.member }

// folderMemory is the key of the state's name, which is stored as a memory without a chat.
const folderMemory = "kept"

// FolderName returns the name of the state, and creates it at the first call.
func (s outbox) FolderName(ctx context.Context) (string, error) {
	name, err := s.Recall(ctx, channels.Chat{}, folderMemory)
	if err != nil || name != "" {
		return name, err
	}
	name = rand.Text()
	return name, s.Remember(ctx, channels.Chat{}, folderMemory, name)
}

// probeName is the cursor that is written to test the store. It is not the name of a channel.
const probeName = "health check"

// CheckWritable writes something.
func (s inbox) CheckWritable(ctx context.Context) error {
	return s.SetCursor(ctx, probeName, time.Now().UTC().Format(time.RFC3339Nano))
}

// beatInterval is the time between two beats. Commands of the operator change the same file, and a
// beat finds what they have changed.
const beatInterval = 500 * time.Millisecond

// Beat returns what there is to do. The only member is the leader, and its lease never ends.
func (s inbox) Beat(ctx context.Context, _ bool) (store.Beat, error) {
	scan := func(scan func(...any) error) (b store.Beat, err error) {
		return b, scan(&b.Claimable, &b.ToGreet, &b.Revocations, jsonColumn{to: &b.Dismissed},
			jsonColumn{to: &b.DismissedDeliveries})
	}
	b, _, err := readOne(ctx, s.state, "read what there is to do", scan,
		`SELECT EXISTS (SELECT 1 FROM line), EXISTS (SELECT 1 FROM pairing WHERE welcome > 0),
		coalesce((SELECT value FROM memory WHERE chat = '`+revocationsChat+`' AND key = '`+revocationsKey+`'), ''),
		(SELECT json_group_array(id) FROM (SELECT id FROM inbox WHERE `+dismissedInbound+`)),
		(SELECT json_group_array(id) FROM (SELECT id FROM outbox WHERE `+dismissedDelivery+`))`)
	b.Leader, b.Next = true, beatInterval
	return b, err
}

// Hints returns a channel without elements.
func (s inbox) Hints() <-chan struct{} { return nil }

// ListMembers returns the only member, which has the lock.
func (s inbox) ListMembers(ctx context.Context) ([]store.MemberStatus, error) {
	running, err := readValue[int](ctx, s.state, "count running messages",
		"SELECT count(*) FROM inbox WHERE state = 'running' AND ended = 0")
	return []store.MemberStatus{{State: store.Up, Leader: true, Running: running}}, err
}

// Drain reports false: nobody could take over.
func (s inbox) Drain(context.Context, string) (bool, error) { return false, nil }

// Forward fails: there is no other member.
func (s inbox) Forward(context.Context, channels.Incoming) error { return store.ErrState }

// Forwarded returns none.
func (s inbox) Forwarded(context.Context, int) ([]store.Forwarded, error) { return nil, nil }

// DropForwarded has nothing to do.
func (s inbox) DropForwarded(context.Context, int64) error { return nil }

// Release has nothing to do.
func (s inbox) Release(context.Context, []string) error { return nil }

// Adopt takes over the claimed work of other members. They are gone, since only one daemon at a
// time has the lock: after the first success there is nothing to adopt.
func (s inbox) Adopt(ctx context.Context) (store.Adopted, error) {
	if s.adopted.Load() {
		return store.Adopted{}, nil
	}
	adopted, err := s.adoptAll(ctx)
	s.adopted.Store(err == nil)
	return adopted, err
}

func (s inbox) adoptAll(ctx context.Context) (store.Adopted, error) {
	// The processes of all running messages are loaded, because Load frees the lines of all others.
	// This happens before the adoption, because an adopted message is not adopted again after a
	// failure.
	running, err := readAll(ctx, s.state, "read the work of earlier daemons",
		scanInbound, selectInbound+"state = 'running' AND ended = 0 ORDER BY id")
	if err != nil {
		return store.Adopted{}, err
	}
	if err := s.processes.Load(running); err != nil {
		return store.Adopted{}, fmt.Errorf("read the work of earlier daemons: %w", err)
	}
	adopted, err := changed(ctx, s.state, "adopt the work of earlier daemons", func(t *tx) store.Adopted {
		a := store.Adopted{
			// state <> 'sent' is redundant, but lets SQLite use the partial index outbox_unsent.
			Deliveries: queryAllTx(t, scanDelivery, selectDelivery+
				"state = 'sending' AND state <> 'sent' AND owner <> ? ORDER BY id", s.member),
			Transients: queryAllTx(t, scanTransient, selectTransient+"WHERE owner <> ? ORDER BY inbound, chat, id", s.member),
			Folds:      adoptFolds(t, s.member),
		}
		t.exec("UPDATE inbox SET owner = ?1 WHERE state = 'running' AND ended = 0 AND owner <> ?1", s.member)
		t.exec("UPDATE transient SET owner = ?1 WHERE owner <> ?1", s.member)
		t.exec("UPDATE outbox SET owner = ?1 WHERE state = 'sending' AND state <> 'sent' AND owner <> ?1", s.member)
		return a
	})
	if err != nil {
		return store.Adopted{}, err
	}
	adopted.Transients = slices.DeleteFunc(adopted.Transients, func(transient store.Transient) bool {
		return slices.ContainsFunc(adopted.Folds, func(f store.PendingFold) bool { return f.Board == transient })
	})
	for _, inbound := range running {
		if inbound.Owner != s.member {
			inbound.Owner = s.member
			adopted.Inbounds = append(adopted.Inbounds, inbound)
		}
	}
	return adopted, nil
}

// SetProcess records the process of an inbound message's agent.
func (s inbox) SetProcess(id int64, p store.Process) error {
	if err := s.processes.Record(id, p); err != nil {
		return fmt.Errorf("record the process of inbound message %d: %w", id, err)
	}
	return nil
}

// ChatOfToken returns the chat of a token.
func (s inbox) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	return readOne(ctx, s.state, "look up a token", scanChat, "SELECT chat FROM token WHERE token = ?", token)
}

// ensureToken returns the token of a chat, and creates one if there is none.
func ensureToken(t *tx, chat string) (token string) {
	if !t.queryRow("SELECT token FROM token WHERE chat = ?", []any{chat}, &token) {
		token = rand.Text()
		t.exec("INSERT INTO token (token, chat) VALUES (?, ?)", token, chat)
	}
	return token
}

// revokeTokens deletes the tokens of the chats in which only the given user has written, so that
// copies of these tokens become useless when the user loses access.
func revokeTokens(t *tx, channel, user string) {
	t.exec(`DELETE FROM token WHERE chat IN (SELECT DISTINCT i.chat FROM inbox i WHERE `+senderCondition+`)
		AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.chat = token.chat AND `+responsiblePerson+` <> ?2)`, channel, user)
}
