package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nanobot/terminal"
)

// maxSessions is how many sessions are listed, maxPages how often an agent is asked for more.
const maxSessions, maxPages = 15, 10

// sessionInfo is what an agent tells of a session.
type sessionInfo struct {
	ID      string        `json:"sessionId"`
	Title   maybe[string] `json:"title"`
	Updated maybe[string] `json:"updatedAt"`
}

// sessions shows the earlier conversations and goes on with the one that is chosen.
func (x *turn) sessions(ctx context.Context, wanted string) (said string, err error) {
	if !x.a.hello.Can.Session.List {
		return "This agent does not tell which conversations it has had.", nil
	}
	all, own, err := x.list(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, func(o option) bool { return o.value == wanted }); i >= 0 {
		return x.switchTo(ctx, &all[i]) // who knows the whole id may
	}
	return x.sessionsOf(ctx, own, wanted)
}

// sessionsOf does that with the conversations that the chat itself has had.
func (x *turn) sessionsOf(ctx context.Context, all []option, wanted string) (said string, err error) {
	if len(all) == 0 {
		return "There are no earlier conversations.", nil
	}
	if wanted == "" && !x.a.hello.restores() {
		return listed("Conversations, none of which this agent can go on with:", "/sessions", all, x.s.id), nil
	}
	var o *option
	if wanted != "" {
		if o = find1(all, wanted); o == nil {
			return listed(fmt.Sprintf("There is no conversation %q.", terminal.Shorten(wanted, 80)), "/sessions", all, x.s.id), nil
		}
	} else if o, said, err = x.pick(ctx, "Which conversation?", "/sessions", all, x.s.id); o == nil || err != nil {
		return said, err
	}
	return x.switchTo(ctx, o)
}

// list returns the sessions of the agent in its folder, the newest first, and which of them this
// chat has had: those of other chats are the business of other people.
func (x *turn) list(ctx context.Context) (all, own []option, err error) {
	past, err := x.past(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := x.found(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range found {
		o := option{s.name(), s.ID}
		all = append(all, o)
		if len(own) < maxSessions && (s.ID == x.s.id || slices.Contains(past, memo{Session: s.ID, Agent: x.agent})) {
			own = append(own, o)
		}
	}
	return all, own, nil
}

// found asks the agent for its sessions.
func (x *turn) found(ctx context.Context) ([]sessionInfo, error) {
	var all []sessionInfo
	params := map[string]any{"cwd": x.t.ExecEnv.Dir}
	for range maxPages {
		result, hung, err := x.a.call(ctx, x.Patience, "session/list", params, nil)
		if x.a.spoiled = x.a.spoiled || hung; err != nil {
			return nil, err
		}
		var page struct {
			Sessions []sessionInfo `json:"sessions"`
			Next     maybe[string] `json:"nextCursor"`
		}
		if err := decode(result, &page); err != nil {
			return nil, &rpcError{Code: codeInternal, Message: "the agent's list of sessions makes no sense: " + err.Error()}
		}
		all = append(all, page.Sessions...)
		if page.Next.v == "" {
			break
		}
		params["cursor"] = page.Next.v
	}
	all = slices.DeleteFunc(all, func(s sessionInfo) bool { return s.ID == "" })
	slices.SortStableFunc(all, func(a, b sessionInfo) int { return b.time().Compare(a.time()) })
	return all, nil
}

// time is when a session was last used; agents that do not tell have their own order.
func (s sessionInfo) time() time.Time {
	t, err := time.Parse(time.RFC3339, s.Updated.v)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (s sessionInfo) name() string {
	name := terminal.OneLine(s.Title.v, 60)
	if name == "" {
		name = terminal.Shorten(s.ID, 40)
	}
	if t := s.time(); !t.IsZero() {
		name += t.UTC().Format(" (2 Jan 15:04)")
	}
	return name
}

// switchTo makes an earlier session the chat's. When that fails, nothing has changed.
func (x *turn) switchTo(ctx context.Context, o *option) (said string, err error) {
	if o.value == x.s.id {
		return "This is the conversation that you are in.", nil
	}
	s := newSession(x.a, x.t.ExecEnv)
	s.replay(o.value) // so that of two chats that want it at once none has it without the other's knowing
	old := x.a.turnTo(s)
	if x.hasSession(o.value, x.t.Envelope.SessionKey) {
		x.a.turnTo(old)
		s.table.Close()
		return "This conversation is open in another chat.", nil
	}
	err = x.a.restore(ctx, s, o.value)
	if err == nil {
		s.saved, err = x.remember(ctx, s.id)
	}
	if err != nil {
		x.a.turnTo(old)
		s.table.Close()
		if ctx.Err() == nil && (errors.Is(err, errLost) || errors.Is(err, errSilent)) {
			return "This conversation cannot be resumed.", nil
		}
		return "", err
	}
	x.a.leave(ctx, old)
	x.t.ReportAgentInfo(s.summary())
	return "Conversation: " + o.name, nil
}
