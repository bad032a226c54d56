package intake

import (
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/internal/words"
)

// checkRate reports whether a message is within its sender's rate limit. If not, refusal is the
// answer to it; "" if the sender was told in this minute. Commands that stop the turn are always
// allowed.
func (i *Intake) checkRate(in channels.Incoming, isCommand, stops bool) (refusal string, ok bool) {
	limit := i.o.Settings().RatePerMinute
	allowed := limit
	if isCommand { // after too many messages a person can still send /help or /status
		allowed = 2 * limit
	}
	user, message := in.Chat.Channel+":"+in.User.ID, in.Chat.ID+" "+in.ID
	if i.rates.count(user, message, allowed, time.Now()) || stops {
		return "", true
	}
	i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Limited})
	if !i.rates.mayTell(user, in.Chat.ID, message) && !answersPress(in) {
		return "", false
	}
	return i.words(in).Text(words.TooManyMessages, limit), false
}

// rateCounter counts the messages of each user in the current minute.
type rateCounter struct {
	mu    sync.Mutex
	since time.Time
	sent  map[string]sentCount
	told  map[string]string // the messages that were answered with a refusal, by user and chat
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
		r.since, r.sent, r.told = now, map[string]sentCount{}, map[string]string{}
	}
	c := r.sent[user]
	if c.last != message {
		c.n, c.last = c.n+1, message
		r.sent[user] = c
	}
	return c.n <= limit
}

// mayTell reports whether a person is to be told in a chat that a message is beyond the limit: once
// a minute, and again only for the same message, because the refusal could not be stored.
func (r *rateCounter) mayTell(user, chat, message string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := user + " " + chat
	if r.told[at] == "" {
		r.told[at] = message
	}
	return r.told[at] == message
}
