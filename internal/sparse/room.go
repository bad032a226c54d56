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

// ErrNoRoom says that a file would leave too little room on its disk. It is also an ENOSPC.
var ErrNoRoom = fmt.Errorf("too little room on the disk: %w", unix.ENOSPC)

// mostReserve is what files must leave of a disk for everything else, or a twentieth of it if that
// is less.
const mostReserve = 64 << 20

// Room keeps the copies that are made at the same time from filling the disk together.
type Room struct {
	Dir string

	mu       sync.Mutex
	promised int64 // and not yet written
}

// Copy copies the first bytes of a file to an empty one on this disk, and its content to a digest,
// which may be nil. It says ErrNoRoom before it writes anything. Holes cost nothing.
func (r *Room) Copy(ctx context.Context, to, from *os.File, size int64, digest io.Writer) error {
	most, err := Data(ctx, from, size)
	if err != nil {
		return err
	}
	if err := r.promise(most); err != nil {
		return err
	}
	left := most
	defer func() { r.fulfil(left) }()
	return Copy(ctx, from, Options{Size: size, Most: most, To: to, Digest: digest, Wrote: func(n int64) {
		left -= n
		r.fulfil(n)
	}})
}

// promise sets bytes aside on the disk.
func (r *Room) promise(n int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(r.Dir, &s); err != nil {
		if errors.Is(err, unix.ENOSYS) {
			return nil
		}
		return fmt.Errorf("look how much room there is: %w", err)
	}
	unit := uint64(s.Bsize) //nolint:gosec // the types differ between systems
	free, reserve := s.Bavail*unit, min(mostReserve, s.Blocks*unit/20)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Blocks > 0 && uint64(r.promised)+uint64(n)+reserve > free { //nolint:gosec // neither is less than 0
		return ErrNoRoom
	}
	r.promised += n
	return nil
}

// fulfil counts what was written of that, or is not needed any more.
func (r *Room) fulfil(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promised -= n
}
