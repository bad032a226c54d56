package schedule

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// The limits of schedules that are made in chats.
const (
	// MostInChat is how many of them a chat may have.
	MostInChat = 50
	// ShortestPeriod is the shortest time between two occurrences.
	ShortestPeriod = time.Minute
	// checkedOccurrences is how many occurrences are compared with ShortestPeriod.
	checkedOccurrences = 100
)

// The reasons for which a schedule cannot be made in a chat, besides a Mistake.
var (
	ErrTooMany  = errors.New("the chat has too many schedules")
	ErrTooOften = errors.New("a schedule of a chat must not be due more often than once a minute")
	ErrPast     = errors.New("the time has passed")
	ErrNotReady = errors.New("the schedules were not read yet")
)

// Listed is a schedule with the time of its next occurrence.
type Listed struct {
	store.Schedule
	Plan *Plan     // nil: the stored spec cannot be understood
	Next time.Time // zero: none; in the zone of the schedule
}

// Request is a schedule that somebody makes in a chat.
type Request struct {
	Chat  channels.Chat
	Maker string // the ID of the person who makes it, or whose agent does
	// Key, if not "", names what has made the schedule, such as a message of the chat: it makes
	// only one, even if it is handled twice.
	Key  string
	Spec Spec
}

// Add makes a schedule in a chat. It ends when its maker loses access. The error is a Mistake, one
// of the errors above, or one of the store.
func (e *Engine) Add(ctx context.Context, n Request) (Listed, error) {
	plan, mistakes := Parse(n.Spec)
	if len(mistakes) > 0 {
		return Listed{}, mistakes[0]
	}
	now := e.now()
	if err := plan.checkPeriod(now); err != nil {
		return Listed{}, err
	}
	e.mu.Lock()
	ready := e.entries != nil
	e.mu.Unlock()
	if !ready {
		return Listed{}, ErrNotReady
	}
	s := store.Schedule{Name: n.name(), Chat: n.Chat, Maker: n.Maker, Spec: plan.encode(), Made: now, Accounted: now}
	saved, err := e.o.Store.SaveSchedule(ctx, s, MostInChat)
	if err != nil {
		return Listed{}, err
	}
	if !saved {
		return Listed{}, ErrTooMany
	}
	added := e.newEntry(s)
	e.mu.Lock()
	e.entries[s.Name] = added
	e.mu.Unlock()
	e.wakeUp()
	return Describe(s, now), nil
}

// name returns the name of the schedule. The dot distinguishes it from the operator's names.
func (n Request) name() string {
	key := n.Key
	if key == "" {
		key = rand.Text()
	}
	sum := sha256.Sum256([]byte(n.Chat.String() + "\x00" + key))
	return "chat." + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// checkPeriod returns an error if the schedule is due too often or never again.
func (p *Plan) checkPeriod(now time.Time) error {
	next := p.Next(now, checkedOccurrences)
	if len(next) == 0 {
		return ErrPast
	}
	for i, t := range next[1:] {
		if t.Sub(next[i]) < ShortestPeriod {
			return ErrTooOften
		}
	}
	return nil
}

// List returns the schedules of a chat, the one that is due next first.
func (e *Engine) List(chat channels.Chat) []Listed {
	var all []Listed
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.entries {
		if s.Chat == chat {
			all = append(all, Describe(s.Schedule, e.now()))
		}
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Or(a.Next.Compare(b.Next), strings.Compare(a.Name, b.Name)) })
	return all
}

// Summary returns the beginning of what the schedule does, as Markdown.
func (l Listed) Summary(runes int) string {
	switch {
	case l.Plan == nil:
		return ""
	case l.Plan.Runbook != "":
		return "/run " + l.Plan.Runbook
	}
	return strings.ReplaceAll(channels.FirstLine(l.Plan.Text, runes), `\…`, "…") // it may be cut within an escape
}

// Describe returns a schedule of the store with its next occurrence.
func Describe(s store.Schedule, now time.Time) Listed {
	l := Listed{Schedule: s}
	var err error
	if l.Plan, err = parseStored(s.Spec); err != nil {
		return l
	}
	if s.Accounted.After(now) && s.Accounted.Sub(now) <= farFuture {
		now = s.Accounted
	}
	if next := l.Plan.Next(now, 1); len(next) > 0 {
		l.Next = next[0]
	}
	return l
}

// Remove removes a schedule. It reports false if there is none with this name.
func (e *Engine) Remove(ctx context.Context, name string) (bool, error) {
	removed, err := e.o.Store.RemoveSchedule(ctx, name)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.entries, name)
	return removed, nil
}
