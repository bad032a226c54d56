package telegram

import (
	"cmp"
	"encoding/json"
	"strconv"
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
	message
}

// author returns the person who wrote the original, or nil.
func (o *origin) author() *channels.User {
	switch {
	case o.User != nil:
		u := o.User.toUser()
		return &u
	case o.HiddenUser != "" || o.Signature != "":
		return &channels.User{Name: channels.StripBidi(cmp.Or(o.HiddenUser, o.Signature))}
	}
	return nil
}

// originChat returns the chat of the original, or nil.
func (o *origin) originChat() *channels.Origin {
	if c := cmp.Or(o.Channel, o.SenderChat); c != nil {
		return c.toOrigin()
	}
	return nil
}

func (c *chat) toOrigin() *channels.Origin {
	return &channels.Origin{ID: strconv.FormatInt(c.ID, 10), Title: channels.StripBidi(c.Title)}
}

// forwarded returns where a message comes from, or nil if it is the sender's own.
func (m *message) forwarded() *channels.Forwarded {
	o := m.Origin.value
	if o == nil {
		return nil
	}
	f := &channels.Forwarded{From: o.author(), Chat: o.originChat()}
	if o.Date > 0 {
		f.Date = time.Unix(o.Date, 0).UTC().Format(time.RFC3339)
	}
	return f
}

// quoted returns the message that this one replies to, in this or in another chat, or nil. The
// files of another chat's message are saved under this message's ID.
func (m *message) quoted() *message {
	if m.External.value == nil {
		return m.repliedTo()
	}
	r := m.External.value.message
	r.ID, r.Chat, r.originalChat, r.Thread, r.IsTopic = m.ID, m.Chat, m.originalChat, m.Thread, m.IsTopic
	return &r
}

// unreadable returns the text about a message's kind that cannot be read, or "".
func (m *message) unreadable() words.Key {
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
