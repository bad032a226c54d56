package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nanobot/gateway/store"
)

// Member returns the name of this handle's member.
func (s *state) Member() string { return s.member }

// FolderName returns the ID of the member's own folder.
func (s *state) FolderName(context.Context) (string, error) { return s.folder, nil }

// CheckWritable returns why the last beat has failed: a beat writes to the database.
func (s *state) CheckWritable(context.Context) error {
	if failed := s.beatFailed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// Hints has an element after another member has changed something.
func (s *state) Hints() <-chan struct{} { return s.hints }

// register makes the member, when no other one of its name is alive.
func (s *state) register(ctx context.Context, o Options) error {
	info, err := json.Marshal(o.Info)
	if err != nil {
		return err
	}
	lease := s.ttl
	if o.Command {
		lease = commandLease
	} else if s.folder, err = identifyFolder(o.Dir); err != nil {
		return fmt.Errorf("identify the folder of the state: %w", err)
	}
	for waits := false; ; waits = true {
		var wait int64
		err := s.repeatWhileSlow(ctx, func() error {
			return s.retry(ctx, func(ctx context.Context) error {
				return s.pool.QueryRow(ctx, "SELECT open_member($1, $2, $3, $4, $5, $6, $7, $8)", s.member, o.Name, s.folder,
					lease.Microseconds(), maxChanges, o.Command, string(info), s.time()).Scan(&wait)
			})
		})
		if err != nil || wait == 0 {
			return err
		}
		lasts := time.Duration(wait) * time.Microsecond
		if o.Waiting != nil && !waits {
			o.Waiting(lasts)
		}
		select {
		case <-time.After(min(lasts, s.ttl/4)): // it may end earlier
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// identifyFolder returns the ID of a folder, which stays the same when the folder or the machine is
// renamed.
func identifyFolder(dir string) (string, error) {
	path := filepath.Join(dir, "member-id")
	id, err := os.ReadFile(path)
	if err == nil && len(id) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return string(id), err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	id = []byte(rand.Text())
	temporary := path + "-" + string(id)
	return string(id), errors.Join(os.WriteFile(temporary, id, 0o600), os.Rename(temporary, path))
}

// commandLease is how long the member of a command that was killed stays. It claims nothing, so
// nobody waits for it.
const commandLease = 24 * time.Hour

// renewCommand renews the lease of a command, which nobody calls Beat for.
func (s *state) renewCommand(ctx context.Context) {
	for pause(ctx, commandLease/4) {
		_, _ = s.beat(ctx, commandLease, false)
	}
}

// Beat renews the lease.
func (s *state) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	if !lead {
		_ = s.flushCursors(ctx) // otherwise, some updates are received again
	}
	return s.beat(ctx, s.ttl, lead)
}

func (s *state) beat(ctx context.Context, lease time.Duration, lead bool) (b store.Beat, err error) {
	var text []byte
	began := time.Now()
	err = s.retry(ctx, func(ctx context.Context) error {
		b.Lease = lease + time.Since(began) // which the database counts from now on at the earliest
		return s.beats.QueryRow(ctx, "SELECT beat($1, $2, $3, $4)", s.member, lease.Microseconds(), lead,
			s.time()).Scan(&text)
	})
	if err == nil {
		answer := struct {
			*store.Beat
			Probes           []string
			Running, Sending []int64
		}{Beat: &b}
		err = json.Unmarshal(text, &answer)
		// A call lasts for less than a lease.
		running, sending := s.running.compare(answer.Running, lease), s.sending.compare(answer.Sending, lease)
		b.Adoptable = b.Adoptable || running || sending
		// The folder may be on a network that does not answer, which must not delay a beat.
		if len(answer.Probes) > 0 && s.readingFiles.CompareAndSwap(false, true) {
			go s.readFiles(context.WithoutCancel(ctx), answer.Probes)
		}
	}
	s.alone.Store(err == nil && !b.Others && lease != commandLease)
	b.Next = lease / 4
	err = wrapError("renew the lease", err)
	if s.beatFailed.Store(nil); err != nil {
		s.beatFailed.Store(&err)
	}
	return b, err
}

// ListMembers returns the members.
func (s *state) ListMembers(ctx context.Context) ([]store.MemberStatus, error) {
	type row struct {
		store.MemberStatus
		Info json.RawMessage
	}
	rows, err := readAll[row](ctx, s, "list members", `SELECT json_build_object('name', name,
		'state', CASE WHEN lease <= coalesce($1, database_time()) THEN 'gone' WHEN draining THEN 'draining' ELSE 'up' END,
		'leader', id = (SELECT member FROM leader), 'info', info::json,
		'running', (SELECT count(*) FROM inbox WHERE owner = m.id))
		FROM (SELECT DISTINCT ON (name) * FROM member WHERE NOT command ORDER BY name, lease < 0, lease) m ORDER BY name`, s.time())
	all := make([]store.MemberStatus, len(rows))
	for i, r := range rows {
		all[i] = r.MemberStatus
		if err == nil {
			err = json.Unmarshal(r.Info, &all[i].MemberInfo)
		}
	}
	return all, err
}

// Describe replaces what this member says about itself.
func (s *state) Describe(ctx context.Context, info store.MemberInfo) error {
	text, err := json.Marshal(info)
	if err == nil {
		_, err = readValue[bool](ctx, s, "describe the member",
			"UPDATE member SET info = $2 WHERE id = $1 RETURNING to_json(true)", s.member, string(text))
	}
	return err
}

// Drain has a member claim nothing more.
func (s *state) Drain(ctx context.Context, name string) (found bool, err error) {
	found, err = readValue[bool](ctx, s, "drain member "+name, "SELECT to_json(drain_member($1))", name)
	s.hint()
	return found, err
}

// micros is the stored form of a time; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the time of a number of the database; 0 is the zero time.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
