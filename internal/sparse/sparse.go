// Package sparse copies files without copying their holes: ranges that were never written, read as
// zeros and take no disk space. It does not interpret the content of files.
package sparse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// blockSize is how many bytes are read and written at a time. A block of zeros becomes a hole.
const blockSize = 64 << 10

// ErrChanged says that a file was truncated, or that its holes were filled, while it was read.
var ErrChanged = errors.New("the file changed while it was read")

var zeros [blockSize]byte

// Options say how a file is copied.
type Options struct {
	Size       int64 // how many bytes are read, from the start of the file
	MaxWritten int64 // how many bytes may be written; see DataSize
	// To receives the copy. It must be empty; nil writes only the digest.
	To *os.File
	// Digest, if not nil, receives the content. A run of zero blocks is written in a short form,
	// the same for holes and for zeros that were written.
	Digest io.Writer
	// OnWrite, if not nil, is called after n more bytes were written. Its error ends the copy.
	OnWrite func(n int64) error
}

// DataSize returns how many bytes a copy of the first size bytes of a file takes at most.
func DataSize(ctx context.Context, f *os.File, size int64) (int64, error) {
	var sum, at int64
	for at < size {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start, end, err := nextData(f, at, size)
		if err != nil {
			return 0, err
		}
		if start == size {
			break
		}
		end = min(size, (end+blockSize-1)/blockSize*blockSize)
		sum += end - start
		at = end
	}
	return sum, nil
}

// nextData returns the start, rounded down to a block, and the end of the next data at or after an
// offset. After the last data both are size.
func nextData(f *os.File, at, size int64) (start, end int64, err error) {
	start, end, err = dataRegion(f, at, size)
	return max(at, start/blockSize*blockSize), min(end, size), err
}

// Copy copies a file as the options say.
func Copy(ctx context.Context, from *os.File, o Options) error {
	c := copier{Options: o, from: from, buf: make([]byte, blockSize)}
	for at := int64(0); at < o.Size; {
		start, end, err := nextData(from, at, o.Size)
		if err != nil {
			return err
		}
		if start == o.Size {
			c.skipped += o.Size - at
			break
		}
		c.skipped += start - at
		for at = start; at < end; at += blockSize {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.copyBlock(at); err != nil {
				return err
			}
		}
		at = min(at, o.Size)
	}
	if err := c.flushZeros(); err != nil || o.To == nil {
		return err
	}
	return o.To.Truncate(o.Size)
}

type copier struct {
	Options
	from    *os.File
	buf     []byte
	skipped int64 // zero bytes that are not in the digest yet
	written int64
}

// copyBlock copies the block at an offset.
func (c *copier) copyBlock(at int64) error {
	b := c.buf[:min(blockSize, c.Size-at)]
	if _, err := io.ReadFull(io.NewSectionReader(c.from, at, int64(len(b))), b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrChanged
		}
		return err
	}
	if len(b) == blockSize && bytes.Equal(b, zeros[:]) {
		c.skipped += blockSize
		return nil
	}
	if err := c.flushZeros(); err != nil {
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
	if c.written += int64(len(b)); c.written > c.MaxWritten {
		return ErrChanged
	}
	if _, err := c.To.WriteAt(b, at); err != nil {
		return err
	}
	if c.OnWrite != nil {
		return c.OnWrite(int64(len(b)))
	}
	return nil
}

// flushZeros writes the number of skipped zeros to the digest.
func (c *copier) flushZeros() error {
	if c.skipped == 0 || c.Digest == nil {
		c.skipped = 0
		return nil
	}
	_, err := c.Digest.Write(binary.BigEndian.AppendUint64([]byte("zeros"), uint64(c.skipped))) //nolint:gosec // it is never negative
	c.skipped = 0
	return err
}
