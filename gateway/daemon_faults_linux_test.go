package gateway_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// daemonFixture is a daemon in its own process, on one network.
type daemonFixture struct {
	*killTest
	net *gatewaytest.Network
	cmd *killtest.Child // nil: none runs
	out *bytes.Buffer
}

func newDaemonFixture(t *testing.T, command string) *daemonFixture {
	t.Helper()
	dir := t.TempDir()
	prepareState(t, filepath.Join(dir, ".nanobot"))
	n := gatewaytest.NewNetwork()
	n.Idempotent = true
	t.Cleanup(n.Close)
	c := &killTest{t: t, mark: "CRASH_MARK=" + filepath.Base(dir), spec: daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: command, OnCrash: "retry",
		Networks: []networkSpec{{Name: "net", URL: n.URL, Idempotent: true}},
	}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon logged:\n%s", tail(filepath.Join(dir, "log"), 20))
		}
	})
	return &daemonFixture{killTest: c, net: n}
}

func (h *daemonFixture) startDaemon() {
	h.t.Helper()
	h.cmd, h.out = h.killTest.startDaemon()
	h.t.Cleanup(h.killDaemon)
}

func (h *daemonFixture) killDaemon() {
	if h.cmd != nil {
		h.cmd.Kill()
		h.cmd = nil
	}
}

// stopDaemon ends the daemon with SIGTERM and expects a clean exit.
func (h *daemonFixture) stopDaemon() {
	h.t.Helper()
	if err := h.cmd.End(); err != nil {
		h.t.Errorf("the daemon: %v, %s", err, h.out)
	}
	h.cmd = nil
}

func (h *daemonFixture) expect(chat string, want ...string) {
	h.t.Helper()
	calls, ok := h.net.Await(chat, 2*testTimeout, func(c []gatewaytest.Call) bool { return len(answers(c)) >= len(want) })
	if got := answers(calls); !ok || strings.Join(got, "|") != strings.Join(want, "|") {
		h.t.Fatalf("chat %s was shown %q, want %q", chat, got, want)
	}
}

// fillDisk fills a file system, and returns a function that frees it.
func fillDisk(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filled it until %v", err)
	}
	return func() {
		// A process that a test beside this one has just forked holds the file open until its exec,
		// and the room with it when the file is only removed.
		musttest.Do(t, os.Truncate(path, 0))
		musttest.Do(t, os.Remove(path))
	}
}

func TestAFullDiskIsWaitedOut(t *testing.T) {
	t.Parallel()
	h := newDaemonFixture(t, `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; case $text in work) touch up; `+waitForFileScript("go")+`;; esac
		echo "{\"type\":\"message\",\"text\":\"you said $text\"}"`)
	h.spec.State = filepath.Join(h.spec.Dir, "state")
	musttest.Do(t, os.Mkdir(h.spec.State, 0o700))
	if err := unix.Mount("tmpfs", h.spec.State, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(h.spec.State, unix.MNT_DETACH) })
	h.startDaemon()
	h.net.UserWrites("before", "u", "hello")
	h.expect("before", "you said hello")
	h.net.UserWrites("during", "u", "work")
	h.awaitTrue("the agent to begin", func() bool { _, err := os.Stat(filepath.Join(h.spec.Dir, "up")); return err == nil })

	free := fillDisk(t, h.spec.State)
	safe, polls := h.net.Acknowledged()
	h.net.UserWrites("full", "u", "one")
	h.net.UserWrites("full", "u", "two")
	h.awaitTrue("the daemon to try again", func() bool { _, now := h.net.Acknowledged(); return now > polls+2 })
	if err := os.WriteFile(filepath.Join(h.spec.Dir, "go"), nil, 0o600); err != nil { // the agent speaks while there is no room
		t.Fatal(err)
	}
	h.awaitTrue("the daemon to miss room for an answer", func() bool {
		log, _ := os.ReadFile(filepath.Join(h.spec.Dir, "log"))
		return bytes.Contains(log, []byte("not stored"))
	})
	if now, _ := h.net.Acknowledged(); now > safe+1 { // the last of before may be told only now
		t.Errorf("%d messages were acknowledged with no room for them", now-safe)
	}
	if got := h.net.Sent("full"); len(got) > 0 {
		t.Errorf("answered %q", texts(got))
	}
	free()
	h.expect("during", "you said work")
	h.expect("full", "you said one", "you said two")
	h.stopDaemon()
}

