package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Cursor returns the stored cursor of a channel.
func (s inbox) Cursor(ctx context.Context, channel string) (string, error) {
	return readValue[string](ctx, s.state, "read the cursor of "+channel, "SELECT value FROM cursor WHERE channel = ?",
		channel)
}

// Channels returns the names of the channels whose messages the store has, sorted.
func (s inbox) Channels(ctx context.Context) (names []string, err error) {
	for after := ""; ; {
		chat, err := readValue[string](ctx, s.state, "list channels",
			"SELECT chat FROM inbox WHERE chat >= ? ORDER BY chat LIMIT 1", after)
		if err != nil || chat == "" {
			return names, err
		}
		channel, _, _ := strings.Cut(chat, ":")
		names, after = append(names, channel), channel+";" // which follows the colon
	}
}

// SetCursor stores the cursor of a channel.
func (s inbox) SetCursor(ctx context.Context, channel, cursor string) error {
	return s.change(ctx, "move the cursor of "+channel, func(t *tx) { setCursor(t, channel, cursor) })
}

func setCursor(t *tx, channel, cursor string) {
	t.exec("INSERT INTO cursor (channel, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", channel,
		cursor)
}

// moveCursor stores the cursor of a message, if it has one, in the message's own transaction.
func moveCursor(t *tx, channel, cursor string) {
	if cursor != "" {
		setCursor(t, channel, cursor)
	}
}

// Receive stores an inbound message once.
func (s inbox) Receive(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	now := s.now()
	if request.Remember.Key != "" || request.StartConversation {
		s.chatsWithMemories.add(request.In.Chat.String())
	}
	if err := s.dropErasedQuote(ctx, &request.In); err != nil {
		return store.ReceiveResult{}, err
	}
	r := prepared.NewReceive(request, s.member, now)
	return changed(ctx, s.state, fmt.Sprintf("receive message %s of %s", request.In.ID, request.In.Chat),
		func(t *tx) store.ReceiveResult {
			result := receiveMessage(t, r)
			if result.Disposition == store.Claimed {
				s.describeChat(t, &result.Inbound)
			}
			return result
		})
}

func receiveMessage(t *tx, r prepared.Receive) store.ReceiveResult {
	chat := readChatState(t, r.In, r.MessageKey())
	if chat.duplicate || isAccounted(t, r.Occurrences) {
		before, _, unreadable := queryInbound(t, selectInbound+"id = ?", chat.duplicateOf)
		t.fail(unreadable)
		completeParts(t, r.In.Chat, r.Part, before.ID, r.Now)
		moveCursor(t, r.In.Chat.Channel, r.Cursor)
		return store.ReceiveResult{Inbound: before, Disposition: store.Duplicate}
	}
	replied := r.Reply != nil && !r.Reply.Turn && answerQuestion(t, *r.Reply, r.Now)
	r.Settle = r.Settle || replied
	if result, joined := joinMessage(t, r, chat); joined {
		return result
	}
	result := decideDisposition(r, chat)
	if r.OriginLimit > 0 && countUnfinished(t, r.In) >= r.OriginLimit {
		result.Disposition = store.Full
	}
	result.Replied = replied
	if result.Disposition == store.Busy || result.Disposition == store.Full {
		return result
	}
	result.Released = releaseGathering(t, r.In, chat)
	insertInbound(t, &result, r, chat.token)
	completeParts(t, r.In.Chat, r.Part, result.Inbound.ID, r.Now)
	if r.Secret {
		t.erased = t.erased || r.Part.Last // the text was stored with its parts
		result.Secrets = recordSecrets(t, result.Inbound, r.Member)
	}
	insertOutbounds(t, r.Answers, result.Inbound.ID, r.Now)
	if r.Entry != nil {
		addEntry(t, result.Inbound.ID, *r.Entry, 0, r.Now)
	}
	if len(r.Occurrences) > 0 {
		last := &r.Occurrences[len(r.Occurrences)-1]
		last.Inbound = result.Inbound.ID
		insertOccurrences(t, r.Occurrences)
		setAccounted(t, last.Schedule, last.Due)
	}
	applyRequests(t, r.ReceiveRequest, r.Now)
	if r.Reply != nil && r.Reply.Turn {
		result.Replied = answerQuestion(t, *r.Reply, r.Now)
	}
	moveCursor(t, r.In.Chat.Channel, r.Cursor)
	return result
}

// chatState is the state of a chat when one of its messages is received.
type chatState struct {
	duplicate   bool
	duplicateOf int64  // the earlier inbound message of a duplicate; 0 if it was pruned or refused
	waiting     int    // the messages that go before this one
	pending     bool   // some message waits
	running     int64  // the inbound message that runs, or 0
	runner      string // the member that runs it
	token       string // "": the chat has none yet
}

