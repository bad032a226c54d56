//go:build !linux

package process

// bootMoment is not known, so that no process is ever mistaken for another.
func bootMoment() string { return "" }

func sameBoot(string) bool { return false }

// KillRun kills nothing: leftover processes cannot be identified on this system.
func KillRun(string, Record) {}

// KillPersistent kills nothing: leftover processes cannot be identified on this system.
func KillPersistent(string) {}

// HasGatewayMark reports false: the environment of other processes cannot be read on this system.
func HasGatewayMark(int) bool { return false }
