package telegramtest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// method is what the server can be asked. Params names the parameters: a star marks those that must
// be there, and what stands behind the colon is the type, text if there is none.
type method struct {
	params string
	do     func(*Server, *Call) (any, error)                  // under the lock
	wait   func(*Server, context.Context, *Call) (any, error) // in its stead, for what takes time
}

const (
	place   = "chat_id* business_connection_id message_thread_id:int "
	sending = place + "direct_messages_topic_id:int disable_notification:bool protect_content:bool " +
		"allow_paid_broadcast:bool message_effect_id reply_parameters:json "
	marked    = "suggested_post_parameters:json reply_markup:json "
	captioned = "caption parse_mode caption_entities:json "
	above     = "show_caption_above_media:bool has_spoiler:bool "
	framed    = "duration:int width:int height:int thumbnail "
	editing   = "business_connection_id chat_id message_id:int inline_message_id reply_markup:json "
	linked    = "link_preview_options:json "
)

var methods = map[string]method{
	"getMe":          {do: (*Server).getMe},
	"getUpdates":     {params: "offset:int limit:int timeout:int allowed_updates:json", wait: (*Server).getUpdates},
	"getWebhookInfo": {do: (*Server).getWebhookInfo},
	"deleteWebhook":  {params: "drop_pending_updates:bool", do: (*Server).deleteWebhook},
	"setWebhook": {params: "url certificate ip_address max_connections:int allowed_updates:json " +
		"drop_pending_updates:bool secret_token", do: (*Server).setWebhook},
	"sendMessage": {
		params: sending + marked + linked + "text* parse_mode entities:json",
		do:     (*Server).sendMessage,
	},
	"sendPhoto": {params: sending + marked + captioned + above + "photo*", do: (*Server).sendFile},
	"sendVideo": {
		params: sending + marked + captioned + above + framed +
			"video* cover start_timestamp:int supports_streaming:bool",
		do: (*Server).sendFile,
	},
	"sendAnimation": {params: sending + marked + captioned + above + framed + "animation*", do: (*Server).sendFile},
	"sendAudio": {
		params: sending + marked + captioned + "audio* duration:int performer title thumbnail",
		do:     (*Server).sendFile,
	},
	"sendVoice": {params: sending + marked + captioned + "voice* duration:int", do: (*Server).sendFile},
	"sendDocument": {
		params: sending + marked + captioned + "document* thumbnail disable_content_type_detection:bool",
		do:     (*Server).sendFile,
	},
	"sendVideoNote": {
		params: sending + marked + "video_note* duration:int length:int thumbnail",
		do:     (*Server).sendFile,
	},
	"sendSticker": {params: sending + marked + "sticker* emoji", do: (*Server).sendFile},

	"sendMediaGroup": {params: sending + "media*:json", do: (*Server).sendMediaGroup},
	"sendChatAction": {params: place + "action*", do: (*Server).sendChatAction},
	"editMessageText": {
		params: editing + linked + "text parse_mode entities:json rich_message:json",
		do:     (*Server).editText,
	},
	"editMessageCaption": {
		params: editing + captioned + "show_caption_above_media:bool",
		do:     (*Server).editCaption,
	},
	"editMessageReplyMarkup": {params: editing, do: (*Server).editMarkup},
	"deleteMessage":          {params: "chat_id* message_id*:int", do: (*Server).deleteMessage},
	"answerCallbackQuery": {
		params: "callback_query_id* text show_alert:bool url cache_time:int",
		do:     (*Server).answerCallbackQuery,
	},
	"setMyCommands":    {params: "commands*:json scope:json language_code", do: (*Server).setMyCommands},
	"getMyCommands":    {params: "scope:json language_code", do: (*Server).getMyCommands},
	"deleteMyCommands": {params: "scope:json language_code", do: (*Server).deleteMyCommands},
	"getFile":          {params: "file_id*", do: (*Server).getFile},
	"getChat":          {params: "chat_id*", do: (*Server).getChat},
}

// check compares a call with its method's parameters. What Telegram would overlook comes back as
// strange.
func (m method) check(c *Call) (strange []string, err error) {
	kinds := map[string]string{}
	var missing []string
	for _, p := range strings.Fields(m.params) {
		name, kind, _ := strings.Cut(p, ":")
		name, required := strings.CutSuffix(name, "*")
		kinds[name] = kind
		if required && !c.has(name) && !c.uploaded(name) {
			missing = append(missing, name)
		}
	}
	for name, value := range c.Params {
		kind, known := kinds[name]
		switch {
		case !known:
			strange = append(strange, "there is no parameter "+name)
		case !fits(kind, value):
			strange = append(strange, "the parameter "+name+" should be "+kind+" and is "+strconv.Quote(value))
		}
	}
	slices.Sort(strange)
	if len(missing) > 0 {
		return strange, forbid("%s", absent(c.Method, missing[0]))
	}
	return strange, nil
}

func fits(kind, value string) bool {
	var err error
	switch {
	case value == "": // as good as absent
	case kind == "int":
		_, err = strconv.ParseInt(value, 10, 64)
	case kind == "bool":
		_, err = strconv.ParseBool(value)
	case kind == "json":
		return value != "null" && json.Valid([]byte(value))
	}
	return err == nil
}

// absent is how Telegram says that a parameter is missing.
func absent(method, name string) string {
	switch name {
	case "chat_id":
		return "chat_id is empty"
	case "text":
		return "message text is empty"
	case "message_id":
		return "message identifier is not specified"
	case "file_id":
		return "file_id not specified"
	}
	if kind, ok := strings.CutPrefix(method, "send"); ok {
		return "there is no " + strings.ToLower(kind) + " in the request"
	}
	return "parameter \"" + name + "\" is required"
}

func (c *Call) uploaded(field string) bool { return c.upload(field) != nil }

func (c *Call) upload(field string) *Upload {
	for i := range c.Uploads {
		if c.Uploads[i].Field == field {
			return &c.Uploads[i]
		}
	}
	return nil
}

// strict decodes a parameter into its type and refuses fields that the type does not have.
func strict(what, raw string, v any) error {
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return forbid("can't parse %s: %v", what, err)
	}
	return nil
}
