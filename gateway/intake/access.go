package intake

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

const (
	// CodeLifetime is how long a pairing code is valid.
	CodeLifetime = 15 * time.Minute
	// openCodes and codesPerHour bound the pairing codes of a channel, so that outsiders can
	// neither fill the disk nor flood the operator. A new code beyond openCodes replaces the
	// oldest.
	openCodes, codesPerHour = 20, 60
)

// checkRate reports whether a message is within its sender's rate limit. If not, refusal is the
// answer to it. Commands that stop the turn are always allowed.
func (i *Intake) checkRate(in channels.Incoming, isCommand, stops bool) (refusal string, ok bool) {
	limit := i.o.Settings().RatePerMinute
	allowed := limit
	if isCommand { // after too many messages a person can still send /help or /status
		allowed = 2 * limit
	}
	if i.rates.count(in.Chat.Channel+":"+in.User.ID, in.Chat.ID+" "+in.ID, allowed, time.Now()) || stops {
		return "", true
	}
	i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Limited})
	return i.words(in).Text(words.TooManyMessages, limit), false
}

// refuseOutsider refuses a message of a person without access, and offers a pairing code if they
// have none. It reports false if the person was admitted in the meantime.
func (i *Intake) refuseOutsider(ctx context.Context, in channels.Incoming) (bool, error) {
	code := rand.Text()[:8]
	silent := channels.Notification{Silent: true}
	coded, err := i.planAnswer(in, channels.Message{Notification: silent, Text: i.words(in).Text(words.PairingCode, code, int(CodeLifetime.Minutes()))})
	if err != nil {
		return false, err
	}
	later, err := i.planAnswer(in, channels.Message{Notification: silent, Text: i.words(in).Text(words.PairingLater)})
	if err != nil {
		return false, err
	}
	refusal, err := i.o.Store.RequestPairing(ctx, store.PairingRequest{
		In: in, Cursor: in.Cursor, Code: code, Coded: coded, Later: later,
		Limits: store.CodeLimits{Life: CodeLifetime, Open: openCodes, PerHour: codesPerHour},
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
	_, logged := i.loggedRefusals.LoadOrStore(in.Chat.Channel+":"+in.User.ID, true)
	if !logged {
		i.o.Log.Warn("refused a user who is not allowed", zap.String("channel", in.Chat.Channel), zap.String("user", in.User.ID), zap.String("name", in.User.Name))
	}
	i.auditRefusal(in, refusal == store.PairingCoded, logged)
	return true, nil
}

// rateCounter counts the messages of each user in the current minute.
type rateCounter struct {
	mu    sync.Mutex
	since time.Time
	sent  map[string]sentCount
}

// sentCount is the number of a person's messages, with the ID of the last.
type sentCount struct {
	n    int
	last string
}

// count counts a message and reports whether it is within the limit. A message that is delivered
// again, because it could not be stored, counts once.
func (r *rateCounter) count(user, message string, limit int, now time.Time) bool {
	if limit <= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Minute || r.sent == nil {
		r.since, r.sent = now, map[string]sentCount{}
	}
	c := r.sent[user]
	if c.last != message {
		c.n, c.last = c.n+1, message
		r.sent[user] = c
	}
	return c.n <= limit
}

// ResetRefusalLog is called once an hour, so that each refused person is logged at most once an
// hour.
func (i *Intake) ResetRefusalLog() { i.loggedRefusals.Clear() }
