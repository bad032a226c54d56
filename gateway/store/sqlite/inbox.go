package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Claim marks the next inbound messages that may run as running.
func (s inbox) Claim(ctx context.Context, request store.ClaimRequest) ([]store.Inbound, error) {
	now := s.now()
	return changed(ctx, s.state, "claim inbound messages", func(t *tx) (claimed []store.Inbound) {
		for left := request; len(claimed) < request.Limit; {
			left.Limit = request.Limit - len(claimed)
			heads := removeFromLine(t, left, now)
			if len(heads) == 0 {
				break
			}
			for _, h := range heads {
				if inbound, found := claimInbound(t, h, s.member, now); found {
					s.describeChat(t, &inbound)
					claimed = append(claimed, inbound)
				}
			}
		}
		return claimed
	})
}

// lineEntry is a chat that was in the line, with its first pending inbound message (0: none) and
// its token ("": none). The line, in the table of that name, is the order in which chats wait for a
// turn.
type lineEntry struct {
	chat, token string
	inbound     int64
}

// goesLast is an SQL condition on a row of inbox: nobody has typed the message, and it had no turn
// yet. Other messages of its chat go first. It is a column of the index inbox_open.
const goesLast = "(origin <> 'person' AND attempt = 0)"

// dueCondition is an SQL condition on a row of the line at the time ?3: its message does not wait
// for further messages. Nothing waits longer than ?4, except after a change of the clock.
const dueCondition = "(not_before <= ?3 OR not_before > ?3 + ?4)"

// firstPending selects a column of the first pending message of a chat in the line, which is i.
const firstPending = `FROM inbox i WHERE i.state = 'pending' AND i.chat = l.chat AND i.ended = 0
	ORDER BY ` + goesLast + `, i.id LIMIT 1`

// exceptCondition is an SQL condition on a row of the line: its message is not for other members,
// which have the agents ?1 and the channels ?2 (JSON arrays).
const exceptCondition = ` AND coalesce((SELECT i.agent ` + firstPending + `), '') NOT IN (SELECT value FROM json_each(?1))
	AND substr(chat, 1, instr(chat, ':') - 1) NOT IN (SELECT value FROM json_each(?2))`

// except returns the condition that removes what is for other members, and its arguments; "": none.
func except(c store.ClaimRequest) (condition string, args []any) {
	if len(c.ExceptAgents)+len(c.ExceptChannels) == 0 {
		return "", nil
	}
	return exceptCondition, []any{
		prepared.JSON(append([]string{}, c.ExceptAgents...)), prepared.JSON(append([]string{}, c.ExceptChannels...)),
	}
}

// removeFromLine removes up to c.Limit chats from the front of the line, except those that wait.
func removeFromLine(t *tx, c store.ClaimRequest, now time.Time) []lineEntry {
	condition, args := except(c)
	if condition = dueCondition + condition; args == nil {
		args = []any{nil, nil}
	}
	args = append(args, micros(now), store.MaxGather.Microseconds(), int64(math.MaxInt64))
	var last int64
	read := 0
	scan := func(scan func(...any) error) (h lineEntry, err error) {
		if read++; read > c.Limit { // with LIMIT as a parameter, SQLite would parse the statement each time
			return h, errStopRows
		}
		return h, scan(&last, &h.chat, &h.token, &h.inbound)
	}
	heads := queryAllTx(t, scan, `SELECT seq, chat, coalesce((SELECT token FROM token t WHERE t.chat = l.chat), ''),
		coalesce((SELECT i.id `+firstPending+`), 0)
		FROM line l WHERE seq <= ?5 AND `+condition+` ORDER BY seq`, args...)
	if len(heads) > 0 {
		args[4] = last
		t.exec("DELETE FROM line AS l WHERE seq <= ?5 AND "+condition, args...)
	}
	return heads
}

// claimInbound marks the first pending inbound message of a chat as running. An unreadable row
// becomes dead, so that it does not block its chat.
func claimInbound(t *tx, h lineEntry, member string, now time.Time) (store.Inbound, bool) {
	if h.inbound == 0 {
		return store.Inbound{}, false
	}
	inbound, found, unreadable := queryInbound(t, selectInbound+"id = ?", h.inbound)
	if unreadable != nil {
		t.exec("UPDATE inbox SET state = 'dead', ended = received, status = 'unreadable' WHERE id = ?", h.inbound)
		eraseAnswers(t)
		updateLine(t, h.chat)
	}
	if !found {
		return store.Inbound{}, false
	}
	if inbound.Token = h.token; h.token == "" {
		inbound.Token = ensureToken(t, h.chat)
	}
	inbound.State, inbound.Owner, inbound.Started, inbound.Attempt = store.Running, member, fromMicros(micros(now)),
		inbound.Attempt+1
	inbound.NotBefore = time.Time{}
	t.exec("UPDATE inbox SET state = 'running', owner = ?, started = ?, attempt = ?, not_before = 0 WHERE id = ?", member,
		micros(now), inbound.Attempt, inbound.ID)
	return inbound, true
}

