package intake

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
	"nanobot/gateway/events"
	"nanobot/gateway/store"
)

const (
	// CodeLife is how long a pairing code is good for.
	CodeLife = 15 * time.Minute
	// openCodes and codesPerHour bound the codes of a channel, so that strangers can neither fill
	// the disk nor have an operator guess whose code is the right one. With one more than openCodes
	// the oldest ends.
	openCodes, codesPerHour = 20, 60
)

// Admits reports whether a person may talk to the bot.
func (i *Intake) Admits(ctx context.Context, channel, user string) (bool, error) {
	if i.lists(channel, user) {
		return true, nil
	}
	ok, err := i.o.Store.Allowed(ctx, channel, user)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	return ok, nil
}

// lists reports whether the settings admit a person.
func (i *Intake) lists(channel, user string) bool {
	list, guarded := i.o.Settings().AllowFrom[channel]
	return !guarded || slices.Contains(list, "*") || slices.Contains(list, user)
}

// withinRate reports whether a person's message is within the rate limit. If not, refusal is the
// answer to it. A command that stops the turn always is.
func (i *Intake) withinRate(in channels.Incoming, isCommand, stops bool) (refusal string, ok bool) {
	most := i.o.Settings().RatePerMinute
	heard := most
	if isCommand { // a person who has sent too many messages can still ask for /help or /status
		heard = 2 * most
	}
	if i.rates.count(in.Chat.Channel+":"+in.User.ID, in.Chat.ID+" "+in.ID, heard, time.Now()) || stops {
		return "", true
	}
	i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Limited})
	return fmt.Sprintf("That is more than %d messages a minute. Please wait a little.", most), false
}

// refuse turns a stranger's message away, with a pairing code if they have none. It reports false
// for somebody who was let in just now.
func (i *Intake) refuse(ctx context.Context, in channels.Incoming) (bool, error) {
	code := rand.Text()[:8]
	coded, err := i.planAnswer(in, channels.Message{Text: fmt.Sprintf("This bot is private. Its operator can let you in with:\n\nnanobot pair %s\n\nThe code is good for %d minutes.",
		code, int(CodeLife.Minutes()))})
	if err != nil {
		return false, err
	}
	later, err := i.planAnswer(in, channels.Message{Text: "This bot is private, and too many people are asking to be let in. Please try again in an hour."})
	if err != nil {
		return false, err
	}
	refusal, err := i.o.Store.RequestPairing(ctx, store.PairingRequest{
		In: in, Cursor: in.Cursor, Code: code, Coded: coded, Later: later,
		Limits: store.CodeLimits{Life: CodeLife, Open: openCodes, PerHour: codesPerHour},
	})
	if err != nil {
		return false, fmt.Errorf("refuse message: %w", err)
	}
	if refusal == store.AlreadyAdmitted {
		return false, nil
	}
	if refusal == store.PairingCoded || refusal == store.PairingDeferred {
		i.o.Outbox.Wake(in.Chat)
	}
	if refusal != store.PairingSeen {
		i.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Reason: events.NotAdmitted})
	}
	_, logged := i.refused.LoadOrStore(in.Chat.Channel+":"+in.User.ID, true)
	if !logged {
		i.o.Log.Warn("refused a user who is not allowed", zap.String("channel", in.Chat.Channel), zap.String("user", in.User.ID), zap.String("name", in.User.Name))
	}
	i.recordRefusal(in, refusal == store.PairingCoded, logged)
	return true, nil
}

// rates counts users' messages in the current minute.
type rates struct {
	mu    sync.Mutex
	since time.Time
	sent  map[string]sent
}

// sent is how many messages a person has sent, and which was the last.
type sent struct {
	n    int
	last string
}

// count reports whether one more is within the limit. The same one again, because it could not be
// stored, does not count again.
func (r *rates) count(user, message string, limit int, now time.Time) bool {
	if limit <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Minute || r.sent == nil {
		r.since, r.sent = now, map[string]sent{}
	}
	c := r.sent[user]
	if c.last != message {
		c.n, c.last = c.n+1, message
		r.sent[user] = c
	}
	return c.n <= limit
}

// ForgetRefused forgets who was refused and logged. It is called once an hour, so that each of them
// is logged once an hour at most.
func (i *Intake) ForgetRefused() { i.refused.Clear() }
