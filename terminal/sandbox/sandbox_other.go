//go:build !linux

package sandbox

import (
	"errors"
	"syscall"
)

// ownExecutable is unused: only the Linux helper executes it.
const ownExecutable = ""

// systemDirs are only known for Linux.
var systemDirs []string

// Main reports that the helper needs Linux.
func Main([]string) error {
	return errors.New("terminal.limits and terminal.sandbox need Linux")
}

func missingLandlockFeatures() (missing, notes []string) {
	return []string{"terminal.sandbox: Landlock is part of Linux"}, nil
}

func landlockRestrictsSockets() bool { return false }

// Abstract sockets are part of Linux.
func canCloseAbstractSockets() bool { return true }

func listSockets([]string) []string { return nil }

// namespace has no values but noNamespace on this system.
type namespace int

const noNamespace namespace = 0

func (namespace) cloneFlags() uintptr            { return 0 }
func (namespace) ambientCapabilities() []uintptr { return nil }
func (namespace) idMap() *syscall.Credential     { return nil }

func (s *Sandbox) findNamespace() (namespace, string) {
	return noNamespace, "they are part of Linux"
}
