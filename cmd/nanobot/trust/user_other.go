//go:build !linux

package trust

// Do calls a function. Bots of other users exist only with systemd on Linux.
func (User) Do(do func()) error {
	do()
	return nil
}
