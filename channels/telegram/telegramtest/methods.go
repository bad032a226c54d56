package telegramtest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// method is a method of the Bot API. In params, a star marks a required parameter, and the word
// after the colon is the type; the default is text.
type method struct {
	params     string
	handle     func(*Server, *Call) (any, error)                  // called with the lock held
	handleSlow func(*Server, context.Context, *Call) (any, error) // instead of handle, for a method that waits
}

const (
	chatParams = "chat_id* business_connection_id message_thread_id:int "
	sendParams = chatParams + "direct_messages_topic_id:int disable_notification:bool protect_content:bool " +
		"allow_paid_broadcast:bool message_effect_id reply_parameters:json "
	markupParams  = "suggested_post_parameters:json reply_markup:json "
	captionParams = "caption parse_mode caption_entities:json "
	mediaParams   = "show_caption_above_media:bool has_spoiler:bool "
	videoParams   = "duration:int width:int height:int thumbnail "
	editParams    = "business_connection_id chat_id message_id:int inline_message_id reply_markup:json "
	previewParams = "link_preview_options:json "
)

var methods = map[string]method{
	"getMe":          {handle: (*Server).getMe},
	"getUpdates":     {params: "offset:int limit:int timeout:int allowed_updates:json", handleSlow: (*Server).getUpdates},
	"getWebhookInfo": {handle: (*Server).getWebhookInfo},
	"deleteWebhook":  {params: "drop_pending_updates:bool", handle: (*Server).deleteWebhook},
	"setWebhook": {params: "url certificate ip_address max_connections:int allowed_updates:json " +
		"drop_pending_updates:bool secret_token", handle: (*Server).setWebhook},
	"sendMessage": {
		params: sendParams + markupParams + previewParams + "text* parse_mode entities:json",
		handle: (*Server).sendMessage,
	},
	"sendPhoto": {params: sendParams + markupParams + captionParams + mediaParams + "photo*", handle: (*Server).sendFile},
	"sendVideo": {
		params: sendParams + markupParams + captionParams + mediaParams + videoParams +
			"video* cover start_timestamp:int supports_streaming:bool",
		handle: (*Server).sendFile,
	},
	"sendAnimation": {params: sendParams + markupParams + captionParams + mediaParams + videoParams + "animation*", handle: (*Server).sendFile},
	"sendAudio": {
		params: sendParams + markupParams + captionParams + "audio* duration:int performer title thumbnail",
		handle: (*Server).sendFile,
	},
	"sendVoice": {params: sendParams + markupParams + captionParams + "voice* duration:int", handle: (*Server).sendFile},
	"sendDocument": {
		params: sendParams + markupParams + captionParams + "document* thumbnail disable_content_type_detection:bool",
		handle: (*Server).sendFile,
	},
	"sendVideoNote": {
		params: sendParams + markupParams + "video_note* duration:int length:int thumbnail",
		handle: (*Server).sendFile,
	},
	"sendSticker": {params: sendParams + markupParams + "sticker* emoji", handle: (*Server).sendFile},

	"sendMediaGroup":  {params: sendParams + "media*:json", handle: (*Server).sendMediaGroup},
	"sendRichMessage": {params: sendParams + markupParams + "rich_message*:json", handle: (*Server).sendRichMessage},
	"sendMessageDraft": {
		params: "chat_id*:int message_thread_id:int draft_id*:int text parse_mode entities:json",
		handle: (*Server).sendMessageDraft,
	},
	"sendRichMessageDraft": {
		params: "chat_id*:int message_thread_id:int draft_id*:int rich_message*:json",
		handle: (*Server).sendRichMessageDraft,
	},
	"setMessageReaction": {params: "chat_id* message_id*:int reaction:json is_big:bool", handle: (*Server).setMessageReaction},
	"sendChatAction":     {params: chatParams + "action*", handle: (*Server).sendChatAction},
	"editMessageText": {
		params: editParams + previewParams + "text parse_mode entities:json rich_message:json",
		handle: (*Server).editText,
	},
	"editMessageCaption": {
		params: editParams + captionParams + "show_caption_above_media:bool",
		handle: (*Server).editCaption,
	},
	"editMessageReplyMarkup": {params: editParams, handle: (*Server).editMarkup},
	"deleteMessage":          {params: "chat_id* message_id*:int", handle: (*Server).deleteMessage},
	"deleteMessages":         {params: "chat_id* message_ids*:json", handle: (*Server).deleteMessages},
	"answerCallbackQuery": {
		params: "callback_query_id* text show_alert:bool url cache_time:int",
		handle: (*Server).answerCallbackQuery,
	},
	"setMyCommands":    {params: "commands*:json scope:json language_code", handle: (*Server).setMyCommands},
	"getMyCommands":    {params: "scope:json language_code", handle: (*Server).getMyCommands},
	"deleteMyCommands": {params: "scope:json language_code", handle: (*Server).deleteMyCommands},
	"getFile":          {params: "file_id*", handle: (*Server).getFile},
	"getChat":          {params: "chat_id*", handle: (*Server).getChat},
}

// checkParams compares a call with the parameters of its method. It returns mistakes that Telegram
// would ignore as ignored.
func (m method) checkParams(c *Call) (ignored []string, err error) {
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
			ignored = append(ignored, "there is no parameter "+name)
		case !hasType(kind, value):
			ignored = append(ignored, "the parameter "+name+" should be "+kind+" and is "+strconv.Quote(value))
		}
	}
	slices.Sort(ignored)
	if len(missing) > 0 {
		return ignored, violationError("%s", missingText(c.Method, missing[0]))
	}
	return ignored, nil
}

func hasType(kind, value string) bool {
	var err error
	switch {
	case value == "": // the same as no value
	case kind == "int":
		_, err = strconv.ParseInt(value, 10, 64)
	case kind == "bool":
		_, err = strconv.ParseBool(value)
	case kind == "json":
		return value != "null" && json.Valid([]byte(value))
	}
	return err == nil
}

// missingText returns Telegram's error text for a missing parameter.
func missingText(method, name string) string {
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

// decodeStrict decodes a parameter and refuses unknown fields.
func decodeStrict(what, raw string, v any) error {
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return violationError("can't parse %s: %v", what, err)
	}
	return nil
}
