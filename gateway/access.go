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
	// openCodes bounds how many codes of a channel wait at once, so that strangers cannot fill the disk.
	openCodes = 20
)

// Knows reports whether a user may talk to the bot, so that a channel need not go to any length for others. When that cannot be found
// out they may not.
func (g *Gateway) Knows(channel, user string) bool {
	ok, err := g.knows(context.Background(), channel, user)
	return ok && err == nil
}

func (g *Gateway) knows(ctx context.Context, channel, user string) (bool, error) {
	list, guarded := g.set().AllowFrom[channel]
	if !guarded || slices.Contains(list, "*") || slices.Contains(list, user) {
		return true, nil
	}
	ok, err := g.o.Store.Allowed(ctx, channel, user)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	return ok, nil
}

// admit reports whether a message is taken. If not, answer is what its sender is told, which may be nothing.
func (g *Gateway) admit(ctx context.Context, in channels.Incoming) (answer string, ok bool, err error) {
	if ok, err = g.knows(ctx, in.Chat.Channel, in.User.ID); err != nil {
		return "", false, err
	}
	if !ok {
		answer, err = g.refuse(ctx, in)
		return answer, false, err
	}
	set := g.set()
	if _, _, isCommand := parseCommand(in); !isCommand && !g.rates.take(in.Chat.Channel+":"+in.User.ID, in.Chat.ID+" "+in.ID, set.RatePerMinute, time.Now()) {
		g.audit(in, audit.Record{Event: audit.Denied, Decision: audit.Limited})
		return fmt.Sprintf("That is more than %d messages a minute. Please wait a little.", set.RatePerMinute), false, nil
	}
	return "", true, nil
}

// refuse gives a stranger a pairing code, once, and logs that once.
func (g *Gateway) refuse(ctx context.Context, in channels.Incoming) (string, error) {
	log := g.o.Log.With(zap.String("channel", in.Chat.Channel), zap.String("user", in.User.ID))
	guest := store.Guest{Channel: in.Chat.Channel, User: in.User, Code: rand.Text()[:8]}
	code, fresh, err := g.o.Store.Knock(ctx, guest, CodeLife, openCodes)
	if err != nil {
		return "", fmt.Errorf("store pairing code: %w", err)
	}
	_, logged := g.refused.LoadOrStore(in.Chat.Channel+":"+in.User.ID, true)
	if !logged {
		log.Warn("refused a user who is not allowed", zap.String("name", in.User.Name))
	}
	g.auditStranger(in, code != "" && fresh, logged)
	if code == "" || !fresh {
		return "", nil
	}
	return fmt.Sprintf("This bot is private. Its operator can let you in with:\n\nnanobot pair %s\n\nThe code is good for %d minutes.", code, int(CodeLife.Minutes())), nil
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