// Finish ends a running inbound message.
func (s inbox) Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (
	next bool, err error,
) {
	what := fmt.Sprintf("mark inbound message %d %s", id, state)
	switch state {
	case store.Done, store.Interrupted, store.Dead:
	default:
		return false, fmt.Errorf("%s: %w: a turn cannot end in this state", what, store.ErrState)
	}
	now := s.now()
	next, err = changed(ctx, s.state, what, func(t *tx) bool {
		return finishInbound(t, finishRequest{id, s.member, state, out, with, s.chatsWithQuestions}, now)
	})
	if err == nil {
		s.processes.Remove(id)
	}
	return next, err
}

// finishRequest holds the arguments of finishInbound.
type finishRequest struct {
	id                 int64
	member             string
	state              store.State
	out                store.Outcome
	injected           []int64
	chatsWithQuestions *chatSet
}

func finishInbound(t *tx, e finishRequest, now time.Time) (next bool) {
	id, state, out := e.id, e.state, e.out
	chat, next := chatOfRunning(t, id, e.member)
	t.exec(`UPDATE inbox SET state = ?1, owner = '', ended = ?2, status = CASE status WHEN ?9 THEN status ELSE ?3 END,
		exit_code = ?4, signal = ?5, memory = ?6, cpu = ?7, agent = CASE ?10 WHEN '' THEN agent ELSE ?10 END WHERE id = ?8`,
		state, micros(now), out.Status, out.ExitCode, out.Signal, out.Memory, out.CPU.Microseconds(), id, store.Revoked,
		out.Agent)
	if len(e.injected) > 0 {
		next = finishInjected(t, e, chat, now)
	}
	if !e.chatsWithQuestions.isEmpty() {
		eraseAnswers(t)
		closeQuestions(t, id, now)
	}
	if out.Trace != "" {
		t.exec("INSERT OR REPLACE INTO trace (inbound, text) VALUES (?, ?)", id, out.Trace)
	}
	if out.Fold != nil {
		saveFold(t, id, e.member, *out.Fold)
	}
	if out.Usage != nil {
		addUsage(t, id, *out.Usage, now)
	}
	endCount(t, id, state, out.Usage)
	if next {
		enterLine(t, chat) // a chat with a running message is not in the line
	}
	return next
}

// finishInjected ends the pending inbound messages that the agent has read during the turn. It
// reports whether the chat has other pending messages.
func finishInjected(t *tx, e finishRequest, chat string, now time.Time) (pending bool) {
	for _, w := range e.injected {
		t.exec(`UPDATE inbox SET state = ?1, ended = ?2, status = ?3, attempt = 1,
			started = (SELECT started FROM inbox WHERE id = ?4) WHERE id = ?5 AND chat = ?6 AND state = 'pending'`,
			e.state, micros(now), e.out.Status, e.id, w, chat)
	}
	pending, _ = hasUnfinished(t, chat)
	return pending
}

// chatOfRunning returns the chat of an inbound message that a member runs, and whether the chat has
// pending messages.
func chatOfRunning(t *tx, id int64, member string) (chat string, pending bool) {
	var owner string
	var state store.State
	found := t.queryRow(`SELECT chat, state, owner, EXISTS (SELECT 1 FROM inbox p WHERE p.state = 'pending' AND p.chat = i.chat AND p.ended = 0)
		FROM inbox i WHERE id = ?`, []any{id}, &chat, &state, &owner, &pending)
	switch {
	case !found:
		t.fail(errNoInbound)
	case state != store.Running:
		t.fail(stateError(state))
	case owner != member:
		t.fail(store.ErrFenced)
	}
	return chat, pending
}

var errNoInbound = fmt.Errorf("%w: there is no such inbound message", store.ErrState)

// stateError says that an inbound message is in another state than a change needs.
func stateError(state store.State) error { return fmt.Errorf("%w: it is %s", store.ErrState, state) }

// updateLine adds a chat to the line if it has pending messages and none running, and removes it
// otherwise.
func updateLine(t *tx, chat string) {
	if pending, running := hasUnfinished(t, chat); pending && !running {
		enterLine(t, chat)
	} else {
		t.exec("DELETE FROM line WHERE chat = ?", chat)
	}
}

// Restart makes an ended inbound message pending again.
func (s inbox) Restart(ctx context.Context, id int64) error {
	return s.change(ctx, fmt.Sprintf("restart inbound message %d", id), func(t *tx) { t.fail(restartInbound(t, id)) })
}

// restartInbound makes an ended inbound message pending again. It changes nothing if it returns an
// error.
func restartInbound(t *tx, id int64) error {
	var chat, status string
	var state store.State
	switch found := t.queryRow("SELECT chat, state, status FROM inbox WHERE id = ?", []any{id}, &chat, &state, &status); {
	case !found:
		return errNoInbound
	case state == store.Dead && status == store.OverQuota: // it was not run yet
	case state == store.Done: // the person wants to get all messages and questions again
		t.exec("UPDATE outbox SET sequence = 0 WHERE inbound = ? AND sequence > 0", id)
		t.exec("DELETE FROM question WHERE inbound = ?", id)
	case state == store.Interrupted: // answers that were given are reused
		t.exec("DELETE FROM question WHERE inbound = ? AND answer IS NULL", id)
	default:
		return stateError(state)
	}
	makePending(t, id, chat, 0)
	return nil
}

