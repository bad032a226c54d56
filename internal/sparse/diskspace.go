package sparse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNoSpace says that a copy would leave too little free space on its disk. It wraps ENOSPC.
var ErrNoSpace = fmt.Errorf("too little space on the disk: %w", unix.ENOSPC)

// maxHeadroom is how many bytes copies and downloads leave free on a disk, or a twentieth of the
// disk if that is less.
const maxHeadroom = 64 << 20

// DiskSpace reserves space for copies, so that copies made at the same time do not fill the disk
// together. Dir is a folder on the disk.
type DiskSpace struct {
	Dir string

	mu       sync.Mutex
	reserved int64 // bytes that running copies have not written yet
}

// Copy copies the first size bytes of a file to an empty file on this disk, and its content to a
// digest, which may be nil. It returns ErrNoSpace before it writes anything. Holes take no space.
func (r *DiskSpace) Copy(ctx context.Context, to, from *os.File, size int64, digest io.Writer) error {
	most, err := DataSize(ctx, from, size)
	if err != nil {
		return err
	}
	if err := r.reserve(most); err != nil {
		return err
	}
	left := most
	defer func() { r.release(left) }()
	return Copy(ctx, from, Options{Size: size, MaxWritten: most, To: to, Digest: digest, OnWrite: func(n int64) error {
		left -= n
		r.release(n)
		return checkFree(to, 0) // others, such as downloads, write to the disk at the same time
	}})
}

// Writer returns a writer to a file whose final size is unknown. It returns ErrNoSpace before it
// writes bytes for which the disk has too little space.
func Writer(to *os.File) io.Writer { return spaceWriter{to} }

type spaceWriter struct{ to *os.File }

func (w spaceWriter) Write(b []byte) (int, error) {
	if err := checkFree(w.to, int64(len(b))); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}

// checkFree returns ErrNoSpace if n more bytes would leave too little space on the disk of a file.
func checkFree(f *os.File, n int64) error {
	var s unix.Statfs_t
	err := unix.Fstatfs(int(f.Fd()), &s)
	return checkSpace(s, err, n)
}

// checkSpace returns ErrNoSpace if n bytes would leave too little space on a disk. err is the error
// of reading s.
func checkSpace(s unix.Statfs_t, err error, n int64) error {
	switch unit := uint64(s.Bsize); { //nolint:gosec // the types differ between systems
	case errors.Is(err, unix.ENOSYS):
		return nil
	case err != nil:
		return fmt.Errorf("read the free space of the disk: %w", err)
	case s.Blocks > 0 && uint64(n)+min(maxHeadroom, s.Blocks*unit/20) > s.Bavail*unit: //nolint:gosec // n is not negative
		return ErrNoSpace
	}
	return nil
}

// reserve reserves n bytes on the disk.
func (r *DiskSpace) reserve(n int64) error {
	var s unix.Statfs_t
	err := unix.Statfs(r.Dir, &s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := checkSpace(s, err, r.reserved+n); err != nil {
		return err
	}
	r.reserved += n
	return nil
}

// release gives back n reserved bytes that were written or are no longer needed.
func (r *DiskSpace) release(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reserved -= n
}