// countUnfinished counts the messages of an origin that wait for a turn or to be sent.
func countUnfinished(t *tx, in channels.Incoming) (n int) {
	t.queryRow(`SELECT (SELECT count(*) FROM inbox WHERE origin = ?1 AND ended = 0 AND origin <> 'person') +
		(SELECT count(DISTINCT o.inbound) FROM outbox o JOIN inbox i ON i.id = o.inbound
			WHERE o.state = 'pending' AND o.state <> 'sent' AND o.chat = ?2 AND i.origin = ?1 AND i.ended > 0)`,
		[]any{in.Origin.String(), in.Chat.String()}, &n)
	return n
}

// readChatState reads the state of the chat in which a message with a key is received.
func readChatState(t *tx, in channels.Incoming, key string) (c chatState) {
	t.queryRow(`SELECT coalesce(s.inbound, 0), ?2 <> '' AND (s.inbound IS NOT NULL OR EXISTS (SELECT 1 FROM refused WHERE chat = ?1 AND message = ?2)),
		(SELECT count(*) FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0 AND `+goesLast+` <= ?3),
		EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		coalesce(r.id, 0), coalesce(r.owner, ''), coalesce((SELECT token FROM token WHERE chat = ?1), '')
		FROM (SELECT 1) LEFT JOIN seen s ON s.chat = ?1 AND s.message = ?2
		LEFT JOIN inbox r ON r.state = 'running' AND r.chat = ?1 AND r.ended = 0`,
		[]any{in.Chat.String(), key, in.Origin != channels.Person}, &c.duplicateOf, &c.duplicate, &c.waiting,
		&c.pending, &c.running, &c.runner, &c.token)
	return c
}

// decideDisposition decides what happens to a new message, by the state of its chat.
func decideDisposition(r prepared.Receive, chat chatState) store.ReceiveResult {
	result := store.ReceiveResult{
		Inbound: store.Inbound{
			In: r.In, Agent: cmp.Or(r.Agent, store.DefaultAgent), Received: fromMicros(micros(r.Now)),
			State: store.Pending,
		},
	}
	if r.Settle {
		result.Disposition = store.Settled
		result.Inbound.State, result.Inbound.Ended = store.Done, result.Inbound.Received
		result.Inbound.Outcome.Status = r.Reason
		return result
	}
	result.Waiting, result.Running, result.Runner = chat.waiting, chat.running, chat.runner
	switch {
	case r.NotWhileRunning && result.Running != 0:
		result.Disposition = store.Busy
	case r.QueueLimit > 0 && result.Waiting >= r.QueueLimit:
		result.Disposition = store.Full
	case r.Claim && r.Gather == 0 && !chat.pending && result.Running == 0:
		result.Disposition = store.Claimed
		i := &result.Inbound
		i.State, i.Owner, i.Attempt, i.Started = store.Running, r.Member, 1, i.Received
	default:
		result.Disposition = store.Queued
		result.Waiting++
	}
	return result
}

// applyRequests carries out the Restart, Resend, Stop, Drop, Cancel, StartConversation and Remember
// of a request, and skips impossible ones.
func applyRequests(t *tx, request store.ReceiveRequest, now time.Time) {
	chat := request.In.Chat.String()
	if request.Restart != 0 {
		_ = restartInbound(t, request.Restart)
	}
	if request.Resend != 0 {
		resendDelivery(t, chat, request.Resend)
	}
	if request.Stop != 0 {
		markStopped(t, chat, request.Stop)
	}
	if request.Drop != 0 {
		cancelPending(t, chat, request.Drop, now)
		markStopped(t, chat, request.Drop)
	}
	if request.Cancel {
		cancelPending(t, chat, 0, now)
	}
	if request.StartConversation {
		startConversation(t, request.In.Chat)
	}
	if request.Remember.Key != "" {
		saveMemory(t, request.In.Chat, request.Remember)
	}
}

