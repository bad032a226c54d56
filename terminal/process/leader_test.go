package process

import (
	"fmt"
	"slices"
	"testing"
)

// TestTheLastOfEqualVariablesCounts shows that a child gets no name twice: programs differ in
// whether they use the first or the last one.
func TestTheLastOfEqualVariablesCounts(t *testing.T) {
	large := []string{"A=1"}
	for i := range 600 {
		large = append(large, fmt.Sprintf("V%d=x", i))
	}
	for name, c := range map[string]struct{ env, want []string }{
		"none twice":  {[]string{"A=1", "AB=2", "B=A=1"}, []string{"A=1", "AB=2", "B=A=1"}},
		"two":         {[]string{"A=1", "B=2", "A=3"}, []string{"B=2", "A=3"}},
		"without =":   {[]string{"A", "B=2", "A=3"}, []string{"B=2", "A=3"}},
		"large, none": {large, large},
		"large, one":  {append(slices.Clone(large), "A=2"), append(slices.Clone(large[1:]), "A=2")},
	} {
		if got := withoutDuplicates(c.env); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
