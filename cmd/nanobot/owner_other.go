//go:build !linux

package main

// as is for what systemd does.
func (servant) as(do func()) error {
	do()
	return nil
}
