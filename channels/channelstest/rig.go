package channelstest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
)

// Recorder records what a channel receives, for the tests of one channel. Its lock is held while
// Refuse is called, and must be taken to change the fields of a channel that runs.
type Recorder struct {
	sync.Mutex
	All      []channels.Incoming           // what was received
	Reject   func(channels.Incoming) error // nil: everything is taken
	Rejected int                           // how often

	more chan struct{}
}

// NewRecorder returns an empty inbox.
func NewRecorder() *Recorder { return &Recorder{more: make(chan struct{}, 1)} }

// Receive takes a message, as channels.Receive.
func (b *Recorder) Receive(_ context.Context, in channels.Incoming) error {
	b.Lock()
	defer b.Unlock()
	if b.Reject != nil {
		if err := b.Reject(in); err != nil {
			b.Rejected++
			return err
		}
	}
	b.All = append(b.All, in)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return nil
}

// Messages returns a copy of All.
func (b *Recorder) Messages() []channels.Incoming {
	b.Lock()
	defer b.Unlock()
	return slices.Clone(b.All)
}

// Await waits until enough was received and returns all of it. It gives up after minutes.
func (b *Recorder) Await(enough func([]channels.Incoming) bool) (all []channels.Incoming, ok bool) {
	deadline := time.After(patience)
	for {
		if all = b.Messages(); enough(all) {
			return all, true
		}
		select {
		case <-b.more:
		case <-deadline:
			return all, false
		}
	}
}

// Start runs a channel. It stops, and must do so without an error, when stop is called or the test
// ends.
func Start(t testing.TB, ch channels.Channel, receive channels.Receive) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, receive) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

// MustPlan plans a message.
func MustPlan(t testing.TB, ch channels.Channel, m channels.Message) []channels.Outgoing {
	t.Helper()
	plan, err := ch.Plan(m)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// MustSend plans and sends a message, and returns the receipts.
func MustSend(t testing.TB, ch channels.Channel, m channels.Message) (receipts []channels.Receipt) {
	t.Helper()
	for _, o := range MustPlan(t, ch, m) {
		receipt, err := ch.Send(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, receipt)
	}
	return receipts
}

// MustFailSend returns the error of a send that must fail. The token must not be in it.
func MustFailSend(ctx context.Context, t testing.TB, ch channels.Channel, o channels.Outgoing, token string) *channels.SendError {
	t.Helper()
	_, err := ch.Send(ctx, o)
	var se *channels.SendError
	if !errors.As(err, &se) {
		t.Fatalf("Send returned %v", err)
	}
	if strings.Contains(err.Error(), token) {
		t.Errorf("the token is in the error %v", err)
	}
	return se
}

// WriteFile writes a file and names it as an agent would.
func WriteFile(t testing.TB, name string, content []byte) channels.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spooled")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return channels.File{Path: path, Name: name, Kind: channels.KindOf(name), Size: int64(len(content))}
}

// LogText returns a log as text.
func LogText(t testing.TB, logs *observer.ObservedLogs) string {
	t.Helper()
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	var b strings.Builder
	for _, e := range logs.All() {
		line, err := encoder.EncodeEntry(e.Entry, e.Context)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(line.String())
	}
	return b.String()
}

// FindingsByCheck returns findings by the name of their check. Those that are not good have a fix and the
// others have none, and the token must not be in them.
func FindingsByCheck(t testing.TB, all []channels.Finding, token string) map[string]channels.Finding {
	t.Helper()
	found := map[string]channels.Finding{}
	for _, f := range all {
		found[f.Check] = f
		if (f.Fix == "") != (f.Status == channels.Good) {
			t.Errorf("%+v: what is wrong has a fix, what is right has none", f)
		}
		if strings.Contains(f.Detail+f.Fix, token) {
			t.Errorf("the token is shown: %+v", f)
		}
	}
	return found
}

// ExpectFinding fails the test unless the check had the status and its detail has the words of
// want's.
func ExpectFinding(t testing.TB, found map[string]channels.Finding, want channels.Finding) {
	t.Helper()
	f, ok := found[want.Check]
	if !ok || f.Status != want.Status || !strings.Contains(f.Detail, want.Detail) {
		t.Errorf("%s: got %+v, want %s with %q; all: %+v", want.Check, f, want.Status, want.Detail, found)
	}
}
