// Package diskspace copies files without filling the disk. It does not interpret their content.
package diskspace

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

// Disk reserves space for copies, so that copies made at the same time do not fill the disk
// together. Dir is a folder on the disk.
type Disk struct {
	Dir string

	mu       sync.Mutex
	reserved int64 // bytes that running copies have not written yet
}

// Copy copies the first size bytes of a file to an empty file on this disk, and to digest, which
// may be nil. It returns ErrNoSpace before it writes anything.
func (d *Disk) Copy(ctx context.Context, to, from *os.File, size int64, digest io.Writer) error {
	if err := d.reserve(size); err != nil {
		return err
	}
	w := &reservedWriter{disk: d, to: Writer(to), left: size}
	defer func() { d.release(w.left) }()
	if digest == nil {
		return Read(ctx, from, size, w)
	}
	return Read(ctx, from, size, io.MultiWriter(w, digest))
}

// blockSize is how many bytes are copied before Read looks whether its context has ended.
const blockSize = 1 << 20

// Read writes the first size bytes of a file to w. A file that is shorter, because it was truncated
// in the meantime, is io.ErrUnexpectedEOF.
func Read(ctx context.Context, from *os.File, size int64, w io.Writer) error {
	content := io.NewSectionReader(from, 0, size)
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(w, content, min(left, blockSize))
		switch left -= n; {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return nil
}

// reservedWriter releases the reserved bytes that it writes.
type reservedWriter struct {
	disk *Disk
	to   io.Writer
	left int64
}

func (w *reservedWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.left -= int64(n)
	w.disk.release(int64(n))
	return n, err
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
func (d *Disk) reserve(n int64) error {
	var s unix.Statfs_t
	err := unix.Statfs(d.Dir, &s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := checkSpace(s, err, d.reserved+n); err != nil {
		return err
	}
	d.reserved += n
	return nil
}

// release gives back n reserved bytes that were written or are no longer needed.
func (d *Disk) release(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved -= n
}
