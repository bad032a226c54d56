//go:build !linux

package confine

import "errors"

// self is not known by a name that always works.
const self = ""

// systemDirs are Linux's.
var systemDirs []string

// Main is the helper of Linux.
func Main([]string) error {
	return errors.New("terminal.limits and terminal.sandbox need Linux")
}

func landlockLacks() (missing, notes []string) {
	return []string{"terminal.sandbox: Landlock is part of Linux"}, nil
}

// namespace is of Linux.
type namespace int

const noNamespace namespace = 0

func (namespace) flags() uintptr     { return 0 }
func (namespace) ambient() []uintptr { return nil }
func (namespace) mapped() *ids       { return nil }

func (c *Confinement) findNamespace() (namespace, string) {
	return noNamespace, "they are part of Linux"
}
