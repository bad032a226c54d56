package sparse

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// region returns where the next data behind a place begin and end. Where the file system cannot
// tell, all are data.
func region(f *os.File, at, size int64) (start, end int64, err error) {
	start, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // there are none
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	case start >= size:
		return size, size, nil
	}
	if end, err = f.Seek(start, unix.SEEK_HOLE); err != nil || end <= start {
		return start, size, nil //nolint:nilerr // it changes just now; reading it will tell
	}
	return start, min(end, size), nil
}