// insertInbound stores a new message as done, running or pending. token is the chat's, or "".
func insertInbound(t *tx, result *store.ReceiveResult, r prepared.Receive, token string) {
	i, chat := &result.Inbound, r.In.Chat.String()
	if i.State == store.Pending && r.Gather > 0 {
		i.NotBefore = fromMicros(micros(r.Now.Add(min(r.Gather, store.MaxGather))))
	}
	i.ID = t.execInsert(`INSERT INTO inbox (chat, agent, origin, state, owner, attempt, received, started, ended, not_before, status, incoming)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		chat, i.Agent, r.In.Origin.String(), i.State, i.Owner, i.Attempt, micros(i.Received), micros(i.Started),
		micros(i.Ended), micros(i.NotBefore), i.Outcome.Status, r.Encoded)
	if key := r.MessageKey(); key != "" {
		t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", chat, key, i.ID, micros(i.Received))
	}
	switch {
	case result.Disposition == store.Claimed && token != "":
		i.Token = token
	case result.Disposition == store.Claimed:
		i.Token = ensureToken(t, chat)
	case result.Disposition == store.Queued && result.Running == 0:
		enterLine(t, chat)
	}
}

// hasUnfinished reports whether a chat has pending and running inbound messages.
func hasUnfinished(t *tx, chat string) (pending, running bool) {
	t.queryRow(`SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		EXISTS (SELECT 1 FROM inbox WHERE state = 'running' AND chat = ?1 AND ended = 0)`, []any{chat}, &pending, &running)
	return pending, running
}

// enterLine adds a chat to the end of the line, unless it is in the line already. The chat gets the
// not_before of its first pending message.
func enterLine(t *tx, chat string) {
	t.exec(`INSERT INTO line (chat, not_before) VALUES (?1, coalesce((SELECT not_before FROM inbox
		WHERE state = 'pending' AND chat = ?1 AND ended = 0 ORDER BY `+goesLast+`, id LIMIT 1), 0))
		ON CONFLICT DO UPDATE SET not_before = excluded.not_before`, chat)
}

// maxSearched bounds the messages of a chat that are searched for one of the same person.
const maxSearched = 50

// isSender is an SQL condition on a row of inbox: its sender is user ?2.
const isSender = "CASE WHEN json_valid(incoming) THEN incoming ->> '$.user.id' = ?2 END"

// joinMessage adds a message to the one before of the same person, if they belong together and that
// is still pending. It reports false if they stay two messages.
func joinMessage(t *tx, r prepared.Receive, chat chatState) (store.ReceiveResult, bool) {
	if !r.MayJoin() || chat.waiting == 0 {
		return store.ReceiveResult{}, false
	}
	before, joined := r.Join(lastOfSender(t, r.In))
	if !joined {
		return store.ReceiveResult{}, false
	}
	t.exec("UPDATE inbox SET incoming = ?, not_before = ? WHERE id = ?", prepared.JSON(before.In),
		micros(before.NotBefore), before.ID)
	if r.In.ID != "" {
		t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", r.In.Chat.String(), r.In.ID, before.ID,
			micros(r.Now))
	}
	completeParts(t, r.In.Chat, r.Part, before.ID, r.Now)
	insertOutbounds(t, r.Answers, before.ID, r.Now)
	applyRequests(t, r.ReceiveRequest, r.Now)
	updateLine(t, r.In.Chat.String())
	moveCursor(t, r.In.Chat.Channel, r.Cursor)
	return store.ReceiveResult{
		Inbound: before, Disposition: store.Joined, Running: chat.running, Runner: chat.runner,
		Waiting: chat.waiting,
	}, true
}

// lastOfSender returns the last message of a person in a chat, or the zero Inbound.
func lastOfSender(t *tx, in channels.Incoming) store.Inbound {
	query := fmt.Sprintf(`SELECT %s FROM (SELECT * FROM inbox WHERE chat = ?1 ORDER BY id DESC LIMIT %d)
		WHERE %s ORDER BY id DESC LIMIT 1`, inboundColumns, maxSearched, isSender)
	last, _, _ := queryInbound(t, query, in.Chat.String(), in.User.ID)
	return last
}

// releaseGathering ends the wait of a person's pending messages for further ones. It reports
// whether there were any.
func releaseGathering(t *tx, in channels.Incoming, chat chatState) bool {
	if chat.waiting == 0 ||
		t.execCount("UPDATE inbox SET not_before = 0 WHERE state = 'pending' AND not_before > 0 AND chat = ?1 AND "+isSender,
			in.Chat.String(), in.User.ID) == 0 {
		return false
	}
	updateLine(t, in.Chat.String())
	return true
}

// NextClaim returns when a message has waited long enough for further ones.
func (s inbox) NextClaim(ctx context.Context, c store.ClaimRequest) (time.Duration, bool, error) {
	condition, args := except(c)
	at, err := readValue[int64](ctx, s.state, "read when the next message can be claimed",
		"SELECT coalesce(min(not_before), 0) FROM line l WHERE not_before > 0"+condition, args...)
	if err != nil {
		return 0, false, err
	}
	wait := time.Duration(at-micros(s.now())) * time.Microsecond
	return min(max(wait, 0), store.MaxGather), at != 0, nil
}
