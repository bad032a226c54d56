package terminal

import (
	"fmt"
	"syscall"

	"nanobot/terminal/process"
)

// ShortageError says that a turn could not begin, because the system lacked file descriptors,
// processes or memory. No agent was handed the message, so that the turn can be run again later.
type ShortageError struct {
	Errno syscall.Errno // EMFILE, ENFILE, EAGAIN, ENOMEM or ETXTBSY
	Err   error
}

func (e *ShortageError) Error() string { return e.Err.Error() }

func (e *ShortageError) Unwrap() error { return e.Err }

// IsShortage reports whether an error is for want of file descriptors, processes or memory, which
// passes by itself.
func IsShortage(err error) bool {
	_, ok := process.Shortage(err)
	return ok
}

// Shortage returns a *ShortageError if the agent was never run for want of resources: what its
// sandbox needs, or the program itself, could not be had. Else it returns nil.
func (e AgentExit) Shortage() error {
	if !IsShortage(e.ExecError) || e.Forced {
		return nil
	}
	return unbegun(fmt.Errorf("start agent: %w", e.ExecError))
}

// unbegun marks an error from before the start of the agent as a shortage if it is one.
func unbegun(err error) error {
	if errno, ok := process.Shortage(err); ok {
		return &ShortageError{Errno: errno, Err: err}
	}
	return err
}
