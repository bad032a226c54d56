package lineartest_test

import (
	"bytes"
	"testing"

	"nanobot/internal/lineartest"
)

// fakeTest records whether it has failed.
type fakeTest struct {
	testing.TB
	failed bool
}

func (v *fakeTest) Helper() {}

func (v *fakeTest) Errorf(string, ...any) { v.failed = true }

var sink int

func TestQuadraticWorkIsFoundAndLinearIsNot(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short")
	}
	text := bytes.Repeat([]byte("x"), 1<<21)
	for name, c := range map[string]struct {
		n      int
		work   func(int)
		failed bool
	}{
		"nothing": {1 << 10, func(int) {}, false},
		"linear": {1 << 21, func(n int) {
			for range 4 {
				for _, b := range text[:n] {
					sink += int(b)
				}
			}
		}, false},
		"quadratic": {1 << 13, func(n int) {
			for i := range n {
				for _, b := range text[:i] {
					sink += int(b)
				}
			}
		}, true},
	} {
		v := &fakeTest{TB: t}
		if lineartest.Check(v, name, c.n, c.work); v.failed != c.failed {
			t.Errorf("%s: failed is %v", name, v.failed)
		}
	}
}