// awaitTrue waits until a condition is true.
func (h *daemonFixture) awaitTrue(what string, done func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(testTimeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestAnInjectedMessageSurvivesAKill(t *testing.T) {
	t.Parallel()
	h := newDaemonFixture(t, `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; case $text in one) read -r more; touch up; `+waitForFileScript("go")+`;; esac
		echo "{\"type\":\"message\",\"text\":\"you said $text\"}"`)
	h.spec.Inject, h.spec.OnCrash = true, "report"
	h.startDaemon()
	h.net.UserWrites("1", "u", "one")
	h.net.UserWrites("1", "u", "two")
	h.awaitTrue("the agent to read both", func() bool { _, err := os.Stat(filepath.Join(h.spec.Dir, "up")); return err == nil })
	h.killDaemon()
	h.startDaemon()
	calls, ok := h.net.Await("1", 2*testTimeout, func(c []gatewaytest.Call) bool { return len(c) >= 2 })
	if got := texts(calls); !ok || !strings.Contains(got[0], "I was restarted") || got[1] != "you said two" {
		t.Errorf("was shown %q", got)
	}
	h.stopDaemon()
}

// A disk that lies has lost what it confirmed last, here that an answer is on its way: then at
// worst it comes twice, and all others come.
func TestALostLastWriteBlocksNothing(t *testing.T) {
	t.Parallel()
	onlySQLite(t, "it damages the file of SQLite")
	h := newDaemonFixture(t, echo+"; "+waitForFileScript("go"))
	h.net.Fault = func(gatewaytest.Call) gatewaytest.Fault { return gatewaytest.Fault{DelayAfter: testTimeout} } // so that it is not confirmed
	h.startDaemon()
	h.net.UserWrites("1", "u", "one")
	h.expect("1", "you said one")
	h.killDaemon()
	h.net.Fault = nil
	h.truncateLog(func(b []byte) []byte { return b[:len(b)-1000] })
	musttest.Do(t, os.WriteFile(filepath.Join(h.spec.Dir, "go"), nil, 0o600))
	h.startDaemon()
	h.net.UserWrites("2", "u", "two")
	h.expect("2", "you said two")
	h.expect("1", "you said one", "you said one")
	h.stopDaemon()
}

// truncateLog changes the write-ahead log of a dead daemon.
func (h *daemonFixture) truncateLog(change func(b []byte) []byte) {
	h.t.Helper()
	path := filepath.Join(h.spec.State, "nanobot.db-wal")
	log := musttest.Get(os.ReadFile(path))(h.t)
	musttest.Do(h.t, os.WriteFile(path, change(log), 0o600))
}

func TestATruncatedLogChangesNothing(t *testing.T) {
	t.Parallel()
	onlySQLite(t, "it damages the file of SQLite")
	for name, tear := range map[string]func(b []byte) []byte{
		"garbage behind it":  func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xa5}, 5000)...) },
		"half a frame again": func(b []byte) []byte { return append(b, b[32:32+2000]...) },
		"zeroes behind it":   func(b []byte) []byte { return append(b, make([]byte, 9000)...) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newDaemonFixture(t, echo)
			h.startDaemon()
			h.net.UserWrites("1", "u", "one")
			h.expect("1", "you said one")
			h.killDaemon()
			h.truncateLog(tear)
			h.startDaemon()
			h.net.UserWrites("2", "u", "two")
			h.expect("2", "you said two")
			h.stopDaemon()
			h.expect("1", "you said one")
		})
	}
}

func TestADamagedDatabaseIsRefusedAndNotMadeWorse(t *testing.T) {
	t.Parallel()
	onlySQLite(t, "it damages the file of SQLite")
	h := newDaemonFixture(t, echo)
	h.startDaemon()
	h.net.UserWrites("1", "u", "one")
	h.expect("1", "you said one")
	h.stopDaemon()
	path := filepath.Join(h.spec.State, "nanobot.db")
	whole := musttest.Get(os.ReadFile(path))(t)
	damaged := bytes.Clone(whole)
	copy(damaged[len(damaged)-4096:], bytes.Repeat([]byte{0xa5}, 4096))
	musttest.Do(t, os.WriteFile(path, damaged, 0o600))
	h.startDaemon()
	if err := h.cmd.Wait(); err == nil || !strings.Contains(h.out.String(), "nanobot.db: the database is damaged: ") {
		t.Errorf("got %v, %s", err, h.out)
	}
	h.cmd = nil
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was changed: %v", err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil { // the backup
		t.Fatal(err)
	}
	h.startDaemon()
	h.net.UserWrites("1", "u", "two")
	h.expect("1", "you said one", "you said two")
	h.stopDaemon()
}

func TestTheHealthCheckFailsWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	onlySQLite(t, "the database of a shared state is elsewhere")
	fx := newFixture(t, echo)
	state := filepath.Join(fx.dir, ".nanobot")
	musttest.Do(t, os.MkdirAll(state, 0o700))
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "you said hello")
	if h := fx.gw.Health(t.Context()); !h.OK {
		t.Fatalf("at first: %+v", h)
	}
	free := fillDisk(t, state)
	h := fx.gw.Health(t.Context())
	for n := 0; h.OK && n < 2000; n++ { // what is in the log already is written over before more room is asked for
		h = fx.gw.Health(t.Context())
	}
	if h.OK || !strings.Contains(h.Store, "full") {
		t.Errorf("with a full disk: %+v", h)
	}
	free()
	if h := fx.gw.Health(t.Context()); !h.OK {
		t.Errorf("with room again: %+v", h)
	}
}

func TestATransientIsRemovedAfterAKill(t *testing.T) {
	t.Parallel()
	h := newDaemonFixture(t, `echo '{"type":"progress","text":"step"}'; `+waitForFileScript("go"))
	h.spec.OnCrash = "report"
	h.startDaemon()
	h.net.UserWrites("1", "u", "one")
	shown := func(kind string) func(c []gatewaytest.Call) bool {
		return func(c []gatewaytest.Call) bool { return len(c) == 1 && c[0].Kind == kind }
	}
	if calls, ok := h.net.Await("1", 2*testTimeout, shown("progress")); !ok {
		t.Fatalf("was shown %+v", calls)
	}
	h.awaitTransients(1)
	h.killDaemon()
	h.startDaemon()
	if calls, ok := h.net.Await("1", 2*testTimeout, shown("error")); !ok { // only the report is left
		t.Fatalf("was shown %+v", calls)
	}
	h.stopDaemon()
}
