//go:build !linux

package confine

import "errors"

// self is not known by a name that always works.
const self = ""

// Main is the helper of Linux.
func Main([]string) error {
	return errors.New("terminal.limits and terminal.sandbox need Linux")
}

func everybodys() []string { return nil }

func landlockLacks() (missing, notes []string) {
	return []string{"terminal.sandbox: Landlock is part of Linux"}, nil
}
