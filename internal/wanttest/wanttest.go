// Package wanttest compares what a test got with what it wants, and reports both. It knows nothing
// of what is tested.
package wanttest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Equal reports an error if two values differ. The message begins with what, as in: the title is
// "one", want "two".
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s %s, want %s", what, format(got), format(want))
	}
}

// EqualSlices is Equal for slices. An empty slice equals nil.
func EqualSlices[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s %s, want %s", what, format(got), format(want))
	}
}

// File is Equal for the content of a file. With update it writes the file instead.
func File(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Errorf("update: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("write it with -update: %v", err)
		return
	}
	Equal(t, path+" (write it with -update) would be", got, string(want))
}

// format quotes texts, except those of several lines, which are easier to compare as they are.
func format(value any) string {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "\n") {
			return "\n" + v + "\n"
		}
		return strconv.Quote(v)
	case []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", value)
}
