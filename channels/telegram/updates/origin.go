package updates

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/internal/words"
)

// origin is a MessageOrigin: where a forwarded or quoted message comes from.
type origin struct {
	Date       int64  `json:"date"`
	User       *user  `json:"sender_user"`
	HiddenUser string `json:"sender_user_name"` // of a user who hides the account
	SenderChat *chat  `json:"sender_chat"`
	Channel    *chat  `json:"chat"`
	Signature  string `json:"author_signature"`
}

// externalReply is an ExternalReplyInfo: a message of another chat or topic that is replied to. It
// has no text, and its ID and chat only if the bot may know them.
type externalReply struct {
	Origin *origin `json:"origin"`
	Message
}

// Author returns the person who wrote the original, or nil.
func (o *origin) Author() *channels.User {
	switch {
	case o.User != nil:
		u := o.User.ToUser()
		return &u
	case o.HiddenUser != "" || o.Signature != "":
		return &channels.User{Name: channels.StripBidi(cmp.Or(o.HiddenUser, o.Signature))}
	}
	return nil
}

// OriginChat returns the chat of the original, or nil.
func (o *origin) OriginChat() *channels.SourceChat {
	if c := cmp.Or(o.Channel, o.SenderChat); c != nil {
		return c.ToOrigin()
	}
	return nil
}

// ToOrigin returns the chat as the origin of a message.
func (c *chat) ToOrigin() *channels.SourceChat {
	return &channels.SourceChat{ID: strconv.FormatInt(c.ID, 10), Title: channels.StripBidi(c.Title)}
}

// Forwarded returns where a message comes from, or nil if it is the sender's own.
func (m *Message) Forwarded() *channels.Forwarded {
	o := m.Origin.Value
	if o == nil {
		return nil
	}
	f := &channels.Forwarded{From: o.Author(), Chat: o.OriginChat()}
	if o.Date > 0 {
		f.Date = time.Unix(o.Date, 0).UTC().Format(time.RFC3339)
	}
	return f
}

// Quoted returns the message that this one replies to, in this or in another chat, or nil. The
// files of another chat's message are saved under this message's ID.
func (m *Message) Quoted() *Message {
	if m.External.Value == nil {
		return m.RepliedTo()
	}
	r := m.External.Value.Message
	r.ID, r.Chat, r.OriginalChat, r.Thread, r.IsTopic = m.ID, m.Chat, m.OriginalChat, m.Thread, m.IsTopic
	return &r
}

// Unreadable returns the text about a message's kind that cannot be read, or "".
func (m *Message) Unreadable() words.Key {
	for _, one := range []struct {
		content json.RawMessage
		text    words.Key
	}{
		{m.Story, words.UnreadableStories},
		{m.Game, words.UnreadableGames},
		{m.PaidMedia, words.UnreadablePaidMedia},
		{m.Giveaway, words.UnreadableGiveaways},
		{m.GiveawayWinners, words.UnreadableGiveaways},
		{m.Invoice, words.UnreadableInvoices},
	} {
		if len(one.content) > 0 {
			return one.text
		}
	}
	return ""
}

// Sender returns the author of a message. For an anonymous administrator or a channel, that is the
// group or channel.
func (m *Message) Sender() channels.User {
	if m.SenderChat != nil {
		return channels.User{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: channels.StripBidi(m.SenderChat.Title)}
	}
	if m.From == nil {
		return channels.User{}
	}
	return m.From.ToUser()
}

// ToUser returns the person as the author of a message.
func (u *user) ToUser() channels.User {
	return channels.User{
		ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(channels.StripBidi(u.FirstName + " " + u.LastName)),
		Username: u.Username, Language: u.LanguageCode,
	}
}
