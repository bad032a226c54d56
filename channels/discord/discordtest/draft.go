package discordtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// draft is a message in a request, with the fields of creates, edits, callbacks and followups.
type draft struct {
	Content     *string           `json:"content"`
	Embeds      []Embed           `json:"embeds"`
	Allowed     *allowedMentions  `json:"allowed_mentions"`
	Stickers    []string          `json:"sticker_ids"`
	Components  []Component       `json:"components"`
	Flags       *int              `json:"flags"`
	Attachments []draftAttachment `json:"attachments"`
	Poll        json.RawMessage   `json:"poll"`
	Theme       json.RawMessage   `json:"shared_client_theme"`
	Reference   *Reference        `json:"message_reference"`
	Nonce       json.RawMessage   `json:"nonce"`
	Enforce     bool              `json:"enforce_nonce"`
	TTS         bool              `json:"tts"`

	// Accepted, because the routes have these fields, and ignored.
	Username  string   `json:"username"`
	AvatarURL string   `json:"avatar_url"`
	Thread    string   `json:"thread_name"`
	Tags      []string `json:"applied_tags"`
	QuirkID   string   `json:"ID"`
	Quirk     string   `json:"Channel"`
}

// draftAttachment is a file of a message in a request: an uploaded file, by its number, or a file
// that the message keeps, by its ID.
type draftAttachment struct {
	ID             json.RawMessage `json:"id"`
	Filename       string          `json:"filename"`
	Description    string          `json:"description"`
	Duration       float64         `json:"duration_secs"`
	Waveform       string          `json:"waveform"`
	Title          string          `json:"title"`
	Spoiler        bool            `json:"is_spoiler"`
	Remix          bool            `json:"is_remix"`
	attachmentInfo                 // discordgo sends all fields that it has received
}

type attachmentInfo struct {
	URL       string `json:"url"`
	Proxy     string `json:"proxy_url"`
	Type      string `json:"content_type"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Size      int64  `json:"size"`
	Ephemeral bool   `json:"ephemeral"`
	Flags     int    `json:"flags"`
}

func (d draftAttachment) id() string { return strings.Trim(string(d.ID), `"`) }

func (d draft) flags() int {
	if d.Flags == nil {
		return 0
	}
	return *d.Flags
}

// The flags that a bot may set: no link previews, when it sends a message also no notification, and
// in responses to interactions also visible to one person only.
const (
	editFlags   = 1 << 2
	createFlags = editFlags | FlagSilent
	answerFlags = createFlags | FlagEphemeral
)

// nonce returns the nonce, which is a number or a string.
func (d draft) nonce() (string, error) {
	if len(d.Nonce) == 0 || string(d.Nonce) == "null" {
		return "", nil
	}
	var text string
	var n json.Number
	if json.Unmarshal(d.Nonce, &text) != nil {
		if bytes.HasPrefix(d.Nonce, []byte(`"`)) || json.Unmarshal(d.Nonce, &n) != nil {
			return "", fieldError("nonce", "BASE_TYPE", "a string or a number")
		}
		text = n.String()
	}
	if utf8.RuneCountInString(text) > 25 {
		return "", fieldError("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
	}
	return text, nil
}

// applyDraft checks a draft and applies its fields to a message.
func (s *Server) applyDraft(c *Call, ch *channel, prefix string, d draft, m *Message) error {
	if err := d.check(prefix); err != nil {
		return err
	}
	if err := s.attachFiles(c, ch, d, m); err != nil {
		return err
	}
	if d.Content != nil {
		m.Content = strings.TrimSpace(*d.Content)
	} else if c.has("content") {
		m.Content = ""
	}
	if d.Embeds != nil {
		m.Embeds = d.Embeds
	}
	if d.Components != nil {
		m.Components = d.Components
	}
	m.Flags |= d.flags()
	if err := s.setReference(ch, d, m); err != nil {
		return err
	}
	s.setMentions(d.Allowed, m)
	if m.Content == "" && len(m.Embeds)+len(m.Attachments)+len(m.Components)+len(d.Stickers) == 0 {
		return violationError(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	return nil
}

// maxContent is the limit of a message in code points.
const maxContent = 2000

func (d draft) check(prefix string) error {
	if d.Content != nil && utf8.RuneCountInString(*d.Content) > maxContent {
		return fieldError(prefix+"content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	}
	for name, raw := range map[string]json.RawMessage{"poll": d.Poll, "shared_client_theme": d.Theme} {
		if len(raw) > 0 && string(raw) != "null" {
			return fieldError(prefix+name, "UNSUPPORTED", "discordtest does not know these")
		}
	}
	if err := checkEmbeds(prefix+"embeds", d.Embeds); err != nil {
		return err
	}
	if err := checkComponents(prefix+"components", d.Components); err != nil {
		return err
	}
	return d.Allowed.check(prefix + "allowed_mentions")
}

// setReference sets the message that a message replies to.
func (s *Server) setReference(ch *channel, d draft, m *Message) error {
	r := d.Reference
	if r == nil {
		return nil
	}
	wrong := func(kind, text string) error {
		no := fieldError("message_reference", kind, "%s", text)
		no.violation = kind != "REPLIES_UNKNOWN_MESSAGE"
		return no
	}
	if r.Type != 0 {
		return wrong("UNSUPPORTED", "discordtest knows no forwards")
	}
	if r.ChannelID != "" && r.ChannelID != ch.ID {
		return wrong("REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL", "Cannot reply to a message in a different channel")
	}
	to := ch.find(r.MessageID)
	if to == nil || to.Flags&FlagEphemeral != 0 {
		if r.FailIfNotExists != nil && !*r.FailIfNotExists {
			return nil
		}
		return wrong("REPLIES_UNKNOWN_MESSAGE", "Unknown message")
	}
	if !slices.Contains([]int{TypeDefault, TypeReply, TypeSlash}, to.Type) {
		return wrong("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")
	}
	m.Type = TypeReply
	m.Reference = &Reference{MessageID: to.ID, ChannelID: ch.ID, GuildID: ch.GuildID}
	return nil
}
