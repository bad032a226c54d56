package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// WithNext returns options of a version that has one more step than this one, and other functions.
func (o Options) WithNext(step string) Options {
	m := current()
	m.steps, m.functions = append(slices.Clone(m.steps), step), m.functions+"-- of the next version\n"
	o.migrations = &m
	return o
}

// WithSteps returns options of a version with the tables of the first steps only.
func (o Options) WithSteps(n int) Options {
	m := current()
	m.steps = m.steps[:n]
	o.migrations = &m
	return o
}

// WithAttempt returns options with which one call of the database takes no longer than d, although
// the lease is long.
func (o Options) WithAttempt(d time.Duration) Options {
	o.attempt = d
	return o
}

// AgeUnknown moves the time at which beats found unknown claims into the past.
func (s *state) AgeUnknown(by time.Duration) {
	for _, c := range []*claims{&s.running, &s.sending} {
		c.mu.Lock()
		for id, since := range c.unknown {
			c.unknown[id] = since.Add(-by)
		}
		c.mu.Unlock()
	}
}

// Call makes a change of one chat. With renumber, a call that is repeated has another number than
// before, so that the database cannot know it.
func (s *state) Call(ctx context.Context, function, chat string, renumber bool, answer any) error {
	r := changeRequest{what: function, function: function, scope: scope{"chat", chat}, args: map[string]string{"chat": chat}, hint: true}
	if !renumber {
		return s.change(ctx, r, answer)
	}
	slot := <-s.slots
	defer func() { s.slots <- slot }()
	args, _ := json.Marshal(r.args)
	var text *string
	if err := s.retry(ctx, func(ctx context.Context) error { return s.call(ctx, slot, s.ops.Add(1), r, args, &text) }); err != nil {
		return err
	}
	return json.Unmarshal([]byte(*text), answer)
}

// MaxChanges and MaxReads are how many changes and reads are made at the same time.
const MaxChanges, MaxReads = maxChanges, maxReads

// CheckVersion is the check of the server's version.
var CheckVersion = checkVersion

// MarkOthersGone ends all other members.
func (s *state) MarkOthersGone(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "SELECT mark_gone(id, $2) FROM member WHERE id <> $1", s.member, s.time())
	return err
}

// FunctionsOf returns the schema of the functions of a bot's schema.
func FunctionsOf(schema string) string {
	return (&state{migrations: current(), schema: schema}).functionSchema()
}
