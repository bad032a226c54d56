package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// fakeManager hears what a daemon tells the service manager.
type fakeManager struct {
	t    *testing.T
	conn *net.UnixConn
}

// startManager listens, and makes the daemons that are started in this test know it.
func startManager(t *testing.T) *fakeManager {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // shorter than a test's own: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	conn := musttest.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &fakeManager{t, conn}
}

// nextNotification returns the lines of the next message that comes within a time, or nil.
func (m *fakeManager) nextNotification(within time.Duration) []string {
	m.t.Helper()
	musttest.Do(m.t, m.conn.SetReadDeadline(time.Now().Add(within)))
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(string(b[:n]), "\n")
}

// awaitNotification waits for a message that begins with a line. Nothing but the status and
// notifications of the watchdog may come before.
func (m *fakeManager) awaitNotification(first string) []string {
	m.t.Helper()
	for {
		lines := m.nextNotification(waitTimeout)
		switch {
		case lines == nil:
			m.t.Fatalf("never heard %s", first)
		case lines[0] == first:
			return lines
		case !strings.HasPrefix(lines[0], "STATUS=") && lines[0] != "WATCHDOG=1":
			m.t.Fatalf("heard %q before %s", lines, first)
		}
	}
}

// lineWithPrefix returns the rest of the line that begins with a prefix.
func lineWithPrefix(t *testing.T, lines []string, prefix string) string {
	t.Helper()
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	if i < 0 {
		t.Fatalf("no %s in %q", prefix, lines)
	}
	return lines[i][len(prefix):]
}

func TestSystemdIsNotifiedOfEachStateInOrder(t *testing.T) {
	m := startManager(t)
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	t.Setenv("WATCHDOG_USEC", "60000000")
	t.Setenv("UNRELATED", "is handed on")
	const cfg = `{"terminal": {"command": "env | grep -e NOTIFY_ -e WATCHDOG_ -e CREDENTIALS_ -e UNRELATED"}, "gateway": {"drainTimeout": 200}` + anybody
	b := startBot(t, cfg)
	wanttest.Equal(t, "the status is", lineWithPrefix(t, m.awaitNotification("READY=1"), "STATUS="), "net ok, 0 running, 0 waiting")
	b.net.UserWrites("1", "7", "hello")
	wanttest.Equal(t, "the agent's environment has", strings.TrimSpace(b.awaitText("1", "UNRELATED").Text), "UNRELATED=is handed on")
	b.signal(syscall.SIGHUP)
	if got := lineWithPrefix(t, m.awaitNotification("RELOADING=1"), "MONOTONIC_USEC="); got == "" || strings.Trim(got, "0123456789") != "" {
		t.Errorf("the time of the reload is %q", got)
	}
	if got := lineWithPrefix(t, m.awaitNotification("READY=1"), "STATUS="); !strings.HasPrefix(got, "net ok") {
		t.Errorf("the status is %q", got)
	}
	b.configure(t, `{"terminal": {"comand": "true"}`+anybody)
	b.signal(syscall.SIGHUP)
	m.awaitNotification("RELOADING=1")
	if got := lineWithPrefix(t, m.awaitNotification("READY=1"), "STATUS="); !strings.HasPrefix(got, "the config has a mistake, the old one stays in use, net ok") {
		t.Errorf("after a bad reload the status is %q", got)
	}
	b.signal(syscall.SIGTERM)
	if got := lineWithPrefix(t, m.awaitNotification("STOPPING=1"), "EXTEND_TIMEOUT_USEC="); got != "230000000" { // the drain, what an agent that does not obey takes, and closing
		t.Errorf("it asks for %s µs to end", got)
	}
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	if late := m.nextNotification(time.Millisecond); late != nil {
		t.Errorf("after its end came %q", late)
	}
}

func TestABadConfigIsNeverReady(t *testing.T) {
	m := startManager(t)
	b := startBot(t, `{"terminal": {"comand": "true"}`+anybody)
	wanttest.Equal(t, "status", b.awaitExit(), exit.Config)
	if said := m.nextNotification(time.Millisecond); said != nil {
		t.Errorf("it said %q", said)
	}
}

func TestTheWatchdogIsNotifiedOnlyWhileTheStateIsWritable(t *testing.T) {
	const limit = 900 * time.Millisecond
	m := startManager(t)
	t.Setenv("WATCHDOG_USEC", "900000")
	b := startBot(t, `{"terminal": {"command": "echo hi"}`+anybody)
	m.awaitNotification("READY=1")
	m.awaitNotification("WATCHDOG=1")
	m.awaitNotification("WATCHDOG=1")

	unlock := b.lockState()
	b.awaitLog("the gateway does not respond, systemd will restart the daemon")
	for m.nextNotification(time.Millisecond) != nil { // of the time before
	}
	fed := 0
	for end := time.Now().Add(7 * limit); time.Now().Before(end); { // longer than the store waits before it says that it is locked
		if lines := m.nextNotification(time.Until(end)); lines != nil && lines[0] == "WATCHDOG=1" {
			fed++
		}
	}
	if fed > 1 { // the one whose write had ended when the state was locked
		t.Fatalf("the watchdog is fed %d times while the state is locked", fed)
	}
	unlock()
	m.awaitNotification("WATCHDOG=1")
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "hi")
}

func TestWithoutAWatchdogNoneIsNotified(t *testing.T) {
	m := startManager(t)
	t.Setenv("WATCHDOG_USEC", "100000")
	t.Setenv("WATCHDOG_PID", "1") // it is for another process
	startBot(t, `{"terminal": {"command": "true"}`+anybody)
	m.awaitNotification("READY=1")
	if said := m.nextNotification(time.Second); said != nil {
		t.Errorf("it said %q", said)
	}
}
