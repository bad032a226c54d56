// Package postgres implements the store in a PostgreSQL database, for several daemons on several
// machines. Each change is one call of a function in the database, and so one round trip. Only this
// package knows its SQL; it knows nothing of agents or networks.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"nanobot/gateway/store"
	"nanobot/gateway/store/spool"
)

var _ store.Store = (*Store)(nil)

// Options say how a store is opened.
type Options struct {
	URL      string
	Password string // instead of the URL's; "": none
	Bot      string // the name of the bot, whose schema is nanobot_BOT
	Name     string // of the member
	TTL      time.Duration
	Info     store.MemberInfo
	Dir      string // the member's own folder of the state
	Spool    string // the folder of the spool, which all members share
	// Command opens an existing state for a command of the operator: it claims nothing, and its
	// name does not matter.
	Command bool
	// Waiting, if not nil, is told that a member of the same name is alive, and how long its lease
	// lasts.
	Waiting func(time.Duration)
	// Now is the clock of a test; nil means the database's.
	Now func() time.Time

	migrations *migrations   // of a test; nil: current
	attempt    time.Duration // of a test; 0: a fifth of the TTL
}

// Store is an open state. Each part of the contract is a type of its own on the same state.
type Store struct {
	*state
	*spool.Spool
	inbox
	outbox
	questions
	access
	records
	pruner
	schedules
	usage
	quotas
	people
}

type (
	inbox     struct{ *state }
	outbox    struct{ *state }
	questions struct{ *state }
	access    struct{ *state }
	records   struct{ *state }
	pruner    struct{ *state }
	schedules struct{ *state }
	usage     struct{ *state }
	quotas    struct{ *state }
	people    struct{ *state }
)

// state is the connections of a member.
type state struct {
	migrations
	pool       *pgxpool.Pool
	beats      *pgxpool.Pool // of beats, which wait for no other call
	schema     string
	member     string
	folder     string // identifies the state folder
	beatFailed atomic.Pointer[error]
	ttl        time.Duration
	attempt    time.Duration // the longest time of one call of the database
	now        func() time.Time
	slots      chan int      // of changes
	reading    chan struct{} // has an element for each read that is under way
	ops        atomic.Int64  // the number of the last change
	hints      chan struct{} // other members have changed something
	changed    chan struct{} // this member has changed something that others want to know
	work       sync.WaitGroup
	stop       context.CancelFunc // ends work
	spool      *spool.Spool
	shared     string // the folder of files that all members see
	// readingFiles says that readFiles runs.
	readingFiles atomic.Bool
	cursors      cursors
	running      claims    // inbound messages
	sending      claims    // deliveries
	local        processes // on this machine
	closing      sync.Once
	closed       atomic.Bool
	alone        atomic.Bool // the last beat found no other member
}

const (
	// maxChanges and maxReads are how many changes and reads a member makes at the same time.
	maxChanges, maxReads = 10, 4
	// maxConns are the connections for them. Hints and beats have another one each.
	maxConns = maxChanges + maxReads
)

// Open opens the state and becomes a member.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &state{
		migrations: current(), schema: "nanobot_" + o.Bot, member: o.Name + "/" + rand.Text()[:8],
		ttl: o.TTL, attempt: cmp.Or(o.attempt, o.TTL/5), now: o.Now,
		slots: make(chan int, maxChanges), reading: make(chan struct{}, maxReads), hints: make(chan struct{}, 1),
		changed: make(chan struct{}, 1), spool: spool.New(o.Spool, time.Now), shared: filepath.Dir(o.Spool),
	}
	if o.migrations != nil {
		s.migrations = *o.migrations
	}
	if o.Now != nil {
		s.spool = spool.New(o.Spool, o.Now)
	}
	if len(s.schema) > maxSchema {
		return nil, fmt.Errorf("gateway.bot: the name is longer than %d bytes", maxSchema-len("nanobot_"))
	}
	for n := range maxChanges {
		s.slots <- n + 1
	}
	first, err := rand.Int(rand.Reader, big.NewInt(1<<30)) // numbers of two members differ
	if err != nil {
		return nil, err
	}
	s.ops.Store(first.Int64() << 32)
	c, err := s.parseURL(o)
	if err != nil {
		return nil, fmt.Errorf("gateway.store: %w", err)
	}
	if err := s.openPools(ctx, c); err != nil {
		return nil, fmt.Errorf("gateway.store: %w", err)
	}
	s.cursors = cursors{values: map[string]string{}, closing: make(chan struct{})}
	if err := s.start(ctx, o); err != nil {
		s.closePools()
		return nil, fmt.Errorf("gateway.store: %w", explainError(err, c.ConnConfig))
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.tellChanges(background) })
	if o.Command {
		s.work.Go(func() { s.renewCommand(background) })
	} else {
		s.work.Go(func() { s.listen(background) })
	}
	return &Store{
		state: s, Spool: s.spool, inbox: inbox{s}, outbox: outbox{s}, questions: questions{s}, access: access{s},
		records: records{s},
		pruner:  pruner{s}, schedules: schedules{s}, usage: usage{s}, quotas: quotas{s}, people: people{s},
	}, nil
}

// maxSchema is the longest name of a schema: PostgreSQL cuts names after 63 bytes, and a version is
// added to the name.
const maxSchema = 56

// start creates what is missing in the database and makes the member.
func (s *state) start(ctx context.Context, o Options) error {
	if err := s.local.open(o); err != nil {
		return err
	}
	if !o.Command {
		err := os.MkdirAll(o.Spool, 0o700)
		if err == nil {
			err = os.Chmod(o.Spool, 0o700) // agents see the mount that it is on
		}
		if err != nil {
			return err
		}
	}
	err := s.repeatWhileSlow(ctx, func() error {
		if err := s.checkServer(ctx); err != nil {
			return err
		}
		return s.migrate(ctx, o.Command)
	})
	if err != nil {
		return err
	}
	return s.register(ctx, o)
}

// repeatWhileSlow repeats a step of a start. A slow server is no reason to end: there is no lease
// yet that could be lost.
func (s *state) repeatWhileSlow(ctx context.Context, step func() error) error {
	for deadline := time.Now().Add(startTimeout); ; pause(ctx, s.attempt) {
		err := step()
		if err == nil || ctx.Err() != nil || !isSlow(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// startTimeout is how long a step of a start tries to get an answer from a server that is slow.
const startTimeout = 30 * time.Second

// time returns the time of a test, or nil for the database's.
func (s *state) time() *int64 {
	if s.now == nil {
		return nil
	}
	us := s.now().UnixMicro()
	return &us
}

// Close ends the member: others may adopt its work at once. Later calls fail.
func (s *state) Close() (err error) {
	s.closing.Do(func() {
		close(s.cursors.closing)
		s.cursors.work.Wait()
		s.stop()
		s.work.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2*s.attempt)
		defer cancel()
		err = s.retry(ctx, func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, "SELECT mark_gone($1, $2)", s.member, s.time())
			return err
		})
		_ = s.notify(ctx)
		s.closed.Store(true)
		s.closePools()
		err = errors.Join(err, s.local.close())
	})
	return wrapError("close the state", err)
}
