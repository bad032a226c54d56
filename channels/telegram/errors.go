package telegram

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"nanobot/channels"
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
	case errors.Is(err, errMoved):
		return &channels.SendError{Err: err, Permanent: true}
	case errors.As(err, &no):
		return &channels.SendError{Err: err, Permanent: no.final(), Unknown: no.unknown(), After: no.wait()}
	case errors.As(err, &none):
		return &channels.SendError{Err: err, Unknown: none.Written}
	}
	return &channels.SendError{Err: err}
}

// final tells whether the same call would be refused again. A wrong token is not final: the
// operator mends it, and what waits is sent.
func (e *refusal) final() bool {
	if e.Foreign {
		return e.Code == http.StatusRequestEntityTooLarge
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return e.Code >= 400 && e.Code < 500
}

// unknown tells whether the call may have been carried out all the same. The Bot API answers 500,
// and a proxy in front of it 502, 503 or 504, also after the message was sent, and nothing in the
// answer tells that from a call that never arrived.
func (e *refusal) unknown() bool { return e.Code >= http.StatusInternalServerError }

// wait is how long Telegram asks us to wait.
func (e *refusal) wait() time.Duration {
	if e.Code != http.StatusTooManyRequests {
		return 0
	}
	return max(e.RetryAfter, time.Second)
}

// refusedFormat tells whether it is the entities that Telegram does not like.
func refusedFormat(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.Code == http.StatusBadRequest && no.says("entit", "can't parse")
}

// refusedAs tells whether a file may go as a document what was refused as a photo, a video or a
// voice message.
func refusedAs(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.Code == http.StatusBadRequest && no.says(
		"PHOTO_", "IMAGE_PROCESS_FAILED", "VOICE_MESSAGES_FORBIDDEN", "WEBPAGE_MEDIA_EMPTY", "MEDIA_INVALID",
		"VIDEO_CONTENT_TYPE_INVALID", "too big for a photo", "wrong type of the web page content", "not enough rights to send photos",
		"wrong file type", "type of file mismatch", "photo has unacceptable",
	)
}

// refusedFile tells whether it may be a file that Telegram does not take, or that we cannot read.
func refusedFile(err error) bool {
	var no *refusal
	if errors.As(err, &no) {
		return no.Code == http.StatusBadRequest && !no.says(notTheFile...) || no.Code == http.StatusRequestEntityTooLarge
	}
	return unreadable(err)
}

// notTheFile is in refusals that every other message to the chat would meet with.
var notTheFile = []string{
	"chat not found", "thread not found", "TOPIC_CLOSED", "TOPIC_DELETED", "CHAT_WRITE_FORBIDDEN", "PEER_ID_INVALID",
}

var item = regexp.MustCompile(`message #([0-9]+)`)

// itemOf returns which item of an album was refused, counted from 1, or 0 if Telegram does not say.
func itemOf(err error) int {
	var no *refusal
	if !errors.As(err, &no) {
		return 0
	}
	if m := item.FindStringSubmatch(no.Description); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// flooded tells whether Telegram was sent too much.
func flooded(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.wait() > 0
}

// migratedTo returns the new id of a group that became a supergroup, or 0.
func migratedTo(err error) int64 {
	var no *refusal
	if errors.As(err, &no) {
		return no.MigrateTo
	}
	return 0
}

// gone tells whether a message that should be deleted or edited does not exist, or not where we
// could.
func gone(err error) bool {
	var no *refusal
	return errors.Is(err, errMoved) || errors.As(err, &no) && no.Code == http.StatusBadRequest &&
		no.says("message to delete not found", "message to edit not found", "MESSAGE_ID_INVALID")
}

// unchanged tells whether an edit was refused only because it changes nothing.
func unchanged(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.Code == http.StatusBadRequest && no.says("message is not modified")
}
