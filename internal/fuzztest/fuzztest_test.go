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
	if different := len(slices.Compact(slices.Sorted(slices.Values(got)))); different < 1200 {
		t.Errorf("of 2000 only %d differ", different)
	}
}
