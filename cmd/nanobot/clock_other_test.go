//go:build !linux || !amd64

package main

import (
	"errors"
	"time"
)

// shiftClock is not implemented here.
func shiftClock(time.Duration) error { return errors.ErrUnsupported }
