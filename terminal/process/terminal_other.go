//go:build !linux

package process

// setUTF8 does nothing: not every system has such a mode.
func setUTF8(int) error { return nil }

// flushInput does nothing: not every system has a way to.
func flushInput(int) error { return nil }

// readsHidden does not know.
func readsHidden(int) (bool, error) { return false, nil }
