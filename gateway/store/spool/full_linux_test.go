package spool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
)

func TestAFullDiskLeavesNoIncompleteCopy(t *testing.T) {
	s := openSpool(t, mountSmallDisk(t, 2))
	big := filepath.Join(t.TempDir(), "big")
	musttest.Do(t, os.WriteFile(big, make([]byte, 4<<20), 0o600))
	if _, err := storetest.SaveCopy(t.Context(), s, big, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	left, err := os.ReadDir(s.Dir)
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
	s := openSpool(t, dir)
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
	if kept, err := storetest.SaveCopy(t.Context(), s, file("fits", before-1<<20), 0); !errors.Is(err, store.ErrNoRoom) || freeBytes(t, dir) < before {
		t.Errorf("kept %q: %v; %d bytes are free, %d were", kept, err, freeBytes(t, dir), before)
	}
	third := file("third", before/3)
	var kept, refused atomic.Int64
	var copies errgroup.Group
	for range 8 {
		copies.Go(func() error {
			_, err := storetest.SaveCopy(t.Context(), s, third, 0)
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
	}
	if err := copies.Wait(); err != nil || kept.Load() == 0 || refused.Load() == 0 {
		t.Fatalf("%d kept, %d refused, %v", kept.Load(), refused.Load(), err)
	}
	if free := freeBytes(t, dir); free < 3<<20 {
		t.Errorf("%d bytes are free", free)
	}
	left, err := os.ReadDir(s.Dir)
	if err != nil || len(left) != int(kept.Load()) {
		t.Errorf("%d copies are in the spool, %d were kept (%v)", len(left), kept.Load(), err)
	}
}

// An agent may continue to write to a file while it is copied.
func TestAFileThatGrowsWhileItIsCopiedDoesNotFillTheDisk(t *testing.T) {
	dir := mountSmallDisk(t, 32)
	s := openSpool(t, dir)
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
		if kept, err := storetest.SaveCopy(t.Context(), s, path, 0); err == nil {
			if err := os.RemoveAll(filepath.Join(s.Dir, filepath.Dir(kept))); err != nil {
				t.Error(err)
			}
		}
		if free := freeBytes(t, dir); free < 1<<20 {
			t.Errorf("%d bytes are free", free)
		}
	}
	close(over)
	agent.Wait()
	left, err := os.ReadDir(s.Dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%d copies are left in the spool (%v)", len(left), err)
	}
}
