package terminal

import (
	"fmt"
	"syscall"

	"nanobot/terminal/process"
)

// ShortageError says that a turn could not begin because the system lacked file descriptors,
// processes or memory. No agent has got the message, so the turn can be run again later.
type ShortageError struct {
	Errno syscall.Errno // EMFILE, ENFILE, EAGAIN, ENOMEM or ETXTBSY
	Err   error
}

func (e *ShortageError) Error() string { return e.Err.Error() }

func (e *ShortageError) Unwrap() error { return e.Err }

// IsShortage reports whether an error is a temporary shortage of file descriptors, processes or
// memory.
func IsShortage(err error) bool {
	_, ok := process.Shortage(err)
	return ok
}

// Shortage returns a *ShortageError if the helper could not execute the agent because of a
// shortage, otherwise nil.
func (e AgentExit) Shortage() error {
	if !IsShortage(e.ExecError) || e.Forced {
		return nil
	}
	return wrapShortage(fmt.Errorf("start agent: %w", e.ExecError))
}

// wrapShortage makes a *ShortageError of an error from before the start of the agent, if it is a
// shortage.
func wrapShortage(err error) error {
	if errno, ok := process.Shortage(err); ok {
		return &ShortageError{Errno: errno, Err: err}
	}
	return err
}
