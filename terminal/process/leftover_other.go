//go:build !linux

package process

// moment is not known here, so that no process is ever taken for another.
func moment() string { return "" }

func sameBoot(string) bool { return false }

// KillRun kills nothing: leftover processes cannot be identified on this system.
func KillRun(string, Record) {}

// KillOwned kills nothing: leftover processes cannot be identified on this system.
func KillOwned(string) {}
