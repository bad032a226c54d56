package sqlite_test

import (
	"errors"
	"fmt"
	"os"
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
)

func TestAFullDiskLosesNothingAndHeals(t *testing.T) {
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
	if err := os.WriteFile(ballast, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	heals(t, dir, func() error { return os.Remove(ballast) })
}

func TestAFailingFileLosesNothingAndHeals(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(size uint64) error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max})
	}
	if err := limit(1 << 20); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := limit(before.Cur); err != nil {
			t.Error(err)
		}
	}()
	heals(t, t.TempDir(), func() error { return limit(before.Cur) })
}

// heals writes until the disk takes no more, makes room, and writes on. All that was confirmed must be there, before and after.
func heals(t *testing.T, dir string, room func() error) {
	t.Helper()
	s := open(t, dir, sqlite.Options{})
	defer func() { closed(t, s) }()
	var stored, failed atomic.Int64
	write := func(round string, each int, stop int64) {
		err := side(8, func(w int) error {
			for n := 0; failed.Load() < stop && n < each; n++ {
				in := channels.Incoming{Chat: chat, ID: fmt.Sprint(round, w, ".", n), Text: strings.Repeat("x", 8000)}
				if _, _, err := s.Receive(ctx, store.Arrival{In: in}); err != nil {
					failed.Add(1)
				} else {
					stored.Add(1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a", 200, 50)
	if failed.Load() == 0 || stored.Load() == 0 {
		t.Fatalf("%d writes failed, %d did not: the disk was not filled", failed.Load(), stored.Load())
	}
	if got := waiting(t, s); got != int(stored.Load()) {
		t.Fatalf("%d messages wait, %d were confirmed", got, stored.Load())
	}
	if err := room(); err != nil {
		t.Fatal(err)
	}
	failed.Store(0)
	write("b", 10, 1)
	if failed.Load() != 0 {
		t.Fatal("writes fail though there is room")
	}
	closed(t, s)
	s = open(t, dir, sqlite.Options{})
	if got := waiting(t, s); got != int(stored.Load()) {
		t.Fatalf("%d messages wait after a restart, %d were confirmed", got, stored.Load())
	}
	t.Logf("%d confirmed", stored.Load())
}

func TestOnAFullDiskACopyIsNotHalf(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := open(t, dir, sqlite.Options{})
	defer closed(t, s)
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(ctx, big, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil || len(left) != 0 {
		t.Errorf("%d folders are left in the spool (%v)", len(left), err)
	}
}
