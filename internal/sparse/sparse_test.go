package sparse_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/internal/sparse"
)

const blockSize = 64 << 10

// piece is a part of a file that was written.
type piece struct {
	at   int64
	data []byte
}

// sparseFile creates a file of a size in which only some pieces are written.
func sparseFile(t *testing.T, size int64, pieces ...piece) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if _, err := f.WriteAt(p.data, p.at); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// copyFile copies a file and returns the copy and the digest.
func copyFile(t *testing.T, f *os.File, size int64) (*os.File, []byte) {
	t.Helper()
	to := sparseFile(t, 0)
	h := sha256.New()
	if err := (&sparse.DiskSpace{Dir: filepath.Dir(to.Name())}).Copy(t.Context(), to, f, size, h); err != nil {
		t.Fatal(err)
	}
	return to, h.Sum(nil)
}

func readContent(t *testing.T, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestACopyIsEqualAndItsDigestIsTheSameForHolesAndZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		size := r.Int64N(20 * blockSize)
		if r.IntN(2) == 0 {
			size = size / blockSize * blockSize
		}
		dense := make([]byte, size)
		var pieces []piece
		for range r.IntN(6) {
			if size == 0 {
				break
			}
			at := r.Int64N(size)
			data := make([]byte, min(size-at, r.Int64N(3*blockSize)+1))
			if r.IntN(3) > 0 {
				for i := range data {
					data[i] = byte(r.Uint32())
				}
			}
			pieces = append(pieces, piece{at, data})
			copy(dense[at:], data)
		}
		holes, full := sparseFile(t, size, pieces...), sparseFile(t, size, piece{0, dense})
		one, first := copyFile(t, holes, size)
		two, second := copyFile(t, full, size)
		if !bytes.Equal(readContent(t, one), dense) || !bytes.Equal(readContent(t, two), dense) {
			t.Fatalf("size %d, pieces %v: the copies differ", size, len(pieces))
		}
		if !bytes.Equal(first, second) {
			t.Fatalf("size %d, pieces %v: the digests differ", size, len(pieces))
		}
	}
}

func TestTheDigestOfAFileWithoutZerosIsThatOfItsContent(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 50_000)
	_, digest := copyFile(t, sparseFile(t, 0, piece{0, data}), int64(len(data)))
	if want := sha256.Sum256(data); !bytes.Equal(digest, want[:]) {
		t.Error("it is another")
	}
}

func TestHolesTakeNoDiskSpace(t *testing.T) {
	const size = 100 << 30
	f := sparseFile(t, size, piece{5 << 30, []byte("x")}, piece{size - 1, []byte("y")})
	n, err := sparse.DataSize(t.Context(), f, size)
	if err != nil || n > 1<<20 {
		t.Skipf("%d bytes of data (%v): this file system has no holes", n, err)
	}
	to, _ := copyFile(t, f, size)
	info, err := to.Stat()
	if err != nil || info.Size() != size {
		t.Fatalf("the copy has %d bytes (%v)", info.Size(), err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
		t.Errorf("the copy takes %d bytes", used)
	}
	b := make([]byte, 1)
	if _, err := to.ReadAt(b, 5<<30); err != nil || b[0] != 'x' {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestACopyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := sparseFile(t, 0, piece{0, bytes.Repeat([]byte("x"), 8*blockSize)})
	to := sparseFile(t, 0)
	wrote := 0
	err := sparse.Copy(ctx, f, sparse.Options{Size: 8 * blockSize, MaxWritten: 8 * blockSize, To: to, OnWrite: func(int64) error {
		wrote++
		cancel()
		return nil
	}})
	if !errors.Is(err, context.Canceled) || wrote != 1 {
		t.Errorf("%v after %d blocks", err, wrote)
	}
}

// An agent may change the file while it is copied: fill its holes, truncate it, or append to it.
func TestAFileThatChangesDuringTheCopyIsBounded(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"filled": func(f *os.File) error {
			_, err := f.WriteAt(bytes.Repeat([]byte("y"), 7*blockSize), blockSize)
			return err
		},
		"cut short": func(f *os.File) error { return f.Truncate(blockSize) },
	} {
		// Data in the first block and the last: the holes are in between.
		f := sparseFile(t, 8*blockSize, piece{0, []byte("x")}, piece{7 * blockSize, []byte("x")})
		most, err := sparse.DataSize(t.Context(), f, 8*blockSize)
		if err != nil || most > 4*blockSize {
			t.Skipf("%d bytes of data (%v): this file system has no holes", most, err)
		}
		to := sparseFile(t, 0)
		var wrote int64
		err = sparse.Copy(t.Context(), f, sparse.Options{Size: 8 * blockSize, MaxWritten: most, To: to, OnWrite: func(n int64) error {
			if wrote += n; wrote == n {
				if err := change(f); err != nil {
					t.Error(err)
				}
			}
			return nil
		}})
		if name == "filled" && !errors.Is(err, sparse.ErrChanged) || wrote > most {
			t.Errorf("%s: %v, %d bytes written of %d at most", name, err, wrote, most)
		}
	}
	f := sparseFile(t, 0, piece{0, bytes.Repeat([]byte("x"), 3*blockSize)})
	to := sparseFile(t, 0)
	err := sparse.Copy(t.Context(), f, sparse.Options{Size: 2 * blockSize, MaxWritten: 2 * blockSize, To: to, OnWrite: func(int64) error {
		if _, err := f.WriteAt(bytes.Repeat([]byte("z"), 4*blockSize), 3*blockSize); err != nil {
			t.Error(err)
		}
		return nil
	}})
	if info, serr := to.Stat(); err != nil || serr != nil || info.Size() != 2*blockSize {
		t.Errorf("%v, %v: %v", err, serr, info.Size())
	}
}
