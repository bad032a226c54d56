// Package exit has the exit statuses of the program and the error that carries one.
// It does not end the program: only main does.
package exit

import "fmt"

// The exit statuses that scripts may rely on.
const (
	Failed      = 1
	Usage       = 2
	Lost        = 74 // EX_IOERR: the state was removed or replaced while the daemon ran; systemd restarts on it
	NoLease     = 75 // EX_TEMPFAIL: other members take over the work of this one; systemd restarts on it
	Config      = 78 // EX_CONFIG: systemd is told not to restart on it
	Timeout     = 124
	NotRun      = 126 // the agent's command exists but cannot be run, as in shells
	Interrupted = 130
)

// Error ends the program with a status. An Error without Err is silent: the command has printed the
// reason already.
type Error struct {
	Status int
	Err    error
}

func (e Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e Error) Unwrap() error { return e.Err }

// Usagef returns the error of a command that was called with wrong arguments.
func Usagef(format string, args ...any) error {
	return Error{Usage, fmt.Errorf(format, args...)}
}