// Requeue makes an inbound message pending again that a dead daemon left running.
func (s inbox) Requeue(ctx context.Context, id int64, unbegun bool) error {
	err := s.change(ctx, fmt.Sprintf("requeue inbound message %d", id), func(t *tx) {
		chat, _ := chatOfRunning(t, id, s.member)
		uncounted := 0
		if unbegun {
			uncounted = 1
		}
		makePending(t, id, chat, uncounted)
	})
	if err == nil {
		s.processes.Remove(id)
	}
	return err
}

func makePending(t *tx, id int64, chat string, uncounted int) {
	t.exec(`UPDATE inbox SET state = 'pending', owner = '', started = 0, ended = 0, status = '', exit_code = 0, signal = '', memory = 0, cpu = 0, not_before = 0,
		attempt = attempt - ? WHERE id = ?`, uncounted, id)
	updateLine(t, chat)
}

// Cancel marks pending inbound messages as dead.
func (s inbox) Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error) {
	now, key := s.now(), chat.String()
	return changed(ctx, s.state, "cancel pending messages of "+key,
		func(t *tx) int { return cancelPending(t, key, id, now) })
}

func cancelPending(t *tx, chat string, id int64, now time.Time) int {
	n := t.execCount(`UPDATE inbox SET state = 'dead', status = '`+store.ByCancel+`', ended = ?1
		WHERE state = 'pending' AND chat = ?2 AND ended = 0 AND (?3 = 0 OR id = ?3)`, micros(now), chat, id)
	eraseAnswers(t)
	if id == 0 {
		markStopped(t, chat, 0)
	}
	updateLine(t, chat)
	return n
}

// MarkStopped records that a running inbound message was stopped.
func (s inbox) MarkStopped(ctx context.Context, chat channels.Chat, id int64) error {
	return s.change(ctx, fmt.Sprintf("mark inbound message %d as stopped", id),
		func(t *tx) { markStopped(t, chat.String(), id) })
}

// markStopped records that the running inbound message of a chat was stopped, whichever it is or
// only the one with the given ID, so that it does not run again after a crash.
func markStopped(t *tx, chat string, id int64) {
	t.exec(`UPDATE inbox SET status = 'stopped'
		WHERE state = 'running' AND chat = ?1 AND ended = 0 AND status <> ?2 AND (?3 = 0 OR id = ?3)`, chat, store.Revoked,
		id)
}

// Queue returns pending inbound messages of a chat.
func (s inbox) Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	return readAll(ctx, s.state, "read the queue of "+chat.String(), scanInbound,
		selectInbound+"state = 'pending' AND chat = ? AND ended = 0 ORDER BY "+goesLast+", id LIMIT ?", chat.String(),
		max(n, 0))
}

// SettlePending ends a pending inbound message without a turn.
func (s inbox) SettlePending(ctx context.Context, id int64) error {
	now := s.now()
	return s.change(ctx, fmt.Sprintf("settle inbound message %d", id), func(t *tx) {
		var chat string
		var state store.State
		switch found := t.queryRow("SELECT chat, state FROM inbox WHERE id = ?", []any{id}, &chat, &state); {
		case !found:
			t.fail(errNoInbound)
		case state != store.Pending:
			t.fail(stateError(state))
		}
		t.exec("UPDATE inbox SET state = 'done', status = ?, ended = ? WHERE id = ?", store.ByRead, micros(now), id)
		updateLine(t, chat)
	})
}

// Running returns the running inbound message of a chat.
func (s inbox) Running(ctx context.Context, chat channels.Chat) (store.Inbound, bool, error) {
	return readOne(ctx, s.state, "read what runs in "+chat.String(), scanInbound,
		selectInbound+"state = 'running' AND chat = ? AND ended = 0", chat.String())
}

// Inbound returns one inbound message.
func (s inbox) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	return readOne(ctx, s.state, fmt.Sprintf("read inbound message %d", id), scanInbound, selectInbound+"id = ?", id)
}

// Recent returns the last inbound messages of a chat, without those that were only sent to it.
func (s inbox) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	return readAll(ctx, s.state, "read inbound messages of "+chat.String(),
		scanInbound, selectInbound+"chat = ? AND NOT ("+goesLast+" AND ended > 0) ORDER BY id DESC LIMIT ?", chat.String(),
		max(n, 0))
}

// CountPending counts pending inbound messages.
func (s inbox) CountPending(ctx context.Context, chat channels.Chat) (int, error) {
	query, args := "SELECT count(*) FROM inbox WHERE state = 'pending' AND ended = 0", []any(nil)
	if chat != (channels.Chat{}) {
		query, args = query+" AND chat = ?", []any{chat.String()}
	}
	return readValue[int](ctx, s.state, "count pending inbound messages", query, args...)
}
