package httpclient

import (
	"errors"
	"time"

	"nanobot/channels"
)

// NoResponseError is a call without a usable response.
type NoResponseError struct {
	Name    string // of the call
	Err     error
	Written bool // the whole request was sent, so it may have been carried out
}

func (e *NoResponseError) Error() string { return e.Name + ": " + e.Err.Error() }

func (e *NoResponseError) Unwrap() error { return e.Err }

// SendError says what the error means for the gateway.
func (e *NoResponseError) SendError() channels.SendError {
	return channels.SendError{Unknown: e.Written}
}

// NewSendError says what the error of a call means for the gateway. The errors of calls have a
// method SendError, which knows what a response of their network means.
func NewSendError(err error) *channels.SendError {
	var known *channels.SendError
	var call interface{ SendError() channels.SendError }
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &call):
		s := call.SendError()
		s.Err = err
		return &s
	}
	return &channels.SendError{Err: err}
}

// SendError is NewSendError, and nil for nil.
func SendError(err error) error {
	if err == nil {
		return nil
	}
	return NewSendError(err)
}

// RetryAfter returns the delay that an error demands.
func RetryAfter(err error) time.Duration { return NewSendError(err).After }
