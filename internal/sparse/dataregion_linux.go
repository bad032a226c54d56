package sparse

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dataRegion returns the start and end of the next data at or after an offset. On a file system
// without SEEK_DATA the rest of the file counts as data.
func dataRegion(f *os.File, at, size int64) (start, end int64, err error) {
	start, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // no data after at
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	case start >= size:
		return size, size, nil
	}
	if end, err = f.Seek(start, unix.SEEK_HOLE); err != nil || end <= start {
		return start, size, nil //nolint:nilerr // the file is changing; reading it reports the error
	}
	return start, min(end, size), nil
}
