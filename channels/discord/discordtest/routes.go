package discordtest

import (
	"net/http"
	"slices"
	"strings"
)

// The routes that the server knows, by the names that Call and Fault go by.
const (
	GetGateway    = "GET /gateway"
	GetGatewayBot = "GET /gateway/bot"
	GetMe         = "GET /users/@me"
	GetMyApp      = "GET /applications/@me"
	GetOAuthApp   = "GET /oauth2/applications/@me"
	OpenDM        = "POST /users/@me/channels"

	GetChannel             = "GET /channels/{channel_id}"
	GetMessages            = "GET /channels/{channel_id}/messages"
	GetMessage             = "GET /channels/{channel_id}/messages/{message_id}"
	CreateMessage          = "POST /channels/{channel_id}/messages"
	EditMessage            = "PATCH /channels/{channel_id}/messages/{message_id}"
	DeleteMessage          = "DELETE /channels/{channel_id}/messages/{message_id}"
	StartTyping            = "POST /channels/{channel_id}/typing"
	StartThread            = "POST /channels/{channel_id}/threads"
	StartThreadFromMessage = "POST /channels/{channel_id}/messages/{message_id}/threads"

	GetCommands      = "GET /applications/{application_id}/commands"
	PutCommands      = "PUT /applications/{application_id}/commands"
	GetGuildCommands = "GET /applications/{application_id}/guilds/{guild_id}/commands"
	PutGuildCommands = "PUT /applications/{application_id}/guilds/{guild_id}/commands"

	Callback       = "POST /interactions/{interaction_id}/{interaction_token}/callback"
	Followup       = "POST /webhooks/{webhook_id}/{webhook_token}"
	GetOriginal    = "GET /webhooks/{webhook_id}/{webhook_token}/messages/@original"
	EditOriginal   = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
	DeleteOriginal = "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/@original"
	EditFollowup   = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
	DeleteFollowup = "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"

	// CDN is the download of an attachment.
	CDN = "GET /attachments/{channel_id}/{attachment_id}/{filename}"
)

// method is what a route does and which names it takes.
type method struct {
	do      func(*Server, *Call) (any, error) // with the lock held; a nil result is 204
	fields  string                            // of the body
	query   string
	open    bool // the token of the interaction is enough
	created bool // answered with 201
}

const (
	editFields   = "content embeds flags allowed_mentions components attachments"
	draftFields  = editFields + " poll"
	threadFields = "name auto_archive_duration rate_limit_per_user"
	// discordgo writes two fields of its own into an edit, and invitable into every thread. Discord
	// ignores them.
	editQuirk, threadQuirk = " ID Channel", " invitable"
)

var methods = map[string]method{
	GetGateway:    {do: (*Server).getGateway, open: true},
	GetGatewayBot: {do: (*Server).getGatewayBot},
	GetMe:         {do: (*Server).getMe},
	GetMyApp:      {do: (*Server).getApp},
	GetOAuthApp:   {do: (*Server).getApp},
	OpenDM:        {do: (*Server).openDM, fields: "recipient_id access_tokens nicks"},

	GetChannel:  {do: (*Server).getChannel},
	GetMessages: {do: (*Server).getMessages, query: "around before after limit"},
	GetMessage:  {do: (*Server).getMessage},
	CreateMessage: {
		do:     (*Server).createMessage,
		fields: draftFields + " sticker_ids shared_client_theme message_reference nonce enforce_nonce tts",
	},
	EditMessage:            {do: (*Server).editMessage, fields: editFields + " sticker_ids" + editQuirk},
	DeleteMessage:          {do: (*Server).deleteMessage},
	StartTyping:            {do: (*Server).startTyping},
	StartThread:            {do: (*Server).startThread, fields: threadFields + " type invitable applied_tags message", created: true},
	StartThreadFromMessage: {do: (*Server).threadFrom, fields: threadFields + threadQuirk, created: true},

	GetCommands:      {do: (*Server).getCommands, query: "with_localizations"},
	PutCommands:      {do: (*Server).putCommands},
	GetGuildCommands: {do: (*Server).getCommands, query: "with_localizations"},
	PutGuildCommands: {do: (*Server).putCommands},

	Callback: {do: (*Server).callback, fields: "type data", query: "with_response", open: true},
	Followup: {
		do: (*Server).followup, fields: draftFields + " tts username avatar_url thread_name applied_tags",
		query: "wait thread_id with_components", open: true,
	},
	GetOriginal:    {do: (*Server).getReply, query: "thread_id", open: true},
	EditOriginal:   {do: (*Server).editReply, fields: draftFields, query: "thread_id with_components", open: true},
	DeleteOriginal: {do: (*Server).deleteReply, query: "thread_id", open: true},
	EditFollowup:   {do: (*Server).editReply, fields: draftFields, query: "thread_id with_components", open: true},
	DeleteFollowup: {do: (*Server).deleteReply, query: "thread_id", open: true},
}

// routes serves REST.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for route, m := range methods {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route, m) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, r.Method+" "+r.URL.Path, method{open: true, do: func(*Server, *Call) (any, error) {
			return nil, forbid(http.StatusNotFound, 0, "404: Not Found, or unknown to discordtest")
		}})
	})
	return mux
}

// checkNames notes the fields and parameters that a route does not have. Discord ignores them, so
// what the bot meant by them would not happen.
func (s *Server) checkNames(c *Call, m method) {
	s.checkFields(c.Route, c.fields, m.fields)
	for name := range c.Query {
		if !slices.Contains(strings.Fields(m.query), name) {
			s.violate("%s: unknown parameter %q", c.Route, name)
		}
	}
}

func (s *Server) checkFields(where string, got map[string]rawField, known string) {
	for name := range got {
		if !slices.Contains(strings.Fields(known), name) {
			s.violate("%s: unknown field %q", where, name)
		}
	}
}
