// Package updates has the types of received updates, and what can be read from a message without
// knowing the bot. It makes no calls.
package updates

import (
	"encoding/json"
	"strconv"

	"github.com/go-telegram/bot/models"
)

// Update is one update of the Bot API. These types have only the used fields, so that fields that a
// later Bot API adds or the library cannot decode do not make a message undecodable.
type Update struct {
	ID            int64          `json:"update_id"`
	Message       *Message       `json:"message"`
	EditedMessage *Message       `json:"edited_message"` // Decode moves it to Message
	CallbackQuery *CallbackQuery `json:"callback_query"`

	Raw json.RawMessage `json:"-"` // as Telegram sent it
}

// Decode decodes an update. Fields of the right type are decoded even if another one has the wrong
// type.
func Decode(raw json.RawMessage) (*Update, error) {
	u := &Update{Raw: raw}
	err := json.Unmarshal(raw, u)
	if err == nil && u.EditedMessage != nil {
		u.Message, u.EditedMessage = u.EditedMessage, nil
		u.Message.IsEdit = true
	}
	return u, err
}

// ChatID returns the chat of an update with a message or a callback query.
func (u *Update) ChatID() string {
	if u.CallbackQuery != nil {
		return u.CallbackQuery.Message.Address().String()
	}
	return u.Message.Address().String()
}

// PartID returns the ID of an update as a part: that of its message, or one of its own for an edit.
func (u *Update) PartID() string {
	if u.Message.IsEdit {
		return u.Message.GatewayID() + "-edit-" + strconv.FormatInt(u.ID, 10)
	}
	return u.Message.GatewayID()
}

// CallbackQuery is a press of a button.
type CallbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *Message `json:"message"`
	Data    string   `json:"data"`
	// Response gets the text that the person who has pressed the button is shown, or "".
	Response chan string `json:"-"`
}

// user is a person or a bot.
type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	// LanguageCode is the language of the user's app; Telegram reports it for most people.
	LanguageCode string `json:"language_code"`
}

// chat is a chat of any kind.
type chat struct {
	ID    int64           `json:"id"`
	Type  models.ChatType `json:"type"`
	Title string          `json:"title"`
}

// Message is a message, or one of the parts of an album.
type Message struct {
	ID            int      `json:"message_id"`
	Thread        int      `json:"message_thread_id"`
	IsTopic       bool     `json:"is_topic_message"`
	IsAutoForward bool     `json:"is_automatic_forward"`
	From          *user    `json:"from"`
	SenderChat    *chat    `json:"sender_chat"`
	Chat          chat     `json:"chat"`
	ReplyTo       *Message `json:"reply_to_message"`
	Quote         *quote   `json:"quote"`
	Group         string   `json:"media_group_id"`
	Text          string   `json:"text"`
	Entities      []Entity `json:"entities"`
	Caption       string   `json:"caption"`
	CaptionMarks  []Entity `json:"caption_entities"`

	Photo     []File `json:"photo"`
	Video     *File  `json:"video"`
	Animation *File  `json:"animation"`
	Audio     *File  `json:"audio"`
	Voice     *File  `json:"voice"`
	VideoNote *File  `json:"video_note"`
	Document  *File  `json:"document"`
	Sticker   *File  `json:"sticker"`

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

	// JoinsNext says that the next message of the chat may belong to this one; see MarkJoined.
	JoinsNext bool `json:"-"`
	// IsEdit says that this is the new version of a message.
	IsEdit bool `json:"-"`
	// OriginalChat is the chat ID that the gateway uses, if it differs.
	OriginalChat int64 `json:"-"`
}

// lenient is an optional field that is decoded as far as possible, so that a wrong type in it does
// not make a message undecodable. Value is nil if the field is missing.
type lenient[T any] struct{ Value *T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		l.Value = new(T)
		_ = json.Unmarshal(b, l.Value)
	}
	return nil
}

// orZero returns the value, or its zero value.
func (l lenient[T]) orZero() (value T) {
	if l.Value != nil {
		value = *l.Value
	}
	return value
}

// Entity is a part of a text with a meaning, such as a mention. Its offset and length are in UTF-16
// units.
type Entity struct {
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
	Entities []Entity `json:"entities"`
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

// File has the fields that all kinds of media share.
type File struct {
	ID         string `json:"file_id"`
	Name       string `json:"file_name"`
	Size       int64  `json:"file_size"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Emoji      string `json:"emoji"`
	IsAnimated bool   `json:"is_animated"`
	IsVideo    bool   `json:"is_video"`

	Kind string `json:"-"` // base name of a file without a name
	ext  string // default extension
}
