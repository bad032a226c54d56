package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

func TestAFullDiskLosesNothingAndTheStoreRecovers(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	musttest.Do(t, os.WriteFile(ballast, make([]byte, 5<<20), 0o600))
	testRecovery(t, dir, func() error { return os.Remove(ballast) })
}

// The size limit of files is a limit of the process, so the test runs in its own process: go test
// writes files from this one.
func TestAFailingWriteLosesNothingAndTheStoreRecovers(t *testing.T) {
	const alone = "NANOBOT_TEST_SMALL_FILES"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAFailingWriteLosesNothingAndTheStoreRecovers$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "confirmed") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before unix.Rlimit
	musttest.Do(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	limit := func(size uint64) error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max})
	}
	musttest.Do(t, limit(1<<20))
	defer func() {
		if err := limit(before.Cur); err != nil {
			t.Error(err)
		}
	}()
	testRecovery(t, t.TempDir(), func() error { return limit(before.Cur) })
}

// testRecovery writes until the disk is full, makes room, and writes again. All confirmed messages
// must exist, before and after.
func testRecovery(t *testing.T, dir string, room func() error) {
	t.Helper()
	s := openStore(t, dir, sqlite.Options{})
	defer func() { closeStore(t, s) }()
	var stored, failed, full atomic.Int64
	write := func(round string, each int, stop int64) {
		musttest.Do(t, runParallel(8, func(w int) error {
			for n := 0; failed.Load() < stop && n < each; n++ {
				in := channels.Incoming{Chat: chat, ID: fmt.Sprint(round, w, ".", n), Text: strings.Repeat("x", 8000)}
				if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
					failed.Add(1)
					if errors.Is(err, store.ErrFull) {
						full.Add(1)
					}
				} else {
					stored.Add(1)
				}
			}
			return nil
		}))
	}
	write("a", 200, 50)
	if failed.Load() == 0 || stored.Load() == 0 {
		t.Fatalf("%d writes failed, %d did not: the disk was not filled", failed.Load(), stored.Load())
	}
	if full.Load() == 0 {
		t.Error("no write failed with store.ErrFull")
	}
	if got := countWaiting(t, s); got != int(stored.Load()) {
		t.Fatalf("%d messages wait, %d were confirmed", got, stored.Load())
	}
	musttest.Do(t, room())
	failed.Store(0)
	write("b", 10, 1)
	if failed.Load() != 0 {
		t.Fatal("writes fail though there is room")
	}
	closeStore(t, s)
	s = openStore(t, dir, sqlite.Options{})
	if got := countWaiting(t, s); got != int(stored.Load()) {
		t.Fatalf("%d messages wait after a restart, %d were confirmed", got, stored.Load())
	}
	t.Logf("%d confirmed", stored.Load())
}
