package channelstest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

// Start runs a channel until stop is called or the test ends. The test fails if Run returns an
// error or does not return.
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
		case <-time.After(waitLimit):
			t.Error("Run does not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

// MustPlan plans a message and fails the test on an error.
func MustPlan(t testing.TB, ch channels.Channel, m channels.Message) []channels.Outgoing {
	t.Helper()
	plan := musttest.Get(ch.Plan(m))(t)
	return plan
}

// MustSend plans and sends a message and returns the receipts.
func MustSend(t testing.TB, ch channels.Channel, m channels.Message) (receipts []channels.Receipt) {
	t.Helper()
	for _, o := range MustPlan(t, ch, m) {
		receipt := musttest.Get(ch.Send(context.Background(), o))(t)
		receipts = append(receipts, receipt)
	}
	return receipts
}

// MustFailSend returns the error of a send that must fail, and checks that the token is not in it.
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

// WriteFile writes a file for a message. Its name on disk differs from its name in the message, as
// in the spool.
func WriteFile(t testing.TB, name string, content []byte) channels.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spooled")
	musttest.Do(t, os.WriteFile(path, content, 0o600))
	return channels.File{Path: path, Name: name, Kind: channels.KindOf(name), Size: int64(len(content))}
}

// LogText returns the entries of a log as lines of JSON.
func LogText(t testing.TB, logs *observer.ObservedLogs) string {
	t.Helper()
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	var b strings.Builder
	for _, e := range logs.All() {
		line := musttest.Get(encoder.EncodeEntry(e.Entry, e.Context))(t)
		b.WriteString(line.String())
	}
	return b.String()
}

// FindingsByCheck returns findings by the name of their check. It fails the test if a good finding
// has a fix, if another one has none, or if the token is in one.
func FindingsByCheck(t testing.TB, all []channels.Finding, token string) map[string]channels.Finding {
	t.Helper()
	found := map[string]channels.Finding{}
	for _, f := range all {
		found[f.Check] = f
		if (f.Fix == "") != (f.Status == channels.Good) {
			t.Errorf("%+v: a finding has a fix exactly if it is not good", f)
		}
		if strings.Contains(f.Detail+f.Fix, token) {
			t.Errorf("the token is shown: %+v", f)
		}
	}
	return found
}

// ExpectFinding fails the test unless the finding of want.Check has the status and the detail of
// want. The detail may have more words.
func ExpectFinding(t testing.TB, found map[string]channels.Finding, want channels.Finding) {
	t.Helper()
	f, ok := found[want.Check]
	if !ok || f.Status != want.Status || !strings.Contains(f.Detail, want.Detail) {
		t.Errorf("%s: got %+v, want %s with %q; all: %+v", want.Check, f, want.Status, want.Detail, found)
	}
}
