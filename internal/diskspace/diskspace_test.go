package diskspace_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/diskspace"
	"nanobot/internal/musttest"
)

const mib = 1 << 20

// newFile creates a file with a content.
func newFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	f := musttest.Get(os.Create(filepath.Join(t.TempDir(), "file")))(t)
	t.Cleanup(func() { _ = f.Close() })
	musttest.Get(f.Write(content))(t)
	return f
}

// writerFunc is a digest that a test observes.
type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestACopyAndItsDigestHaveTheFirstBytesOfTheFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	for _, size := range []int{0, 1, mib, 2*mib + 7, len(content)} {
		from, to := newFile(t, content), newFile(t, nil)
		h := sha256.New()
		musttest.Do(t, (&diskspace.Disk{Dir: filepath.Dir(to.Name())}).Copy(t.Context(), to, from, int64(size), h))
		got, err := os.ReadFile(to.Name())
		if want := sha256.Sum256(content[:size]); err != nil || !bytes.Equal(got, content[:size]) || !bytes.Equal(h.Sum(nil), want[:]) {
			t.Errorf("the copy of %d bytes has %d bytes (%v), or another digest", size, len(got), err)
		}
	}
}

func TestACopyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	from, to := newFile(t, bytes.Repeat([]byte("x"), 8*mib)), newFile(t, nil)
	err := (&diskspace.Disk{Dir: filepath.Dir(to.Name())}).Copy(ctx, to, from, 8*mib, writerFunc(func(b []byte) (int, error) {
		cancel()
		return len(b), nil
	}))
	if info, serr := to.Stat(); !errors.Is(err, context.Canceled) || serr != nil || info.Size() > mib {
		t.Errorf("%v after %d bytes (%v)", err, info.Size(), serr)
	}
}

// An agent may change the file while it is copied.
func TestAFileThatChangesDuringTheCopyIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *os.File) error
		want   error
	}{
		"cut short": {func(f *os.File) error { return f.Truncate(mib) }, io.ErrUnexpectedEOF},
		"appended to": {func(f *os.File) error {
			_, err := f.WriteAt(bytes.Repeat([]byte("z"), 4*mib), 3*mib)
			return err
		}, nil},
	} {
		from, to := newFile(t, bytes.Repeat([]byte("x"), 3*mib)), newFile(t, nil)
		changed := false
		err := (&diskspace.Disk{Dir: filepath.Dir(to.Name())}).Copy(t.Context(), to, from, 3*mib, writerFunc(func(b []byte) (int, error) {
			if changed {
				return len(b), nil
			}
			changed = true
			return len(b), c.change(from)
		}))
		if info, serr := to.Stat(); !errors.Is(err, c.want) || serr != nil || info.Size() > 3*mib {
			t.Errorf("%s: %v, %d bytes copied (%v)", name, err, info.Size(), serr)
		}
	}
}
