package discord

import "strings"

// The routes that are called, with the names of their arguments in braces. Errors and logs show
// these and not the paths: an argument may be a secret.
const (
	getGateway     = "GET /gateway/bot"
	getApplication = "GET /applications/@me"
	getCommands    = "GET /applications/{application_id}/commands"
	putCommands    = "PUT /applications/{application_id}/commands"
	openDM         = "POST /users/@me/channels"
	getChannel     = "GET /channels/{channel_id}"
	getMessages    = "GET /channels/{channel_id}/messages"
	createMessage  = "POST /channels/{channel_id}/messages"
	editMessage    = "PATCH /channels/{channel_id}/messages/{message_id}"
	deleteMessage  = "DELETE /channels/{channel_id}/messages/{message_id}"
	startTyping    = "POST /channels/{channel_id}/typing"
	startThread    = "POST /channels/{channel_id}/messages/{message_id}/threads"
	callback       = "POST /interactions/{interaction_id}/{interaction_token}/callback"
	followup       = "POST /webhooks/{webhook_id}/{webhook_token}"
	editOriginal   = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
)

// route identifies the rate limit of a call: the name, and the major parameter, which is the
// channel, or the ID and token of an interaction or webhook.
type route struct{ name, major string }

// isInteraction reports whether a call answers an interaction. Discord does not count these toward
// the global rate limit.
func (r route) isInteraction() bool {
	return strings.Contains(r.name, " /webhooks/") || strings.Contains(r.name, " /interactions/")
}
