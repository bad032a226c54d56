package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

const (
	// CodeLife is how long a pairing code is good for.
	CodeLife = 15 * time.Minute
	// openCodes and codesPerHour bound the codes of a channel, so that strangers can neither fill the disk nor have an operator guess
	// whose code is the right one. With one more than openCodes the oldest ends.
	openCodes, codesPerHour = 20, 60
)

// Knows reports whether a user may talk to the bot, so that a channel need not go to any length for others. When that cannot be found
// out they may not.
func (g *Gateway) Knows(channel, user string) bool {
	ok, err := g.knows(context.Background(), channel, user)
	return ok && err == nil
}

func (g *Gateway) knows(ctx context.Context, channel, user string) (bool, error) {
	if g.listed(channel, user) {
		return true, nil
	}
	ok, err := g.o.Store.Allowed(ctx, channel, user)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	return ok, nil
}

// listed reports whether the settings let a user in.
func (g *Gateway) listed(channel, user string) bool {
	list, guarded := g.set().AllowFrom[channel]
	return !guarded || slices.Contains(list, "*") || slices.Contains(list, user)
}

// limit reports whether a user's message is within the rate. If not, answer is what the user is told.
func (g *Gateway) limit(in channels.Incoming) (answer string, ok bool) {
	most := g.set().RatePerMinute
	c, _, isCommand := parseCommand(in)
	heard := most
	if isCommand { // a person who has sent too many messages can still ask for /help or /status
		heard = 2 * most
	}
	if g.rates.take(in.Chat.Channel+":"+in.User.ID, in.Chat.ID+" "+in.ID, heard, time.Now()) || isCommand && c.stops {
		return "", true
	}
	g.audit(in, audit.Record{Event: audit.Denied, Decision: audit.Limited})
	return fmt.Sprintf("That is more than %d messages a minute. Please wait a little.", most), false
}

// refuse turns a stranger's message away, with a pairing code if they have none. It reports false for somebody who was let in just now.
func (g *Gateway) refuse(ctx context.Context, in channels.Incoming) (bool, error) {
	code := rand.Text()[:8]
	coded, err := g.planAnswer(in, fmt.Sprintf("This bot is private. Its operator can let you in with:\n\nnanobot pair %s\n\nThe code is good for %d minutes.",
		code, int(CodeLife.Minutes())))
	if err != nil {
		return false, err
	}
	later, err := g.planAnswer(in, "This bot is private, and too many people are asking to be let in. Please try again in an hour.")
	if err != nil {
		return false, err
	}
	refusal, err := g.o.Store.Refuse(ctx, store.Stranger{
		In: in, Cursor: in.Cursor, Code: code, Coded: coded, Later: later,
		Limits: store.CodeLimits{Life: CodeLife, Open: openCodes, PerHour: codesPerHour},
	})
	if err != nil {
		return false, fmt.Errorf("refuse message: %w", err)
	}
	if refusal == store.NotRefused {
		return false, nil
	}
	if refusal == store.Coded || refusal == store.ToldLater {
		g.outbox.Wake(in.Chat)
	}
	_, logged := g.refused.LoadOrStore(in.Chat.Channel+":"+in.User.ID, true)
	if !logged {
		g.o.Log.Warn("refused a user who is not allowed", zap.String("channel", in.Chat.Channel), zap.String("user", in.User.ID), zap.String("name", in.User.Name))
	}
	g.auditStranger(in, refusal == store.Coded, logged)
	return true, nil
}

// rates counts users' messages in the current minute.
type rates struct {
	mu    sync.Mutex
	since time.Time
	count map[string]count
}

// count is how many messages a user has sent, and which was the last.
type count struct {
	n    int
	last string
}

// take reports whether one more is within the limit. The same one again, because it could not be stored, does not count again.
func (r *rates) take(user, message string, limit int, now time.Time) bool {
	if limit <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Minute || r.count == nil {
		r.since, r.count = now, map[string]count{}
	}
	c := r.count[user]
	if c.last != message {
		c.n, c.last = c.n+1, message
		r.count[user] = c
	}
	return c.n <= limit
}
