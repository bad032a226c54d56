package examples_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func putFile(t *testing.T, path string, content []byte) {
	t.Helper()
	musttest.Do(t, os.WriteFile(path, content, 0o600))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content := musttest.Get(os.ReadFile(path))(t)
	return content
}

// withFile is a step's before: it creates a file in the workspace.
func withFile(name, content string) func(*testing.T, string) {
	return func(t *testing.T, workspace string) {
		t.Helper()
		putFile(t, filepath.Join(workspace, name), []byte(content))
	}
}

// allBefore is a step's before that does several things.
func allBefore(all ...func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, workspace string) {
		t.Helper()
		for _, do := range all {
			do(t, workspace)
		}
	}
}

// The following functions return a step's after.

func allOf(checks ...func(*testing.T, result)) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		for _, check := range checks {
			check(t, r)
		}
	}
}

func wantFile(name, content string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if got := readFile(t, filepath.Join(r.workspace, name)); string(got) != content {
			t.Errorf("%s holds %q, want %q", name, got, content)
		}
	}
}

func wantNoFile(name string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(r.workspace, name)); err == nil {
			t.Errorf("there is a file %s", name)
		}
	}
}

func wantLogged(text string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if !strings.Contains(r.stderr, text) {
			t.Errorf("the log does not say %q:\n%s", text, r.stderr)
		}
	}
}

// wantSent expects one file with this content.
func wantSent(content string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if got := readFile(t, r.files[0]); string(got) != content {
			t.Errorf("the file holds %q, want %q", got, content)
		}
	}
}

// wantPictures expects every file to be a complete picture of this size and of the type in its
// name.
func wantPictures(width, height int) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		for _, path := range r.files {
			decode := png.Decode
			if filepath.Ext(path) == ".jpg" {
				decode = jpeg.Decode
			}
			img, err := decode(bytes.NewReader(readFile(t, path)))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			wanttest.Equal(t, path+": size", img.Bounds().Size(), image.Pt(width, height))
		}
	}
}

func wantNoText(text string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		for _, path := range r.files {
			if bytes.Contains(readFile(t, path), []byte(text)) {
				t.Errorf("%s still holds %q", path, text)
			}
		}
	}
}

var blank = image.NewGray(image.Rect(0, 0, 8, 8))

// pngWith returns a picture with a hidden comment in a tEXt chunk.
func pngWith(t *testing.T, comment string) []byte {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, png.Encode(&b, blank))
	named := append([]byte("tEXt"), comment...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(comment)))
	chunk = append(chunk, named...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(named))
	const header = 8 + 12 + 13 // the signature and IHDR, which comes first
	return insert(b.Bytes(), header, chunk)
}

// jpegWith returns a picture with a hidden comment where Exif would be.
func jpegWith(t *testing.T, comment string) []byte {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, jpeg.Encode(&b, blank, nil))
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(2+len(comment)))
	return insert(b.Bytes(), 2, append(segment, comment...))
}

func insert(b []byte, at int, more []byte) []byte {
	return bytes.Join([][]byte{b[:at], more, b[at:]}, nil)
}
