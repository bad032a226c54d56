package downloads_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/channels/channelstest"
	"nanobot/channels/downloads"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
)

// A file that just fits would leave no room for messages. Neither may several files that arrive at
// the same time, whatever size their senders claim.
func TestReceivedFilesLeaveRoomOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	all := downloads.New("net", channelstest.ChatFolders(dir))
	block := strings.Repeat("x", 64<<10)
	var saved, refused int
	var mu sync.Mutex
	var work sync.WaitGroup
	for i := range 12 { // together 60 MiB, in files that are small against the headroom
		work.Go(func() {
			f, err := all.Open(fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for n := range 20 {
				_, err = f.Save(fmt.Sprint(n), func(to io.Writer) error {
					for range 4 {
						if _, err := io.WriteString(to, block); err != nil {
							return fmt.Errorf("download: %s", err.Error()) // as channels do, which hide addresses
						}
					}
					return nil
				})
				mu.Lock()
				reason, ok := downloads.Refusal(err, words.Words{})
				switch {
				case err == nil:
					saved++
				case ok && errors.Is(err, unix.ENOSPC) && strings.Contains(reason, "too little free space"):
					refused++
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	var s unix.Statfs_t
	musttest.Do(t, unix.Statfs(dir, &s))
	// A twentieth of the disk is 1.6 MiB; each of the downloads may be one block ahead.
	if free := int64(s.Bavail) * s.Bsize; free < 32<<20/20-12*64<<10 || refused == 0 {
		t.Errorf("%d bytes are free, %d files were saved and %d refused", free, saved, refused)
	}
}
