package discord

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"nanobot/channels"
)

// What Discord says in its own numbers.
const (
	unknownMessage = 10008
	entityTooLarge = 40005
	cannotReply    = 160002 // without the permission to read what was said
)

// sendError says what a failed call means for the gateway.
func sendError(err error) error {
	if err == nil {
		return nil
	}
	var known *channels.SendError
	if errors.As(err, &known) {
		return known
	}
	var no *refusal
	var none *silence
	switch {
	case errors.As(err, &no):
		return &channels.SendError{Err: err, Permanent: no.final(), After: no.After, Unknown: no.Status >= 500}
	case errors.As(err, &none):
		return &channels.SendError{Err: err, Unknown: none.Written}
	}
	return &channels.SendError{Err: err}
}

// final tells whether the same call would be refused again. A wrong token is not final: the
// operator mends it, and what waits is sent. Nor is what is not Discord's answer.
func (e *refusal) final() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict:
		return false
	}
	return e.Status >= 400 && e.Status < 500 && !e.Foreign
}

// about tells whether a refusal is about a field of the request, or has a certain number.
func (e *refusal) about(field string, code int) bool {
	return e.final() && (code != 0 && e.Code == code || strings.Contains(e.Details, `"`+field+`"`))
}

// tooLarge tells whether a request was refused for its size, by Discord or by what is in front of
// it.
func tooLarge(err error) bool {
	var no *refusal
	return errors.As(err, &no) && (no.Status == http.StatusRequestEntityTooLarge || no.Code == entityTooLarge)
}

// isFileError tells whether a file cannot be read.
func isFileError(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// gone tells whether a message does not exist.
func gone(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.Code == unknownMessage
}
