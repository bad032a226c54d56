// Package musttest ends a test when a call fails that the rest of the test needs. It knows nothing
// of what is tested.
package musttest

import "testing"

// Do ends the test if a call has failed.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the result of a call, and ends the test if the call has failed. The test is in a
// second pair of parentheses, so that a call with two results can be the argument of Get:
//
//	content := musttest.Get(os.ReadFile(path))(t)
func Get[T any](result T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return result
	}
}
