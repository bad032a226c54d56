package botapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"nanobot/channels"
)

// IsPermanent reports whether the same call would be refused again. A wrong token is not permanent,
// because the operator can fix it.
func (e *Error) IsPermanent() bool {
	if e.NotTelegram {
		return e.Code == http.StatusRequestEntityTooLarge
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests,
		http.StatusRequestTimeout:
		return false
	}
	return e.Code >= 400 && e.Code < 500
}

// SendError says what the response means for the gateway. The Bot API returns 500, and a proxy 502,
// 503 or 504, also after a message was sent. 403 is about the whole chat: the bot was blocked or
// removed.
func (e *Error) SendError() channels.SendError {
	return channels.SendError{
		Permanent: e.IsPermanent(), Unknown: e.Code >= http.StatusInternalServerError,
		After: RetryDelay(e), Closed: e.Code == http.StatusForbidden && !e.NotTelegram,
	}
}

// RetryDelay returns how long Telegram asks to wait, or 0.
func RetryDelay(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) || e.Code != http.StatusTooManyRequests {
		return 0
	}
	return max(e.RetryAfter, time.Second)
}

// IsBadRequest reports whether Telegram has refused a call with one of the descriptions.
func IsBadRequest(err error, descriptions ...string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == http.StatusBadRequest && e.Mentions(descriptions...)
}

// IsNotModified reports whether an edit was refused only because it changes nothing.
func IsNotModified(err error) bool { return IsBadRequest(err, "message is not modified") }

// IsConflict reports whether another program uses the token.
func IsConflict(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == http.StatusConflict
}

// IsWebhookConflict reports whether a poll was refused because a webhook is set.
func IsWebhookConflict(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == http.StatusConflict && e.Mentions("webhook")
}

// ExplainConflict adds the likely cause to a conflict error.
func ExplainConflict(err error) error {
	switch {
	case IsWebhookConflict(err):
		return fmt.Errorf("another program has set a webhook for this bot; only one program can use a token: %w", err)
	case IsConflict(err):
		return fmt.Errorf("another program polls with this bot's token; only one program can use a token: %w", err)
	}
	return err
}

// IsMethodUnknown reports whether the server does not know the method of a call. A server says the
// same about a malformed token, with which no other call would work.
func IsMethodUnknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == http.StatusNotFound && !e.NotTelegram
}

// MigratedTo returns the new ID of a group that became a supergroup, or 0.
func MigratedTo(err error) int64 {
	var e *Error
	if errors.As(err, &e) {
		return e.MigrateTo
	}
	return 0
}

// TokenError returns an error for the operator if Telegram rejects the token, or nil.
func TokenError(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Code == http.StatusUnauthorized || e.Code == http.StatusNotFound) {
		return fmt.Errorf("the server does not know this bot: check channels.telegram.token and apiBase: %w", e)
	}
	return nil
}
