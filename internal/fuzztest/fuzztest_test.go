package fuzztest_test

import (
	"slices"
	"testing"

	"nanobot/internal/fuzztest"
)

func TestMutationsVaryAndAreTheSameInEveryRun(t *testing.T) {
	seeds := []string{"", "a", `{"type":"message"}`, "**bold** [link](https://example.org)"}
	got := fuzztest.Mutate(seeds, 2000)
	if !slices.Equal(got, fuzztest.Mutate(seeds, 2000)) {
		t.Error("they differ from one call to the next")
	}
	if different := len(slices.Compact(slices.Sorted(slices.Values(got)))); different < len(got)*6/10 {
		t.Errorf("of %d only %d differ", len(got), different)
	}
}
