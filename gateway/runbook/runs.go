package runbook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Records is the part of the store that runs need: named values that several processes change. The
// gateway's store implements it.
type Records interface {
	// LoadRecord returns the value of a key, or "".
	LoadRecord(ctx context.Context, key string) (string, error)
	// ListRecords returns the keys with a prefix, and their values.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	// SwapRecord replaces the value of a key if it is old, and reports whether it was. "" stands
	// for a missing key.
	SwapRecord(ctx context.Context, key, old, value string) (bool, error)
}

const (
	runPrefix = "runbook/run/"
	// sharedPrefix is the prefix of minted runbooks that all chats see, and ownedPrefix of those of
	// one chat.
	sharedPrefix = "runbook/minted/"
	ownedPrefix  = "runbook/owned/"
)

// Runs are the stored runs and minted runbooks. Several processes may use the same store.
type Runs struct {
	Records Records
	Now     func() time.Time // nil means time.Now
	Random  io.Reader        // nil means crypto/rand
}

func (rs Runs) env() Env {
	now := time.Now
	if rs.Now != nil {
		now = rs.Now
	}
	return Env{Now: now(), Random: rs.Random}
}

// Begin starts a run and stores it.
func (rs Runs) Begin(ctx context.Context, start Start) (Run, Answer, error) {
	if _, err := rs.key(ctx); err != nil { // created here, so that the report of the run needs no room for it
		return Run{}, Answer{}, err
	}
	for {
		r, a := Begin(start, rs.env())
		stored, err := rs.Records.SwapRecord(ctx, runPrefix+r.ID, "", r.Encode())
		if err != nil || stored { // otherwise another run has the same random ID
			return r, a, err
		}
	}
}

// Load returns a run, or ErrNoRun.
func (rs Runs) Load(ctx context.Context, id string) (Run, error) {
	r, _, err := rs.load(ctx, id)
	return r, err
}

func (rs Runs) load(ctx context.Context, id string) (Run, string, error) {
	value, err := rs.Records.LoadRecord(ctx, runPrefix+id)
	if err != nil {
		return Run{}, "", err
	}
	if value == "" {
		return Run{}, "", ErrNoRun
	}
	r, err := DecodeRun(value)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return r, value, err
}

// Apply applies a transition to a run and stores the result. If another process has changed the run
// meanwhile, the transition is repeated on the new state, so it must have no side effects. If it
// returns an error, nothing is stored.
func (rs Runs) Apply(ctx context.Context, id string, transition func(Run, Env) (Run, error)) (Run, error) {
	for {
		before, old, err := rs.load(ctx, id)
		if err != nil {
			return Run{}, err
		}
		after, err := transition(before, rs.env())
		if err != nil {
			return before, err
		}
		value := after.Encode()
		if value == old {
			return after, nil
		}
		swapped, err := rs.Records.SwapRecord(ctx, runPrefix+id, old, value)
		if err != nil || swapped {
			return after, err
		}
	}
}

// Transition applies Next, Prove, Approve, Decline or Skip to a stored run.
func Transition[D any](ctx context.Context, rs Runs, id string, transition func(Run, D, Env) (Run, Answer, error),
	decision D,
) (Run, Answer, error) {
	var a Answer
	r, err := rs.Apply(ctx, id, func(r Run, env Env) (after Run, err error) {
		after, a, err = transition(r, decision, env)
		return after, err
	})
	return r, a, err
}

// List returns the runs of a chat, oldest first, or those of all chats for "". The error names
// those that cannot be read; the others are returned, too.
func (rs Runs) List(ctx context.Context, chat string) ([]Run, error) {
	values, err := rs.Records.ListRecords(ctx, runPrefix)
	if err != nil {
		return nil, err
	}
	runs, broken := []Run{}, []error{}
	field := `"chat":` + string(mustEncode(chat))
	for _, value := range values {
		if chat != "" && !strings.Contains(value, field) {
			continue
		}
		r, err := DecodeRun(value)
		switch {
		case err != nil:
			broken = append(broken, err)
		case chat == "" || r.Chat == chat:
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.ID, b.ID))
	})
	return runs, errors.Join(broken...)
}

// FindByNonce returns the run that has issued a nonce, or ErrNoRun.
func (rs Runs) FindByNonce(ctx context.Context, nonce string) (Run, error) {
	values, err := rs.Records.ListRecords(ctx, runPrefix)
	if err != nil || nonce == "" {
		return Run{}, cmp.Or(err, ErrNoRun)
	}
	for _, value := range values {
		if !strings.Contains(value, nonce) {
			continue
		}
		if r, err := DecodeRun(value); err == nil && r.HasNonce(nonce) {
			return r, nil
		}
	}
	return Run{}, ErrNoRun
}
