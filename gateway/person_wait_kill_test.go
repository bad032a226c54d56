package gateway_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// selfKillingProtocol has turns that read messages until one is "end". It kills its own daemon
// with SIGKILL once at each of several points.
type selfKillingProtocol struct {
	dir string

	mu   sync.Mutex
	more chan struct{} // something was read; nil: no turn waits
}

// killAt kills this process, the first time that it is called with a name.
func (s *selfKillingProtocol) killAt(name string) {
	f, err := os.OpenFile(filepath.Join(s.dir, "killed "+name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_ = f.Close()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may take a moment
}

// readFiles returns the IDs and the texts of the messages that were read.
func (s *selfKillingProtocol) readFiles() (ids, texts []string) {
	b, _ := os.ReadFile(filepath.Join(s.dir, "read"))
	for line := range strings.Lines(string(b)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids, texts = append(ids, id), append(texts, text)
	}
	return ids, texts
}

func (s *selfKillingProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if err := t.Emit(terminal.Frame{Kind: terminal.Message, Text: t.Envelope.Text + "?"}); err != nil {
		return terminal.Outcome{}, err
	}
	s.killAt("before the wait")
	more := make(chan struct{}, 1)
	s.mu.Lock()
	s.more = more
	s.mu.Unlock()
	resume := t.AwaitPerson(ctx)
	texts := func() []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, texts := s.readFiles()
		return texts
	}
	for !slices.Contains(texts(), "end") && ctx.Err() == nil {
		select {
		case <-more:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.more = nil
	s.mu.Unlock()
	if err := resume(ctx); err != nil {
		return terminal.Outcome{Status: terminal.Stopped}, nil //nolint:nilerr // told to end
	}
	s.killAt("after the wait")
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "read " + strings.Join(texts(), " ")})
}

func (s *selfKillingProtocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ids, _ := s.readFiles(); slices.Contains(ids, m.ID) {
		return true, nil
	}
	if s.more == nil {
		return false, nil
	}
	s.killAt("before reading " + m.Text)
	f, err := os.OpenFile(filepath.Join(s.dir, "read"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := f.WriteString(m.ID + " " + m.Text + "\n"); err != nil {
		return false, err
	}
	s.killAt("after reading " + m.Text)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return true, nil
}

func TestMessagesToAWaitingTurnSurviveSIGKILLAndAreReadOnceInOrder(t *testing.T) {
	t.Parallel()
	net := gatewaytest.NewNetwork()
	t.Cleanup(net.Close)
	net.Idempotent = true
	dir := t.TempDir()
	chooseState(t, filepath.Join(dir, ".nanobot"))
	spec := daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: "true", SelfKilling: true, OnCrash: "retry", Slots: 1,
		Networks: []networkSpec{{Name: "net", URL: net.URL, Idempotent: true}},
	}
	for _, text := range []string{"begin", "one", "two", "end"} {
		net.UserWrites("1", "u", text)
	}
	const points = 8
	for spec.Number = 1; spec.Number <= points; spec.Number++ {
		if err := startDaemon(t, spec).Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("daemon %d ended with %v", spec.Number, err)
		}
	}
	last := startDaemon(t, spec)
	_, ok := net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
		return slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { return strings.HasPrefix(c.Text, "read") })
	})
	net.UserWrites("2", "u", "/whoami") // when this is answered, all before it was received
	net.Await("2", testTimeout, func(calls []gatewaytest.Call) bool { return len(calls) > 0 })
	if err := last.End(); err != nil {
		t.Error(err)
	}
	said := slices.DeleteFunc(texts(net.Sent("1")), func(text string) bool { return strings.HasPrefix(text, "Queued") })
	if got := strings.Join(said, "|"); !ok || got != "begin?|read one two end" {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Errorf("the chat was shown %s; the daemons logged:\n%s", got, log)
	}
	if points != len(countFiles(t, filepath.Join(dir, "killed *"))) {
		t.Errorf("killed at %q", countFiles(t, filepath.Join(dir, "killed *")))
	}
}

// startDaemon starts a daemon in its own process.
func startDaemon(t *testing.T, spec daemonSpec) *killtest.Child {
	t.Helper()
	b := musttest.Get(json.Marshal(spec))(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+string(b))
	return killtest.Start(t, cmd)
}

func countFiles(t *testing.T, pattern string) []string {
	t.Helper()
	found := musttest.Get(filepath.Glob(pattern))(t)
	return found
}
