package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Claim marks the next inbound messages that may run as running.
func (s *Store) Claim(ctx context.Context, limit int) ([]store.Inbound, error) {
	now := s.now()
	var claimed []store.Inbound
	err := s.change(ctx, "claim inbound messages", func(t *tx) error {
		claimed = nil
		for len(claimed) < limit {
			heads, err := t.removeFromLine(limit-len(claimed), now)
			if err != nil || len(heads) == 0 {
				return err
			}
			for _, h := range heads {
				inbound, found, err := t.claimInbound(h, s.member, now)
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

// lineEntry is a chat that was in the line, with its oldest pending inbound message (0: none) and
// its token ("": none). The line, in the table of that name, is the order in which chats wait for a
// turn.
type lineEntry struct {
	chat, token string
	inbound     int64
}

// errStopRows ends the reading of rows early.
var errStopRows = errors.New("stop reading rows")

// dueCondition is an SQL condition on a row of the line at the time ?1: its message does not wait
// for further messages. Nothing waits longer than ?2, except after a change of the clock.
const dueCondition = "(not_before <= ?1 OR not_before > ?1 + ?2)"

// removeFromLine removes up to limit chats from the front of the line, except those that wait.
func (t *tx) removeFromLine(limit int, now time.Time) ([]lineEntry, error) {
	var heads []lineEntry
	var last int64
	err := t.queryRows(`SELECT seq, chat, coalesce((SELECT token FROM token t WHERE t.chat = l.chat), ''),
		coalesce((SELECT i.id FROM inbox i WHERE i.state = 'pending' AND i.chat = l.chat AND i.ended = 0 ORDER BY i.id LIMIT 1), 0)
		FROM line l WHERE `+dueCondition+` ORDER BY seq`, []any{micros(now), store.MaxGather.Microseconds()}, func(scan func(...any) error) error {
		var h lineEntry
		err := scan(&last, &h.chat, &h.token, &h.inbound)
		if heads = append(heads, h); err == nil && len(heads) == limit {
			err = errStopRows // with LIMIT as a parameter, SQLite would parse the statement each time
		}
		return err
	})
	if err != nil && !errors.Is(err, errStopRows) || len(heads) == 0 {
		return nil, err
	}
	return heads, t.exec("DELETE FROM line WHERE "+dueCondition+" AND seq <= ?3", micros(now), store.MaxGather.Microseconds(), last)
}

// claimInbound marks the oldest pending inbound message of a chat as running. An unreadable row
// becomes dead, so that it does not block its chat.
func (t *tx) claimInbound(h lineEntry, member string, now time.Time) (store.Inbound, bool, error) {
	if h.inbound == 0 {
		return store.Inbound{}, false, nil
	}
	inbound, found, err := t.queryInbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", h.inbound)
	if errors.Is(err, errUnreadable) {
		if err := t.exec("UPDATE inbox SET state = 'dead', ended = received, status = 'unreadable' WHERE id = ?", h.inbound); err != nil {
			return store.Inbound{}, false, err
		}
		return store.Inbound{}, false, errors.Join(t.eraseAnswers(), t.updateLine(h.chat))
	}
	if err != nil || !found {
		return store.Inbound{}, false, err
	}
	if inbound.Token = h.token; h.token == "" {
		if inbound.Token, err = t.ensureToken(h.chat); err != nil {
			return store.Inbound{}, false, err
		}
	}
	inbound.State, inbound.Owner, inbound.Started, inbound.Attempt = store.Running, member, fromMicros(micros(now)), inbound.Attempt+1
	inbound.NotBefore = time.Time{}
	return inbound, true, t.exec("UPDATE inbox SET state = 'running', owner = ?, started = ?, attempt = ?, not_before = 0 WHERE id = ?",
		member, micros(now), inbound.Attempt, inbound.ID)
}

// Finish ends a running inbound message.
func (s *Store) Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (next bool, err error) {
	what := fmt.Sprintf("mark inbound message %d %s", id, state)
	switch state {
	case store.Done, store.Interrupted, store.Dead:
	default:
		return false, fmt.Errorf("%s: %w: a turn cannot end in this state", what, store.ErrState)
	}
	now := s.now()
	err = s.change(ctx, what, func(t *tx) error {
		next, err = t.finishInbound(finishRequest{id, s.member, state, out, with, s.chatsWithQuestions}, now)
		return err
	})
	if err != nil {
		return false, err
	}
	s.processes.remove(id)
	return next, nil
}

// finishRequest holds the arguments of finishInbound.
type finishRequest struct {
	id                 int64
	member             string
	state              store.State
	out                store.Outcome
	injected           []int64
	chatsWithQuestions *questionChats
}

func (t *tx) finishInbound(e finishRequest, now time.Time) (next bool, err error) {
	id, state, out := e.id, e.state, e.out
	chat, next, err := t.chatOfRunning(id, e.member)
	if err != nil {
		return false, err
	}
	err = t.exec(`UPDATE inbox SET state = ?1, owner = '', ended = ?2, status = CASE status WHEN ?9 THEN status ELSE ?3 END,
		exit_code = ?4, signal = ?5, memory = ?6, cpu = ?7, agent = CASE ?10 WHEN '' THEN agent ELSE ?10 END WHERE id = ?8`,
		state, micros(now), out.Status, out.ExitCode, out.Signal, out.Memory, out.CPU.Microseconds(), id, store.Revoked, out.Agent)
	if err != nil {
		return false, err
	}
	if len(e.injected) > 0 {
		if next, err = t.finishInjected(e, chat, now); err != nil {
			return false, err
		}
	}
	if e.chatsWithQuestions.notEmpty() {
		if err := t.eraseAnswers(); err != nil {
			return false, err
		}
		if err := t.closeQuestions(id, now); err != nil {
			return false, err
		}
	}
	if out.Trace != "" {
		if err := t.exec("INSERT OR REPLACE INTO trace (inbound, text) VALUES (?, ?)", id, out.Trace); err != nil {
			return false, err
		}
	}
	if out.Fold != nil {
		if err := t.saveFold(id, e.member, *out.Fold); err != nil {
			return false, err
		}
	}
	if !next {
		return false, nil
	}
	return true, t.enterLine(chat) // a chat with a running message is not in the line
}

// finishInjected ends the pending inbound messages that the agent has read during the turn. It
// reports whether the chat has other pending messages.
func (t *tx) finishInjected(e finishRequest, chat string, now time.Time) (pending bool, err error) {
	for _, w := range e.injected {
		err := t.exec(`UPDATE inbox SET state = ?1, ended = ?2, status = ?3, attempt = 1,
			started = (SELECT started FROM inbox WHERE id = ?4) WHERE id = ?5 AND chat = ?6 AND state = 'pending'`,
			e.state, micros(now), e.out.Status, e.id, w, chat)
		if err != nil {
			return false, err
		}
	}
	pending, _, err = t.hasUnfinished(chat)
	return pending, err
}

// chatOfRunning returns the chat of an inbound message that a member runs, and whether the chat has
// pending messages.
func (t *tx) chatOfRunning(id int64, member string) (chat string, pending bool, err error) {
	var owner string
	var state store.State
	found, err := t.queryRow(`SELECT chat, state, owner, EXISTS (SELECT 1 FROM inbox p WHERE p.state = 'pending' AND p.chat = i.chat AND p.ended = 0)
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

func (t *tx) chatAndState(id int64) (chat string, state store.State, err error) {
	found, err := t.queryRow("SELECT chat, state FROM inbox WHERE id = ?", []any{id}, &chat, &state)
	if err == nil && !found {
		err = errNoInbound
	}
	return chat, state, err
}

// updateLine adds a chat to the line if it has pending messages and none running, and removes it
// otherwise.
func (t *tx) updateLine(chat string) error {
	pending, running, err := t.hasUnfinished(chat)
	if err != nil {
		return err
	}
	if pending && !running {
		return t.enterLine(chat)
	}
	return t.exec("DELETE FROM line WHERE chat = ?", chat)
}

// Restart makes an ended inbound message pending again.
func (s *Store) Restart(ctx context.Context, id int64) error {
	return s.change(ctx, fmt.Sprintf("restart inbound message %d", id), func(t *tx) error { return t.restartInbound(id) })
}

func (t *tx) restartInbound(id int64) error {
	chat, state, err := t.chatAndState(id)
	switch {
	case err != nil:
		return err
	case state == store.Done: // the person wants to get all messages and questions again
		err = t.exec("UPDATE outbox SET sequence = 0 WHERE inbound = ? AND sequence > 0", id)
		if err == nil {
			err = t.exec("DELETE FROM question WHERE inbound = ?", id)
		}
	case state == store.Interrupted: // answers that were given are reused
		err = t.exec("DELETE FROM question WHERE inbound = ? AND answer IS NULL", id)
	default:
		err = fmt.Errorf("%w: it is %s", store.ErrState, state)
	}
	if err != nil {
		return err
	}
	return t.makePending(id, chat, 0)
}

// Requeue makes an inbound message pending again that a dead daemon left running.
func (s *Store) Requeue(ctx context.Context, id int64, unbegun bool) error {
	err := s.change(ctx, fmt.Sprintf("requeue inbound message %d", id), func(t *tx) error {
		chat, _, err := t.chatOfRunning(id, s.member)
		if err != nil {
			return err
		}
		uncounted := 0
		if unbegun {
			uncounted = 1
		}
		return t.makePending(id, chat, uncounted)
	})
	if err == nil {
		s.processes.remove(id)
	}
	return err
}

func (t *tx) makePending(id int64, chat string, uncounted int) error {
	err := t.exec(`UPDATE inbox SET state = 'pending', owner = '', started = 0, ended = 0, status = '', exit_code = 0, signal = '', memory = 0, cpu = 0, not_before = 0,
		attempt = attempt - ? WHERE id = ?`, uncounted, id)
	if err != nil {
		return err
	}
	return t.updateLine(chat)
}

// Cancel marks pending inbound messages as dead.
func (s *Store) Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error) {
	now, key := s.now(), chat.String()
	var n int
	err := s.change(ctx, "cancel pending messages of "+key, func(t *tx) (err error) {
		n, err = t.cancelPending(key, id, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (t *tx) cancelPending(chat string, id int64, now time.Time) (int, error) {
	n, err := t.execCount(`UPDATE inbox SET state = 'dead', ended = ?1
		WHERE state = 'pending' AND chat = ?2 AND ended = 0 AND (?3 = 0 OR id = ?3)`, micros(now), chat, id)
	if err == nil {
		err = t.eraseAnswers()
	}
	if err != nil {
		return 0, err
	}
	if id == 0 {
		if err := t.markStopped(chat, 0); err != nil {
			return 0, err
		}
	}
	return n, t.updateLine(chat)
}

// MarkStopped records that a running inbound message was stopped.
func (s *Store) MarkStopped(ctx context.Context, chat channels.Chat, id int64) error {
	return s.change(ctx, fmt.Sprintf("mark inbound message %d as stopped", id), func(t *tx) error { return t.markStopped(chat.String(), id) })
}

// markStopped records that the running inbound message of a chat was stopped, whichever it is or
// only the one with the given ID, so that it does not run again after a crash.
func (t *tx) markStopped(chat string, id int64) error {
	return t.exec(`UPDATE inbox SET status = 'stopped'
		WHERE state = 'running' AND chat = ?1 AND ended = 0 AND status <> ?2 AND (?3 = 0 OR id = ?3)`, chat, store.Revoked, id)
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
		chat, state, err := t.chatAndState(id)
		if err != nil {
			return err
		}
		if state != store.Pending {
			return fmt.Errorf("%w: it is %s", store.ErrState, state)
		}
		if err := t.exec("UPDATE inbox SET state = 'done', ended = ? WHERE id = ?", micros(now), id); err != nil {
			return err
		}
		return t.updateLine(chat)
	})
}

// Inbound returns one inbound message.
func (s *Store) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE id = ?", id)
	if err != nil || len(inbounds) == 0 {
		return store.Inbound{}, false, wrapError("read inbound message %d", err, id)
	}
	return inbounds[0], true, nil
}

// Recent returns the last inbound messages of a chat.
func (s *Store) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE chat = ? ORDER BY id DESC LIMIT ?", chat.String(), max(n, 0))
	return inbounds, wrapError("read inbound messages of %s", err, chat)
}

// CountPending counts pending inbound messages.
func (s *Store) CountPending(ctx context.Context, chat channels.Chat) (int, error) {
	query, args := "SELECT count(*) FROM inbox WHERE state = 'pending' AND ended = 0", []any(nil)
	if chat != (channels.Chat{}) {
		query, args = query+" AND chat = ?", []any{chat.String()}
	}
	var n int
	_, err := s.queryRow(ctx, query, args, &n)
	return n, wrapError("count pending inbound messages", err)
}
