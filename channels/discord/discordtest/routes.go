package discordtest

import (
	"net/http"
	"slices"
	"strings"
)

// The routes that the server supports, which are the names in Call and FailNext.
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

// method is the handler of a route and the names that it accepts.
type method struct {
	handle  func(*Server, *Call) (any, error) // called with the lock held; a nil result is 204
	fields  string                            // field names of the body
	query   string
	noToken bool // the token of an interaction is sufficient
	created bool // the status is 201
}

const (
	editFields   = "content embeds flags allowed_mentions components attachments"
	draftFields  = editFields + " poll"
	threadFields = "name auto_archive_duration rate_limit_per_user"
	// discordgo adds two fields to an edit, and invitable to every thread. Discord ignores them.
	editQuirk, threadQuirk = " ID Channel", " invitable"
)

var methods = map[string]method{
	GetGateway:    {handle: (*Server).getGateway, noToken: true},
	GetGatewayBot: {handle: (*Server).getGatewayBot},
	GetMe:         {handle: (*Server).getMe},
	GetMyApp:      {handle: (*Server).getApp},
	GetOAuthApp:   {handle: (*Server).getApp},
	OpenDM:        {handle: (*Server).openDM, fields: "recipient_id access_tokens nicks"},

	GetChannel:  {handle: (*Server).getChannel},
	GetMessages: {handle: (*Server).getMessages, query: "around before after limit"},
	GetMessage:  {handle: (*Server).getMessage},
	CreateMessage: {
		handle: (*Server).createMessage,
		fields: draftFields + " sticker_ids shared_client_theme message_reference nonce enforce_nonce tts",
	},
	EditMessage:            {handle: (*Server).editMessage, fields: editFields + " sticker_ids" + editQuirk},
	DeleteMessage:          {handle: (*Server).deleteMessage},
	StartTyping:            {handle: (*Server).startTyping},
	StartThread:            {handle: (*Server).startThread, fields: threadFields + " type invitable applied_tags message", created: true},
	StartThreadFromMessage: {handle: (*Server).startThreadFromMessage, fields: threadFields + threadQuirk, created: true},

	GetCommands:      {handle: (*Server).getCommands, query: "with_localizations"},
	PutCommands:      {handle: (*Server).putCommands},
	GetGuildCommands: {handle: (*Server).getCommands, query: "with_localizations"},
	PutGuildCommands: {handle: (*Server).putCommands},

	Callback: {handle: (*Server).callback, fields: "type data", query: "with_response", noToken: true},
	Followup: {
		handle: (*Server).followup, fields: draftFields + " tts username avatar_url thread_name applied_tags",
		query: "wait thread_id with_components", noToken: true,
	},
	GetOriginal:    {handle: (*Server).getReply, query: "thread_id", noToken: true},
	EditOriginal:   {handle: (*Server).editReply, fields: draftFields, query: "thread_id with_components", noToken: true},
	DeleteOriginal: {handle: (*Server).deleteReply, query: "thread_id", noToken: true},
	EditFollowup:   {handle: (*Server).editReply, fields: draftFields, query: "thread_id with_components", noToken: true},
	DeleteFollowup: {handle: (*Server).deleteReply, query: "thread_id", noToken: true},
}

// routes returns the handler of the REST API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for route, m := range methods {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serveCall(w, r, route, m) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serveCall(w, r, r.Method+" "+r.URL.Path, method{noToken: true, handle: func(*Server, *Call) (any, error) {
			return nil, violationError(http.StatusNotFound, 0, "404: Not Found, or unknown to discordtest")
		}})
	})
	return mux
}

// checkFieldNames records fields and parameters that a route does not have. Discord ignores them
// silently, so a bot would not notice the mistake.
func (s *Server) checkFieldNames(c *Call, m method) {
	s.checkFields(c.Route, c.fields, m.fields)
	for name := range c.Query {
		if !slices.Contains(strings.Fields(m.query), name) {
			s.AddViolation("%s: unknown parameter %q", c.Route, name)
		}
	}
}

func (s *Server) checkFields(where string, got map[string]rawField, known string) {
	for name, value := range got {
		quirk := strings.Contains(" tts enforce_nonce ", " "+name+" ") && string(value) == "false" // of discord.js, in every edit
		if !quirk && !slices.Contains(strings.Fields(known), name) {
			s.AddViolation("%s: unknown field %q", where, name)
		}
	}
}
