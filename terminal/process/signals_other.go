//go:build !linux

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoredSignals returns the signals that this program ignores, of those that Go does not catch by
// itself when it starts.
func ignoredSignals() (all []os.Signal) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// withEmptyMask calls start. The child has the mask that this program was started with.
func withEmptyMask(start func() error) error { return start() }
