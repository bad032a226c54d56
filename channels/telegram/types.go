package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/go-telegram/bot/models"
)

// update is one update of the Bot API. These types have only the used fields, so that fields that a
// later Bot API adds or the library cannot decode do not make a message undecodable.
type update struct {
	ID            int64          `json:"update_id"`
	Message       *message       `json:"message"`
	EditedMessage *message       `json:"edited_message"` // decodeUpdate moves it to Message
	CallbackQuery *callbackQuery `json:"callback_query"`

	raw json.RawMessage // as Telegram sent it
}

// chat returns the chat of an update with a message or a callback query.
func (u *update) chat() string {
	if u.CallbackQuery != nil {
		return u.CallbackQuery.Message.address().String()
	}
	return u.Message.address().String()
}

// callbackQuery is a press of a button.
type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	// LanguageCode is the language of the user's app; Telegram reports it for most people.
	LanguageCode string `json:"language_code"`
}

type chat struct {
	ID    int64           `json:"id"`
	Type  models.ChatType `json:"type"`
	Title string          `json:"title"`
}

type message struct {
	ID            int      `json:"message_id"`
	Thread        int      `json:"message_thread_id"`
	IsTopic       bool     `json:"is_topic_message"`
	IsAutoForward bool     `json:"is_automatic_forward"`
	From          *user    `json:"from"`
	SenderChat    *chat    `json:"sender_chat"`
	Chat          chat     `json:"chat"`
	ReplyTo       *message `json:"reply_to_message"`
	Quote         *quote   `json:"quote"`
	Group         string   `json:"media_group_id"`
	Text          string   `json:"text"`
	Entities      []entity `json:"entities"`
	Caption       string   `json:"caption"`
	CaptionMarks  []entity `json:"caption_entities"`

	Photo     []file `json:"photo"`
	Video     *file  `json:"video"`
	Animation *file  `json:"animation"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	VideoNote *file  `json:"video_note"`
	Document  *file  `json:"document"`
	Sticker   *file  `json:"sticker"`

	Contact  *contact  `json:"contact"`
	Location *location `json:"location"`
	Venue    *venue    `json:"venue"`
	Dice     *dice     `json:"dice"`
	Poll     *poll     `json:"poll"`

	MigrateTo    int64           `json:"migrate_to_chat_id"`
	MigrateFrom  int64           `json:"migrate_from_chat_id"`
	TopicCreated json.RawMessage `json:"forum_topic_created"`

	EditDate int64                  `json:"edit_date"`
	Origin   lenient[origin]        `json:"forward_origin"`
	External lenient[externalReply] `json:"external_reply"`

	Checklist       lenient[checklist] `json:"checklist"`
	Story           json.RawMessage    `json:"story"`
	Game            json.RawMessage    `json:"game"`
	PaidMedia       json.RawMessage    `json:"paid_media"`
	Giveaway        json.RawMessage    `json:"giveaway"`
	GiveawayWinners json.RawMessage    `json:"giveaway_winners"`
	Invoice         json.RawMessage    `json:"invoice"`

	joinsNext    bool  // the next message of the chat may belong to this one; see markJoined and mayIntroduce
	isEdit       bool  // this is the new version of a message
	originalChat int64 // the chat ID that the gateway uses, if it differs
}

// lenient is an optional field that is decoded as far as possible, so that a wrong type in it does
// not make a message undecodable. value is nil if the field is missing.
type lenient[T any] struct{ value *T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		l.value = new(T)
		_ = json.Unmarshal(b, l.value)
	}
	return nil
}

// orZero returns the value, or its zero value.
func (l lenient[T]) orZero() (value T) {
	if l.value != nil {
		value = *l.value
	}
	return value
}

// entity is a part of a text with a meaning, such as a mention. Its offset and length are in UTF-16
// units.
type entity struct {
	Type     models.MessageEntityType `json:"type"`
	Offset   int                      `json:"offset"`
	Length   int                      `json:"length"`
	URL      lenient[string]          `json:"url"`      // of a link behind text
	Language lenient[string]          `json:"language"` // of preformatted text
	User     *struct {
		ID int64 `json:"id"`
	} `json:"user"` // of a mention without a username
}

type contact struct {
	PhoneNumber string `json:"phone_number"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venue struct {
	Location location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

// quote is the part of a message that a reply quotes.
type quote struct {
	Text     string   `json:"text"`
	Entities []entity `json:"entities"`
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text        string `json:"text"`
		CompletedAt int64  `json:"completion_date"`
	} `json:"tasks"`
}

type poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

// file has the fields that all kinds of media share.
type file struct {
	ID         string `json:"file_id"`
	Name       string `json:"file_name"`
	Size       int64  `json:"file_size"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Emoji      string `json:"emoji"`
	IsAnimated bool   `json:"is_animated"`
	IsVideo    bool   `json:"is_video"`

	kind string // base name of a file without a name
	ext  string // default extension
}

func (m *message) address() chatAddress {
	p := chatAddress{chat: cmp.Or(m.originalChat, m.Chat.ID)}
	if m.IsTopic { // a reply thread in a group without topics is not a chat of its own
		p.thread = m.Thread
	}
	return p
}

// setOriginalChat sets the chat of a message, and of the messages that it replies to, to the one
// that it was stored with.
func (m *message) setOriginalChat(chat string) {
	at, err := parseChatAddress(chat)
	if err != nil {
		return
	}
	for ; m != nil; m = m.ReplyTo {
		if m.Chat.ID != at.chat {
			m.originalChat = at.chat
		}
	}
}

// album returns the ID of the album that a message is a part of, or "". The edit of a part changes
// only the caption.
func (m *message) album() string {
	if m.isEdit {
		return ""
	}
	return m.Group
}

// isEditOfState reports whether an edit has changed a live location or a poll, which is no edit by
// a person.
func (m *message) isEditOfState() bool { return m.isEdit && (m.Location != nil || m.Poll != nil) }

// hasFiles reports whether a message has files to download.
func (m *message) hasFiles() bool {
	return m.downloadableFile() != nil || m.quoted() != nil && m.quoted().attachedFile() != nil
}

// gatewayID is the ID of a message for the gateway, without a bot prefix.
func (m *message) gatewayID() string { return messageID(m.address().chat, m.Chat.ID, m.ID) }

// isGroup reports whether a message is from a group or supergroup.
func (m *message) isGroup() bool {
	return m.Chat.Type == models.ChatTypeGroup || m.Chat.Type == models.ChatTypeSupergroup
}

// repliedTo returns the message that this one replies to, or nil. In a topic, a message that
// replies to nothing seems to reply to the message that created the topic.
func (m *message) repliedTo() *message {
	if m.ReplyTo == nil || m.ReplyTo.TopicCreated != nil || m.IsTopic && m.ReplyTo.ID == m.Thread {
		return nil
	}
	return m.ReplyTo
}

// downloadableFile returns the message's file to download, or nil.
func (m *message) downloadableFile() *file {
	if m.isEdit && m.Group != "" {
		return nil
	}
	return m.attachedFile()
}

// attachedFile returns the message's file, or nil.
func (m *message) attachedFile() *file {
	if len(m.Photo) > 0 {
		largest := m.Photo[0]
		for _, p := range m.Photo[1:] {
			if p.Width*p.Height >= largest.Width*largest.Height {
				largest = p
			}
		}
		largest.kind, largest.ext = "photo", ".jpg"
		return &largest
	}
	for _, one := range []struct {
		file      *file
		kind, ext string
	}{
		{m.Video, "video", ".mp4"},
		{m.Animation, "animation", ".mp4"}, // before document: an animation is both
		{m.Audio, "audio", ".mp3"},
		{m.Voice, "voice", ".ogg"},
		{m.VideoNote, "video note", ".mp4"},
		{m.Document, "document", ""},
		{m.Sticker, "sticker", stickerExt(m.Sticker)},
	} {
		if one.file != nil {
			f := *one.file
			f.kind, f.ext = one.kind, one.ext
			return &f
		}
	}
	return nil
}

func stickerExt(f *file) string {
	switch {
	case f == nil:
		return ""
	case f.IsAnimated:
		return ".tgs"
	case f.IsVideo:
		return ".webm"
	}
	return ".webp"
}

// displayName returns the name of a file: the sender's, or its kind with the extension of the
// stored file.
func (f *file) displayName(stored string) string {
	if f.Name != "" {
		return f.Name
	}
	ext := path.Ext(stored)
	if ext == "" || ext == ".oga" { // Telegram's extension of voice messages, which few programs know
		ext = f.ext
	}
	return f.kind + ext
}

// textAndEntities returns the text or the caption of a message.
func (m *message) textAndEntities() (string, []entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionMarks
}

// describeExtras returns a contact, location, dice, poll, checklist or sticker as text.
func (m *message) describeExtras() string {
	switch {
	case m.Contact != nil:
		c := m.Contact
		return fmt.Sprintf("Contact: %s, %s", strings.TrimSpace(c.FirstName+" "+c.LastName), c.PhoneNumber)
	case m.Venue != nil: // before location: a venue is both
		v := m.Venue
		return fmt.Sprintf("Place: %s, %s (%v, %v)", v.Title, v.Address, v.Location.Latitude, v.Location.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("Location: %v, %v", m.Location.Latitude, m.Location.Longitude)
	case m.Dice != nil:
		return fmt.Sprintf("%s %d", m.Dice.Emoji, m.Dice.Value)
	case m.Poll != nil:
		lines := []string{"Poll: " + m.Poll.Question}
		for _, o := range m.Poll.Options {
			lines = append(lines, "- "+o.Text)
		}
		return strings.Join(lines, "\n")
	case m.Checklist.value != nil:
		lines := []string{"Checklist: " + m.Checklist.value.Title}
		for _, task := range m.Checklist.value.Tasks {
			box := "[ ] "
			if task.CompletedAt > 0 {
				box = "[x] "
			}
			lines = append(lines, "- "+box+task.Text)
		}
		return strings.Join(lines, "\n")
	case m.Sticker != nil:
		return m.Sticker.Emoji
	}
	return ""
}
