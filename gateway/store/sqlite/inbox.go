package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Claim takes the next inbound messages that may run.
func (s *Store) Claim(ctx context.Context, most int) ([]store.Inbound, error) {
	now := s.now()
	var claimed []store.Inbound
	err := s.change(ctx, "claim inbound messages", func(t *tx) error {
		claimed = nil
		for len(claimed) < most {
			heads, err := t.heads(most - len(claimed))
			if err != nil || len(heads) == 0 {
				return err
			}
			for _, h := range heads {
				inbound, found, err := t.claim(h, s.member, now)
				if err != nil {
					return err
				}
				if found {
					claimed = append(claimed, inbound)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// head is a chat that was first in the line, its first inbound message, or 0, and its token, or "".
type head struct {
	chat, token string
	inbound     int64
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// heads takes up to so many chats out of the line.
func (t *tx) heads(most int) ([]head, error) {
	var heads []head
	var last int64
	err := t.each(`SELECT seq, chat, coalesce((SELECT token FROM token t WHERE t.chat = l.chat), ''),
		coalesce((SELECT i.id FROM inbox i WHERE i.state = 'pending' AND i.chat = l.chat AND i.ended = 0 ORDER BY i.id LIMIT 1), 0)
		FROM line l ORDER BY seq`, nil, func(scan func(...any) error) error {
		var h head
		err := scan(&last, &h.chat, &h.token, &h.inbound)
		if heads = append(heads, h); err == nil && len(heads) == most {
			err = errEnough // were LIMIT a parameter, SQLite would parse the statement each time
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) || len(heads) == 0 {
		return nil, err
	}
	return heads, t.exec("DELETE FROM line WHERE seq <= ?", last)
}

// claim marks the first inbound message of a chat running. A row that cannot be read stands in
// nobody's way.
func (t *tx) claim(h head, member string, now time.Time) (store.Inbound, bool, error) {
	if h.inbound == 0 {
		return store.Inbound{}, false, nil
	}
	inbound, found, err := t.inbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", h.inbound)
	if errors.Is(err, errUnreadable) {
		if err := t.exec("UPDATE inbox SET state = 'dead', ended = received, status = 'unreadable' WHERE id = ?", h.inbound); err != nil {
			return store.Inbound{}, false, err
		}
		return store.Inbound{}, false, t.rejoin(h.chat)
	}
	if err != nil || !found {
		return store.Inbound{}, false, err
	}
	if inbound.Token = h.token; h.token == "" {
		if inbound.Token, err = t.token(h.chat); err != nil {
			return store.Inbound{}, false, err
		}
	}
	inbound.State, inbound.Owner, inbound.Started, inbound.Attempt = store.Running, member, fromMicros(micros(now)), inbound.Attempt+1
	return inbound, true, t.exec("UPDATE inbox SET state = 'running', owner = ?, started = ?, attempt = ? WHERE id = ?",
		member, micros(now), inbound.Attempt, inbound.ID)
}

// Finish ends a running inbound message.
func (s *Store) Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (next bool, err error) {
	what := fmt.Sprintf("mark inbound message %d %s", id, state)
	switch state {
	case store.Done, store.Interrupted, store.Dead:
	default:
		return false, fmt.Errorf("%s: %w: that is no end", what, store.ErrState)
	}
	now := s.now()
	err = s.change(ctx, what, func(t *tx) error {
		next, err = t.finish(ending{id, s.member, state, out, with, s.asking}, now)
		return err
	})
	if err != nil {
		return false, err
	}
	s.agents.forget(id)
	return next, nil
}

// ending is how a running inbound message ends.
type ending struct {
	id     int64
	member string
	state  store.State
	out    store.Outcome
	with   []int64
	asking *askingChats
}

func (t *tx) finish(e ending, now time.Time) (next bool, err error) {
	id, state, out := e.id, e.state, e.out
	chat, next, err := t.ownRunning(id, e.member)
	if err != nil {
		return false, err
	}
	err = t.exec(`UPDATE inbox SET state = ?1, owner = '', ended = ?2, status = CASE status WHEN ?9 THEN status ELSE ?3 END,
		exit_code = ?4, signal = ?5, memory = ?6, cpu = ?7, agent = CASE ?10 WHEN '' THEN agent ELSE ?10 END WHERE id = ?8`,
		state, micros(now), out.Status, out.ExitCode, out.Signal, out.Memory, out.CPU.Microseconds(), id, store.Revoked, out.Agent)
	if err != nil {
		return false, err
	}
	if len(e.with) > 0 {
		if next, err = t.finishWith(e, chat, now); err != nil {
			return false, err
		}
	}
	if e.asking.any() {
		if err := t.closeQuestions(id, now); err != nil {
			return false, err
		}
	}
	if out.Trace != "" {
		if err := t.exec("INSERT OR REPLACE INTO trace (inbound, text) VALUES (?, ?)", id, out.Trace); err != nil {
			return false, err
		}
	}
	if !next {
		return false, nil
	}
	return true, t.stand(chat) // a chat with a running inbound message is not in the line
}

// finishWith ends the pending inbound messages that were worked on with another one. It reports
// whether the chat has others.
func (t *tx) finishWith(e ending, chat string, now time.Time) (pending bool, err error) {
	for _, w := range e.with {
		err := t.exec(`UPDATE inbox SET state = ?1, ended = ?2, status = ?3, attempt = 1,
			started = (SELECT started FROM inbox WHERE id = ?4) WHERE id = ?5 AND chat = ?6 AND state = 'pending'`,
			e.state, micros(now), e.out.Status, e.id, w, chat)
		if err != nil {
			return false, err
		}
	}
	pending, _, err = t.open(chat)
	return pending, err
}

// ownRunning returns the chat of an inbound message that a member runs, and whether others of the
// chat are pending.
func (t *tx) ownRunning(id int64, member string) (chat string, pending bool, err error) {
	var owner string
	var state store.State
	found, err := t.row(`SELECT chat, state, owner, EXISTS (SELECT 1 FROM inbox p WHERE p.state = 'pending' AND p.chat = i.chat AND p.ended = 0)
		FROM inbox i WHERE id = ?`, []any{id}, &chat, &state, &owner, &pending)
	switch {
	case err != nil:
		return "", false, err
	case !found:
		return "", false, errNoInbound
	case state != store.Running:
		return "", false, fmt.Errorf("%w: it is %s", store.ErrState, state)
	case owner != member:
		return "", false, fmt.Errorf("%w: another member has claimed it", store.ErrState)
	}
	return chat, pending, nil
}

var errNoInbound = fmt.Errorf("%w: there is no such inbound message", store.ErrState)

func (t *tx) whereIs(id int64) (chat string, state store.State, err error) {
	found, err := t.row("SELECT chat, state FROM inbox WHERE id = ?", []any{id}, &chat, &state)
	if err == nil && !found {
		err = errNoInbound
	}
	return chat, state, err
}

// rejoin puts a chat into the line if it belongs there, and out of it if not.
func (t *tx) rejoin(chat string) error {
	pending, running, err := t.open(chat)
	if err != nil {
		return err
	}
	if pending && !running {
		return t.stand(chat)
	}
	return t.exec("DELETE FROM line WHERE chat = ?", chat)
}

// Restart makes an ended inbound message pending again.
func (s *Store) Restart(ctx context.Context, id int64) error {
	return s.change(ctx, fmt.Sprintf("restart inbound message %d", id), func(t *tx) error { return t.restart(id) })
}

func (t *tx) restart(id int64) error {
	chat, state, err := t.whereIs(id)
	switch {
	case err != nil:
		return err
	case state == store.Done: // the person wants to hear it anew, and be asked anew
		err = t.exec("UPDATE outbox SET sequence = 0 WHERE inbound = ? AND sequence > 0", id)
		if err == nil {
			err = t.exec("DELETE FROM question WHERE inbound = ?", id)
		}
	case state == store.Interrupted: // what was answered counts
		err = t.exec("DELETE FROM question WHERE inbound = ? AND answer IS NULL", id)
	default:
		err = fmt.Errorf("%w: it is %s", store.ErrState, state)
	}
	if err != nil {
		return err
	}
	return t.again(id, chat, 0)
}

// Requeue makes an inbound message pending again that a dead gateway left running.
func (s *Store) Requeue(ctx context.Context, id int64, unbegun bool) error {
	err := s.change(ctx, fmt.Sprintf("requeue inbound message %d", id), func(t *tx) error {
		chat, _, err := t.ownRunning(id, s.member)
		if err != nil {
			return err
		}
		uncounted := 0
		if unbegun {
			uncounted = 1
		}
		return t.again(id, chat, uncounted)
	})
	if err == nil {
		s.agents.forget(id)
	}
	return err
}

func (t *tx) again(id int64, chat string, uncounted int) error {
	err := t.exec(`UPDATE inbox SET state = 'pending', owner = '', started = 0, ended = 0, status = '', exit_code = 0, signal = '', memory = 0, cpu = 0,
		attempt = attempt - ? WHERE id = ?`, uncounted, id)
	if err != nil {
		return err
	}
	return t.rejoin(chat)
}

// Cancel marks pending inbound messages dead.
func (s *Store) Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error) {
	now, key := s.now(), chat.String()
	var n int
	err := s.change(ctx, "cancel what is pending of "+key, func(t *tx) (err error) {
		n, err = t.cancel(key, id, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (t *tx) cancel(chat string, id int64, now time.Time) (int, error) {
	n, err := t.changed(`UPDATE inbox SET state = 'dead', ended = ?1
		WHERE state = 'pending' AND chat = ?2 AND ended = 0 AND (?3 = 0 OR id = ?3)`, micros(now), chat, id)
	if err != nil {
		return 0, err
	}
	if id == 0 {
		if err := t.exec("UPDATE inbox SET status = 'stopped' WHERE state = 'running' AND chat = ? AND ended = 0 AND status <> ?", chat, store.Revoked); err != nil {
			return 0, err
		}
	}
	return n, t.rejoin(chat)
}

// Queue returns pending inbound messages of a chat.
func (s *Store) Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+` FROM inbox
		WHERE state = 'pending' AND chat = ? AND ended = 0 ORDER BY id LIMIT ?`, chat.String(), max(n, 0))
	return inbounds, wrapError("read the queue of %s", err, chat)
}

// SettlePending ends a pending inbound message without a turn.
func (s *Store) SettlePending(ctx context.Context, id int64) error {
	now := s.now()
	return s.change(ctx, fmt.Sprintf("settle inbound message %d", id), func(t *tx) error {
		chat, state, err := t.whereIs(id)
		if err != nil {
			return err
		}
		if state != store.Pending {
			return fmt.Errorf("%w: it is %s", store.ErrState, state)
		}
		if err := t.exec("UPDATE inbox SET state = 'done', ended = ? WHERE id = ?", micros(now), id); err != nil {
			return err
		}
		return t.rejoin(chat)
	})
}

// Inbound returns one inbound message.
func (s *Store) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE id = ?", id)
	if err != nil || len(inbounds) == 0 {
		return store.Inbound{}, false, wrapError("read inbound %d", err, id)
	}
	return inbounds[0], true, nil
}

// Recent returns the last inbound messages of a chat.
func (s *Store) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE chat = ? ORDER BY id DESC LIMIT ?", chat.String(), max(n, 0))
	return inbounds, wrapError("read inbounds of %s", err, chat)
}

// Waiting counts pending inbound messages.
func (s *Store) Waiting(ctx context.Context, chat channels.Chat) (int, error) {
	query, args := "SELECT count(*) FROM inbox WHERE state = 'pending' AND ended = 0", []any(nil)
	if chat != (channels.Chat{}) {
		query, args = query+" AND chat = ?", []any{chat.String()}
	}
	var n int
	_, err := s.queryRow(ctx, query, args, &n)
	return n, wrapError("count pending inbounds", err)
}
