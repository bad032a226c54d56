//go:build !linux

package process

// setUTF8 does nothing: not every system has such a mode.
func setUTF8(int) error { return nil }

// flushInput does nothing: not every system supports it.
func flushInput(int) error { return nil }

// echoIsOff always reports false: terminal modes are read on Linux only.
func echoIsOff(int) (bool, error) { return false, nil }
