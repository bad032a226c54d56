package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// aboutChat is what the turn of a claimed message has to know of its chat.
type aboutChat struct {
	Token, Conversation string
	Asks                bool
}

func (a aboutChat) describe(i store.Inbound) store.Inbound {
	i.Token, i.Conversation, i.Asks = a.Token, a.Conversation, a.Asks
	return i
}

// Claim marks the next inbound messages that may run as running.
func (s inbox) Claim(ctx context.Context, r store.ClaimRequest) (claimed []store.Inbound, err error) {
	for again := true; again && err == nil; {
		var answer struct {
			Again   bool
			Claimed []struct {
				Inbound store.Inbound
				About   aboutChat
			}
		}
		err = s.change(ctx, changeRequest{
			what: "claim inbound messages", function: "claim", found: true, args: map[string]any{
				"limit": max(r.Limit-len(claimed), 0), "agents": r.ExceptAgents, "channels": r.ExceptChannels,
			},
		}, &answer)
		for _, c := range answer.Claimed {
			s.running.add(c.Inbound.ID)
			claimed = append(claimed, c.About.describe(c.Inbound))
		}
		again = answer.Again
	}
	if len(claimed) > 0 {
		return claimed, nil // the next claim finds the rest
	}
	return nil, err
}

// NextClaim returns when a message has waited long enough for further ones.
func (s inbox) NextClaim(ctx context.Context, r store.ClaimRequest) (time.Duration, bool, error) {
	us, waits, err := readOne[int64](ctx, s.state, "read when the next message can be claimed",
		`SELECT to_json(min(not_before) - coalesce($1, database_time())) FROM line_of($2, $3, NULL)
			WHERE not_before > 0 HAVING count(*) > 0`,
		s.time(), s.member, map[string][]string{"agents": r.ExceptAgents, "channels": r.ExceptChannels})
	return min(max(time.Duration(us)*time.Microsecond, 0), store.MaxGather), waits, err
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
	if out.Fold != nil {
		cut := *out.Fold
		cut.Details = store.CutDetails(cut.Details)
		out.Fold = &cut
	}
	err = s.change(ctx, changeRequest{what: what, function: "finish", scope: ofInbound(id), args: struct {
		idArgs
		State  store.State      `json:"state"`
		Status string           `json:"status"`
		Exit   int              `json:"exit"`
		Signal string           `json:"signal"`
		Memory int64            `json:"memory"`
		CPU    int64            `json:"cpu"`
		Agent  string           `json:"agent,omitempty"`
		Keeps  bool             `json:"keeps,omitempty"`
		Trace  string           `json:"trace,omitempty"`
		Fold   *store.Fold      `json:"fold,omitempty"`
		With   []int64          `json:"with,omitempty"`
		Usage  []prepared.Usage `json:"usage,omitempty"`
		quotaUse
	}{
		idArgs{id},
		state, out.Status, out.ExitCode, out.Signal, out.Memory, out.CPU.Microseconds(), out.Agent, out.Keeps, out.Trace,
		out.Fold, with, prepared.NewUsage(out.Usage),
		newQuotaUse(state, out.Usage),
	}}, &next)
	s.endClaim(id, err)
	return next, err
}

// Restart makes an ended inbound message pending again.
func (s inbox) Restart(ctx context.Context, id int64) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("restart inbound message %d", id), function: "restart", hint: true, scope: ofInbound(id),
		args: idArgs{id},
	}, nil)
}

// Requeue makes an inbound message pending again that a dead daemon left running.
func (s inbox) Requeue(ctx context.Context, id int64, unbegun bool) error {
	uncounted := 0
	if unbegun {
		uncounted = 1
	}
	err := s.change(ctx, changeRequest{
		what: fmt.Sprintf("requeue inbound message %d", id), function: "requeue", hint: true, scope: ofInbound(id),
		args: map[string]any{"id": id, "uncounted": uncounted},
	}, nil)
	s.endClaim(id, err)
	return err
}

// endClaim is called when the end of a running inbound message was stored, with the error of that.
func (s inbox) endClaim(id int64, err error) {
	if err == nil {
		s.local.file.Remove(id)
	}
	if err == nil || errors.Is(err, store.ErrState) {
		s.running.remove(id)
	}
}

// Cancel marks pending inbound messages as dead.
func (s inbox) Cancel(ctx context.Context, chat channels.Chat, id int64) (n int, err error) {
	err = s.change(ctx, changeRequest{
		what: "cancel pending messages of " + chat.String(), function: "cancel", scope: ofChat(chat),
		args: map[string]any{"chat": chat.String(), "id": id},
	}, &n)
	return n, err
}

// MarkStopped records that a running inbound message was stopped.
func (s inbox) MarkStopped(ctx context.Context, chat channels.Chat, id int64) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("mark inbound message %d as stopped", id), function: "stop", hint: true, scope: ofChat(chat),
		args: map[string]any{"chat": chat.String(), "id": id},
	}, nil)
}

// Queue returns pending inbound messages of a chat.
func (s inbox) Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	return readAll[store.Inbound](ctx, s.state, "read the queue of "+chat.String(), selectInbound+
		"state = 'pending' AND chat = $1 AND ended = 0 ORDER BY (origin <> 'person' AND attempt = 0), id LIMIT $2",
		chat.String(), max(n, 0))
}

// SettlePending ends a pending inbound message without a turn.
func (s inbox) SettlePending(ctx context.Context, id int64) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("settle inbound message %d", id), function: "settle_pending", scope: ofInbound(id),
		args: idArgs{id},
	}, nil)
}

// Running returns the running inbound message of a chat.
func (s inbox) Running(ctx context.Context, chat channels.Chat) (store.Inbound, bool, error) {
	return readOne[store.Inbound](ctx, s.state, "read what runs in "+chat.String(),
		selectInbound+"state = 'running' AND chat = $1 AND ended = 0", chat.String())
}

// Inbound returns one inbound message.
func (s inbox) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	return readOne[store.Inbound](ctx, s.state, fmt.Sprintf("read inbound message %d", id), selectInbound+"id = $1", id)
}

// Recent returns the last inbound messages of a chat, without those that were only sent to it.
func (s inbox) Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error) {
	return readAll[store.Inbound](ctx, s.state, "read inbound messages of "+chat.String(), selectInbound+
		"chat = $1 AND NOT (origin <> 'person' AND attempt = 0 AND ended > 0) ORDER BY id DESC LIMIT $2", chat.String(),
		max(n, 0))
}

// CountPending counts pending inbound messages.
func (s inbox) CountPending(ctx context.Context, chat channels.Chat) (int, error) {
	return readValue[int](ctx, s.state, "count pending inbound messages",
		"SELECT to_json(count(*)) FROM inbox WHERE state = 'pending' AND ended = 0 AND ($1 = $2 OR chat = $1)",
		chat.String(), channels.Chat{}.String())
}

// ChatOfToken returns the chat of a token.
func (s inbox) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	key, found, err := readOne[string](ctx, s.state, "look up a token",
		"SELECT to_json(chat::text) FROM token WHERE token = $1",
		token)
	chat, _ := channels.ParseChat(key)
	return chat, found, err
}
