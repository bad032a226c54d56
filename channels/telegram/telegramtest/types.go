package telegramtest

import (
	"cmp"
	"time"
)

// User is a Bot API User.
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name,omitempty"`
	Username     string `json:"username,omitempty"`
	LanguageCode string `json:"language_code,omitempty"`
}

// Chat is a Bot API Chat.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup or channel
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Entity is a Bot API MessageEntity. Offset and Length are in UTF-16 units.
type Entity struct {
	Type           string `json:"type"`
	Offset         int    `json:"offset"`
	Length         int    `json:"length"`
	URL            string `json:"url,omitempty"`
	User           *User  `json:"user,omitempty"`
	Language       string `json:"language,omitempty"`
	CustomEmojiID  string `json:"custom_emoji_id,omitempty"`
	UnixTime       int64  `json:"unix_time,omitempty"`
	DateTimeFormat string `json:"date_time_format,omitempty"`
}

// Message is a Bot API Message of a user or of the bot, in its current state.
type Message struct {
	ID              int        `json:"message_id"`
	Thread          int        `json:"message_thread_id,omitempty"`
	From            *User      `json:"from,omitempty"`
	SenderChat      *Chat      `json:"sender_chat,omitempty"`
	Date            int64      `json:"date"`
	Chat            Chat       `json:"chat"`
	IsTopicMessage  bool       `json:"is_topic_message,omitempty"`
	ReplyTo         *Message   `json:"reply_to_message,omitempty"`
	EditDate        int64      `json:"edit_date,omitempty"`
	MediaGroupID    string     `json:"media_group_id,omitempty"`
	Text            string     `json:"text,omitempty"`
	Entities        []Entity   `json:"entities,omitempty"`
	Caption         string     `json:"caption,omitempty"`
	CaptionEntities []Entity   `json:"caption_entities,omitempty"`
	Photo           []FileInfo `json:"photo,omitempty"` // sizes, the largest last
	Video           *FileInfo  `json:"video,omitempty"`
	Animation       *FileInfo  `json:"animation,omitempty"`
	Audio           *FileInfo  `json:"audio,omitempty"`
	Voice           *FileInfo  `json:"voice,omitempty"`
	VideoNote       *FileInfo  `json:"video_note,omitempty"`
	Document        *FileInfo  `json:"document,omitempty"`
	Sticker         *FileInfo  `json:"sticker,omitempty"`
	Contact         *Contact   `json:"contact,omitempty"`
	Location        *Location  `json:"location,omitempty"`
	ReplyMarkup     *Keyboard  `json:"reply_markup,omitempty"`
	MigrateTo       int64      `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom     int64      `json:"migrate_from_chat_id,omitempty"`
	TopicCreated    *Topic     `json:"forum_topic_created,omitempty"`

	Silent    bool `json:"-"` // sent with disable_notification
	NoPreview bool `json:"-"` // sent with link_preview_options.is_disabled
	Edits     int  `json:"-"` // how often it was edited
	Call      int  `json:"-"` // ID of the call that has sent it; 0 if a user has
	// ShownAt is when the chat began to show the message as it is: when it was sent or last edited.
	ShownAt time.Time `json:"-"`
	// Rich is the HTML of a rich message, and RichText what people see of it.
	Rich     string `json:"-"`
	RichText string `json:"-"`
	reaction string // of the bot
	deleted  bool
}

// FileInfo is a Bot API PhotoSize, Video, Animation, Audio, Voice, VideoNote, Document or Sticker.
type FileInfo struct {
	FileID       string    `json:"file_id"`
	FileUniqueID string    `json:"file_unique_id"`
	Width        int       `json:"width,omitempty"`
	Height       int       `json:"height,omitempty"`
	Length       int       `json:"length,omitempty"` // of a video note
	Duration     *int      `json:"duration,omitempty"`
	FileName     string    `json:"file_name,omitempty"`
	MIME         string    `json:"mime_type,omitempty"`
	FileSize     int64     `json:"file_size,omitempty"`
	Thumbnail    *FileInfo `json:"thumbnail,omitempty"`
	Performer    string    `json:"performer,omitempty"`
	Title        string    `json:"title,omitempty"`
	Emoji        string    `json:"emoji,omitempty"`
	Type         string    `json:"type,omitempty"` // of a sticker
	IsAnimated   *bool     `json:"is_animated,omitempty"`
	IsVideo      *bool     `json:"is_video,omitempty"`
}

// Contact is a Bot API Contact.
type Contact struct {
	PhoneNumber string `json:"phone_number"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name,omitempty"`
	UserID      int64  `json:"user_id,omitempty"`
}

// Location is a Bot API Location.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Topic is a Bot API ForumTopicCreated.
type Topic struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

// Keyboard is a Bot API InlineKeyboardMarkup.
type Keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is a Bot API InlineKeyboardButton.
type Button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	URL   string `json:"url,omitempty"`
	Style string `json:"style,omitempty"`
}

// Buttons returns a message's buttons in reading order.
func (m Message) Buttons() []Button {
	var out []Button
	if m.ReplyMarkup != nil {
		for _, row := range m.ReplyMarkup.Rows {
			out = append(out, row...)
		}
	}
	return out
}

// TextOrCaption returns what people see of the text of a message, or the caption of its file.
func (m Message) TextOrCaption() string { return cmp.Or(m.Text, m.RichText, m.Caption) }

// Kind returns the kind of a message: text, rich, photo, video, animation, audio, voice,
// video_note, document, sticker, contact, location or service.
func (m Message) Kind() string {
	for _, k := range []struct {
		name string
		is   bool
	}{
		{"photo", m.Photo != nil},
		{"video", m.Video != nil},
		{"animation", m.Animation != nil}, // before document: an animation has both
		{"audio", m.Audio != nil},
		{"voice", m.Voice != nil},
		{"video_note", m.VideoNote != nil},
		{"document", m.Document != nil},
		{"sticker", m.Sticker != nil},
		{"contact", m.Contact != nil},
		{"location", m.Location != nil},
		{"text", m.Text != ""},
		{"rich", m.Rich != ""},
	} {
		if k.is {
			return k.name
		}
	}
	return "service"
}

// File returns the file of a message, for a photo its largest size, or nil.
func (m Message) File() *FileInfo {
	if n := len(m.Photo); n > 0 {
		return &m.Photo[n-1]
	}
	for _, f := range []*FileInfo{m.Video, m.Animation, m.Audio, m.Voice, m.VideoNote, m.Document, m.Sticker} {
		if f != nil {
			return f
		}
	}
	return nil
}
