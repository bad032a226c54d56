package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/storetest"
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

func TestAFullDiskLeavesNoIncompleteCopy(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	big := filepath.Join(t.TempDir(), "big")
	musttest.Do(t, os.WriteFile(big, make([]byte, 4<<20), 0o600))
	if _, err := storetest.SaveCopy(ctx, s, big, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil || len(left) != 0 {
		t.Errorf("%d folders are left in the spool (%v)", len(left), err)
	}
}

// mountSmallDisk mounts a disk of the given size in MiB.
func mountSmallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func freeBytes(t *testing.T, dir string) uint64 {
	t.Helper()
	var s unix.Statfs_t
	musttest.Do(t, unix.Statfs(dir, &s))
	return s.Bavail * uint64(s.Bsize)
}

// A file that just fits would leave no room for messages. Neither may several files that are copied
// at the same time.
func TestCopiesLeaveRoomOnTheDisk(t *testing.T) {
	dir := mountSmallDisk(t, 64)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	file := func(name string, size uint64) string {
		path := filepath.Join(t.TempDir(), name)
		b := make([]byte, size)
		for i := range b {
			b[i] = 'x'
		}
		musttest.Do(t, os.WriteFile(path, b, 0o600))
		return path
	}
	before := freeBytes(t, dir)
	if kept, err := storetest.SaveCopy(ctx, s, file("fits", before-1<<20), 0); !errors.Is(err, store.ErrNoRoom) || freeBytes(t, dir) < before {
		t.Errorf("kept %q: %v; %d bytes are free, %d were", kept, err, freeBytes(t, dir), before)
	}
	third := file("third", before/3)
	var kept, refused atomic.Int64
	err := runParallel(8, func(int) error {
		_, err := storetest.SaveCopy(ctx, s, third, 0)
		switch {
		case err == nil:
			kept.Add(1)
		case errors.Is(err, store.ErrNoRoom):
			refused.Add(1)
		default:
			return err
		}
		return nil
	})
	if err != nil || kept.Load() == 0 || refused.Load() == 0 {
		t.Fatalf("%d kept, %d refused, %v", kept.Load(), refused.Load(), err)
	}
	if free := freeBytes(t, dir); free < 3<<20 {
		t.Errorf("%d bytes are free", free)
	}
	left, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil || len(left) != int(kept.Load()) {
		t.Errorf("%d copies are in the spool, %d were kept (%v)", len(left), kept.Load(), err)
	}
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "1", Text: "hello"}}); err != nil {
		t.Errorf("a message does not fit any more: %v", err)
	}
}

// An agent may continue to write to a file while it is copied.
func TestAFileThatGrowsWhileItIsCopiedDoesNotFillTheDisk(t *testing.T) {
	dir := mountSmallDisk(t, 32)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	path := filepath.Join(t.TempDir(), "log.txt")
	f := musttest.Get(os.Create(path))(t)
	defer f.Close()
	over := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		line := make([]byte, 256<<10)
		for i := range line {
			line[i] = 'x'
		}
		for size := 0; size < 1<<30; size += len(line) {
			select {
			case <-over:
				return
			default:
				if _, err := f.Write(line); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 30 {
		if kept, err := storetest.SaveCopy(ctx, s, path, 0); err == nil {
			if err := os.RemoveAll(filepath.Join(dir, "spool", filepath.Dir(kept))); err != nil {
				t.Error(err)
			}
		}
		if free := freeBytes(t, dir); free < 1<<20 {
			t.Errorf("%d bytes are free", free)
		}
	}
	close(over)
	agent.Wait()
	left, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil || len(left) != 0 {
		t.Errorf("%d copies are left in the spool (%v)", len(left), err)
	}
}
