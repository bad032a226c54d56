package sending

import (
	"errors"
	"net/http"
	"strconv"

	"nanobot/channels"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/internal/lazyregexp"
)

// permanent is the error of a call that must not be repeated.
func permanent(err error) error { return &channels.SendError{Err: err, Permanent: true} }

// isFormatRefused reports whether Telegram has refused the entities.
func isFormatRefused(err error) bool { return botapi.IsBadRequest(err, "entit", "can't parse") }

// isMediaTypeRefused reports whether a file that was refused as a photo, video or voice message may
// be sent as a document.
func isMediaTypeRefused(err error) bool {
	return botapi.IsBadRequest(
		err, "PHOTO_", "IMAGE_PROCESS_FAILED", "VOICE_MESSAGES_FORBIDDEN", "WEBPAGE_MEDIA_EMPTY", "MEDIA_INVALID",
		"VIDEO_CONTENT_TYPE_INVALID", "too big for a photo", "wrong type of the web page content",
		"not enough rights to send photos",
		"wrong file type", "type of file mismatch", "photo has unacceptable",
	)
}

// isFileRefused reports whether Telegram may have refused a file, or the file cannot be read.
func isFileRefused(err error) bool {
	var apiErr *botapi.Error
	if errors.As(err, &apiErr) {
		return apiErr.Code == http.StatusBadRequest && !apiErr.Mentions(chatErrors...) ||
			apiErr.Code == http.StatusRequestEntityTooLarge
	}
	return isUnreadable(err)
}

// chatErrors are descriptions of errors that every message to the chat would cause.
var chatErrors = []string{
	"chat not found", "thread not found", "TOPIC_CLOSED", "TOPIC_DELETED", "CHAT_WRITE_FORBIDDEN", "PEER_ID_INVALID",
}

// isTopicClosed reports whether a call was refused because its topic is closed or deleted.
func isTopicClosed(err error) bool {
	return botapi.IsBadRequest(err, "thread not found", "TOPIC_CLOSED", "TOPIC_DELETED")
}

var albumItemPattern = lazyregexp.New(`message #([0-9]+)`)

// refusedItem returns which item of an album was refused, counted from 1, or 0 if Telegram does not
// say.
func refusedItem(err error) int {
	var apiErr *botapi.Error
	if !errors.As(err, &apiErr) {
		return 0
	}
	if m := albumItemPattern().FindStringSubmatch(apiErr.Description); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// isMessageGone reports whether a message to delete or edit does not exist, or not in a chat that
// the bot can reach.
func isMessageGone(err error) bool {
	return errors.Is(err, chats.ErrMigrated) ||
		botapi.IsBadRequest(err, "message to delete not found", "message to edit not found", "MESSAGE_ID_INVALID")
}

// isReactedMessageGone reports whether the message of a reaction does not exist.
func isReactedMessageGone(err error) bool {
	return botapi.IsBadRequest(err, "message to react not found", "message not found", "MESSAGE_ID_INVALID")
}
