package wanttest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
)

// recorder is a test that records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestOnlyDifferencesAreReportedWithBothValues(t *testing.T) {
	r := &recorder{}
	wanttest.Equal(r, "the title is", "one", "one")
	wanttest.EqualSlices(r, "the turns are", nil, []int{})
	if len(r.errors) > 0 {
		t.Fatalf("equal values are reported: %q", r.errors)
	}
	wanttest.Equal(r, "the title is", "one", "two")
	wanttest.Equal(r, "turns:", 1, 2)
	wanttest.Equal(r, "the log is", "a\nb", "a")
	wanttest.EqualSlices(r, "the chat shows", []string{"a b"}, []string{"a", "b"})
	wanttest.EqualSlices(r, "the turns are", []int{1}, []int{1, 2})
	want := []string{
		`the title is "one", want "two"`, "turns: 1, want 2", "the log is \na\nb\n, want \"a\"",
		`the chat shows ["a b"], want ["a" "b"]`, "the turns are [1], want [1 2]",
	}
	if fmt.Sprint(r.errors) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", r.errors, want)
	}
}

func TestAFileIsWrittenOnlyByAnUpdate(t *testing.T) {
	r, path := &recorder{}, filepath.Join(t.TempDir(), "page.md")
	wanttest.File(r, path, "one", false)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "-update") {
		t.Errorf("without the file the errors are %q", r.errors)
	}
	r.errors = nil
	wanttest.File(r, path, "one", true)
	wanttest.File(r, path, "one", false)
	if len(r.errors) > 0 {
		t.Errorf("the file that was written is reported: %q", r.errors)
	}
	wanttest.File(r, path, "two", false)
	wanttest.EqualSlices(t, "the errors are", r.errors, []string{path + ` (write it with -update) would be "two", want "one"`})
}
