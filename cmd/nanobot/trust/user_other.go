//go:build !linux

package trust

// Do calls a function. Only Linux has bots of other users, which systemd runs.
func (User) Do(do func()) error {
	do()
	return nil
}
