package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var chat = channels.Chat{Channel: "telegram", ID: "7"}

// fixture is an engine with a real store and a clock that can be set. It runs in synctest.
type fixture struct {
	t      *testing.T
	store  *sqlite.Store
	engine *schedule.Engine
	stop   func()

	mu       sync.Mutex
	offset   time.Duration // of the engine's clock
	broken   error         // of the store
	refused  string        // by the gateway
	badText  string        // a text that cannot be stored
	left     map[string]bool
	messages []string
	observed map[string]int
}

// in runs a test with a clock that begins at a local time of a zone.
func in(t *testing.T, zone, local string, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, left: map[string]bool{}, observed: map[string]int{}, stop: func() {}}
		f.store = musttest.Get(sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{}))(t)
		f.set(zone, local)
		test(f)
		f.stop()
		musttest.Do(t, f.store.Close())
	})
}

// set sets the engine's clock.
func (f *fixture) set(zone, local string) {
	f.t.Helper()
	place := musttest.Get(time.LoadLocation(zone))(f.t)
	at := musttest.Get(time.ParseInLocation("2006-01-02 15:04:05", local, place))(f.t)
	f.jump(at.Sub(f.now()))
}

// jump changes the engine's clock.
func (f *fixture) jump(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offset += d
}

func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.offset)
}

// start starts the daemon with schedules of its config.
func (f *fixture) start(configured map[string]schedule.Spec) {
	f.engine = schedule.New(schedule.Options{
		Store: brokenStore{f.store, f}, Deliver: f.deliver, Now: f.now, Log: zap.NewNop(),
		Admits: func(_ context.Context, _, user string) (bool, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.left[user], nil
		},
		Observe: func(name string, outcome store.OccurrenceOutcome) { f.observed[name+" "+string(outcome)]++ },
	})
	f.reload(configured)
	ctx, cancel := context.WithCancel(f.t.Context())
	var work sync.WaitGroup
	work.Go(func() { f.engine.Run(ctx) })
	f.stop = func() { cancel(); work.Wait() }
	synctest.Wait()
}

func (f *fixture) reload(configured map[string]schedule.Spec) {
	all := map[string]schedule.Configured{}
	for name, spec := range configured {
		if spec.Text == "" {
			spec.Text = name
		}
		plan, mistakes := schedule.Parse(spec)
		if len(mistakes) > 0 {
			f.t.Fatal(mistakes)
		}
		all[name] = schedule.Configured{Chat: chat, Spec: plan.Spec}
	}
	f.engine.Reload(all)
}

// deliver stores a text as done, and a prompt as a message that waits.
func (f *fixture) deliver(ctx context.Context, m schedule.Message) (int64, error) {
	f.mu.Lock()
	broken, refused := f.broken, f.refused
	if m.Spec.Text == f.badText && f.badText != "" {
		broken = errors.New("cannot be stored")
	}
	f.mu.Unlock()
	if broken != nil {
		return 0, broken
	}
	if refused != "" {
		return 0, schedule.RefusedError{Reason: refused}
	}
	result, err := f.store.Receive(ctx, store.ReceiveRequest{
		In:     channels.Incoming{Chat: m.Schedule.Chat, Origin: channels.BySchedule(m.Schedule.Name), Text: m.Spec.Text},
		Settle: m.Spec.Agent == "", Occurrences: m.Occurrences,
	})
	if err != nil || result.Disposition == store.Duplicate {
		return 0, err
	}
	f.messages = append(f.messages, m.Spec.Text)
	return result.Inbound.ID, nil
}

// brokenStore is a store that fails while the fixture says so.
type brokenStore struct {
	*sqlite.Store
	f *fixture
}

func (s brokenStore) err() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.f.broken
}

func (s brokenStore) Account(ctx context.Context, name string, until time.Time, all []store.Occurrence) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Account(ctx, name, until, all)
}

func (s brokenStore) SaveSchedule(ctx context.Context, a store.Schedule, most int) (bool, error) {
	if err := s.err(); err != nil {
		return false, err
	}
	return s.Store.SaveSchedule(ctx, a, most)
}

func (f *fixture) setBroken(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
}

func (f *fixture) setBadText(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.badText = text
}

// pass lets time pass.
func (f *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// until lets time pass until the engine's clock has a local time.
func (f *fixture) until(zone, local string) {
	f.t.Helper()
	place := musttest.Get(time.LoadLocation(zone))(f.t)
	at := musttest.Get(time.ParseInLocation("2006-01-02 15:04:05", local, place))(f.t)
	f.pass(at.Sub(f.now()))
}

// want compares the occurrences of a schedule, oldest first: local time, offset of the due time,
// outcome and a part of the reason.
func (f *fixture) want(name string, lines ...string) {
	f.t.Helper()
	all := musttest.Get(f.store.Occurrences(f.t.Context(), name, 2000))(f.t)
	var got []string
	for i := range all {
		o := all[len(all)-1-i]
		wanttest.Equal(f.t, o.Wall+" has a message:", o.Inbound != 0, o.Outcome != store.Skipped)
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.Replace(o.Wall, "T", " ", 1), o.Outcome, o.Reason)))
	}
	if len(got) != len(lines) {
		f.t.Errorf("%s has %d occurrences, want %d:\n%s", name, len(got), len(lines), strings.Join(got, "\n"))
		return
	}
	for i, line := range lines {
		if want := strings.TrimSuffix(line, "…"); got[i] != line && (want == line || !strings.HasPrefix(got[i], want)) {
			f.t.Errorf("%s: occurrence %d is %q, want %q", name, i, got[i], line)
		}
	}
}

func (f *fixture) wantMessages(all ...string) {
	f.t.Helper()
	wanttest.EqualSlices(f.t, "the messages", f.messages, all)
}
