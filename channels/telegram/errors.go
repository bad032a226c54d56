package telegram

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/internal/lazyregexp"
)

// sendError converts the error of a call to a channels.SendError.
func sendError(err error) error {
	if err == nil {
		return nil
	}
	var known *channels.SendError
	if errors.As(err, &known) {
		return known
	}
	var apiErr *apiError
	var none *noResponseError
	switch {
	case errors.Is(err, errMigrated):
		return &channels.SendError{Err: err, Permanent: true}
	case errors.As(err, &apiErr):
		return &channels.SendError{Err: err, Permanent: apiErr.isPermanent(), Unknown: apiErr.isOutcomeUnknown(), After: apiErr.retryDelay()}
	case errors.As(err, &none):
		return &channels.SendError{Err: err, Unknown: none.Written}
	}
	return &channels.SendError{Err: err}
}

// isPermanent reports whether the same call would be refused again. A wrong token is not permanent,
// because the operator can fix it.
func (e *apiError) isPermanent() bool {
	if e.NotTelegram {
		return e.Code == http.StatusRequestEntityTooLarge
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return e.Code >= 400 && e.Code < 500
}

// isOutcomeUnknown reports whether the call may have been executed in spite of the error. The Bot
// API returns 500, and a proxy 502, 503 or 504, also after a message was sent.
func (e *apiError) isOutcomeUnknown() bool { return e.Code >= http.StatusInternalServerError }

// retryDelay is how long Telegram asks to wait.
func (e *apiError) retryDelay() time.Duration {
	if e.Code != http.StatusTooManyRequests {
		return 0
	}
	return max(e.RetryAfter, time.Second)
}

// isFormatRefused reports whether Telegram has refused the entities.
func isFormatRefused(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest && apiErr.mentions("entit", "can't parse")
}

// isMediaTypeRefused reports whether a file that was refused as a photo, video or voice message may
// be sent as a document.
func isMediaTypeRefused(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest && apiErr.mentions(
		"PHOTO_", "IMAGE_PROCESS_FAILED", "VOICE_MESSAGES_FORBIDDEN", "WEBPAGE_MEDIA_EMPTY", "MEDIA_INVALID",
		"VIDEO_CONTENT_TYPE_INVALID", "too big for a photo", "wrong type of the web page content", "not enough rights to send photos",
		"wrong file type", "type of file mismatch", "photo has unacceptable",
	)
}

// isFileRefused reports whether Telegram may have refused a file, or the file cannot be read.
func isFileRefused(err error) bool {
	var apiErr *apiError
	if errors.As(err, &apiErr) {
		return apiErr.Code == http.StatusBadRequest && !apiErr.mentions(chatErrors...) || apiErr.Code == http.StatusRequestEntityTooLarge
	}
	return isUnreadable(err)
}

// chatErrors are descriptions of errors that every message to the chat would cause.
var chatErrors = []string{
	"chat not found", "thread not found", "TOPIC_CLOSED", "TOPIC_DELETED", "CHAT_WRITE_FORBIDDEN", "PEER_ID_INVALID",
}

var albumItemPattern = lazyregexp.New(`message #([0-9]+)`)

// refusedItem returns which item of an album was refused, counted from 1, or 0 if Telegram does not
// say.
func refusedItem(err error) int {
	var apiErr *apiError
	if !errors.As(err, &apiErr) {
		return 0
	}
	if m := albumItemPattern().FindStringSubmatch(apiErr.Description); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// isRateLimited reports whether Telegram asks to wait.
func isRateLimited(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.retryDelay() > 0
}

// migratedTo returns the new ID of a group that became a supergroup, or 0.
func migratedTo(err error) int64 {
	var apiErr *apiError
	if errors.As(err, &apiErr) {
		return apiErr.MigrateTo
	}
	return 0
}

// isMessageGone reports whether a message to delete or edit does not exist, or not in a chat that
// the bot can reach.
func isMessageGone(err error) bool {
	var apiErr *apiError
	return errors.Is(err, errMigrated) || errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest &&
		apiErr.mentions("message to delete not found", "message to edit not found", "MESSAGE_ID_INVALID")
}

// isNotModified reports whether an edit was refused only because it changes nothing.
func isNotModified(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest && apiErr.mentions("message is not modified")
}
