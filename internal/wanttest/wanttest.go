// Package wanttest compares what a test got with what it wants, and reports both. It knows nothing
// of what is tested.
package wanttest

import (
	"fmt"
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
