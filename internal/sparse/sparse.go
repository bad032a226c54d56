// Package sparse copies files without copying their holes: parts that were never written read as
// zeros and take no room on disk. It knows nothing of what is in the files or why they are copied.
package sparse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// block is what is read and written at once. A block of zeros is a hole in the copy.
const block = 64 << 10

// ErrChanged says that a file got shorter, or that holes of it were filled, while it was read.
var ErrChanged = errors.New("the file changed while it was read")

var zeros [block]byte

// Options say how a file is copied.
type Options struct {
	Size int64 // how much of the file is read, from its beginning
	Most int64 // how many bytes may be written; see Data
	// To is written to, unless it is nil. It must be empty.
	To *os.File
	// Digest, if not nil, is given the content: as it is where no block is all zeros. How the zeros
	// came about makes no difference.
	Digest io.Writer
	// Wrote, if not nil, is called when more bytes were written.
	Wrote func(n int64)
}

// Data returns how many bytes a copy of the file's first bytes takes, at most.
func Data(ctx context.Context, f *os.File, size int64) (int64, error) {
	var sum, at int64
	for at < size {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start, end, err := next(f, at, size)
		if err != nil {
			return 0, err
		}
		if start == size {
			break
		}
		end = min(size, (end+block-1)/block*block)
		sum += end - start
		at = end
	}
	return sum, nil
}

// next returns where data begin, at the beginning of a block, and end behind a place. Behind the
// last data both are size.
func next(f *os.File, at, size int64) (start, end int64, err error) {
	start, end, err = region(f, at, size)
	return max(at, start/block*block), min(end, size), err
}

// Copy reads a file and writes what is in it to another.
func Copy(ctx context.Context, from *os.File, o Options) error {
	c := copying{Options: o, from: from, buf: make([]byte, block)}
	for at := int64(0); at < o.Size; {
		start, end, err := next(from, at, o.Size)
		if err != nil {
			return err
		}
		if start == o.Size {
			c.skipped += o.Size - at
			break
		}
		c.skipped += start - at
		for at = start; at < end; at += block {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.one(at); err != nil {
				return err
			}
		}
		at = min(at, o.Size)
	}
	if err := c.flush(); err != nil || o.To == nil {
		return err
	}
	return o.To.Truncate(o.Size)
}

type copying struct {
	Options
	from    *os.File
	buf     []byte
	skipped int64 // zeros that the digest was not told of yet
	written int64
}

// one copies the block at a place.
func (c *copying) one(at int64) error {
	b := c.buf[:min(block, c.Size-at)]
	if _, err := io.ReadFull(io.NewSectionReader(c.from, at, int64(len(b))), b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrChanged
		}
		return err
	}
	if len(b) == block && bytes.Equal(b, zeros[:]) {
		c.skipped += block
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	if c.Digest != nil {
		if _, err := c.Digest.Write(b); err != nil {
			return err
		}
	}
	if c.To == nil {
		return nil
	}
	if c.written += int64(len(b)); c.written > c.Most {
		return ErrChanged
	}
	if _, err := c.To.WriteAt(b, at); err != nil {
		return err
	}
	if c.Wrote != nil {
		c.Wrote(int64(len(b)))
	}
	return nil
}

// flush tells the digest how many zeros there were.
func (c *copying) flush() error {
	if c.skipped == 0 || c.Digest == nil {
		c.skipped = 0
		return nil
	}
	_, err := c.Digest.Write(binary.BigEndian.AppendUint64([]byte("zeros"), uint64(c.skipped))) //nolint:gosec // it is no less than 0
	c.skipped = 0
	return err
}
