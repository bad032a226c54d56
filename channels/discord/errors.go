package discord

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"nanobot/channels"
)

// Error codes of Discord.
const (
	unknownMessage = 10008
	missingAccess  = 50001 // the bot cannot see the channel
	cannotSendToDM = 50007 // the person does not accept messages of the bot
	entityTooLarge = 40005
	cannotReply    = 160002 // the bot lacks the permission to read the history
)

// isPermanent reports whether the same call would be refused again. A wrong token is not permanent,
// because the operator can fix it, nor is a response that is not Discord's.
func (e *apiError) isPermanent() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict:
		return false
	}
	return e.Status >= 400 && e.Status < 500 && !e.NotDiscord
}

// SendError says what the response means for the gateway.
func (e *apiError) SendError() channels.SendError {
	return channels.SendError{
		Permanent: e.isPermanent(), After: e.RetryAfter, Unknown: e.Status >= 500,
		Closed: e.Status == http.StatusForbidden && (e.Code == missingAccess || e.Code == cannotSendToDM),
	}
}

// concerns reports whether an error has the given code or is about the given field of the request.
func (e *apiError) concerns(field string, code int) bool {
	return e.isPermanent() && (code != 0 && e.Code == code || strings.Contains(e.Details, `"`+field+`"`))
}

// isTooLarge reports whether a request was refused for its size, by Discord or a proxy.
func isTooLarge(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && (apiErr.Status == http.StatusRequestEntityTooLarge || apiErr.Code == entityTooLarge)
}

// isFileError reports whether a file cannot be read.
func isFileError(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// isUnknownMessage reports whether a message does not exist.
func isUnknownMessage(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == unknownMessage
}
