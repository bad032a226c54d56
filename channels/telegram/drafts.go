package telegram

import (
	"context"
	"hash/fnv"
	"strconv"

	"github.com/go-telegram/bot"

	"nanobot/channels"
)

// Drafts reports whether unfinished answers are shown as drafts: in private chats, until the server
// has refused one.
func (c *Channel) Drafts(chat channels.Chat) bool {
	to, err := parseChatAddress(chat.ID)
	return err == nil && !to.isGroup() && c.o.Drafts != switchOff && c.support.knows(draftMethod)
}

// Draft shows an unfinished answer for up to 30 seconds. It gives way to answers like every
// transient message. Buttons and files of o are ignored, because a draft has none.
func (c *Channel) Draft(ctx context.Context, key string, o channels.Outgoing) error {
	o.Transient = true
	p, err := newOutgoingPost(o)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	p.sendAs, p.files = asText, nil
	err = c.callWithRepairs(ctx, p, func() error {
		return executeWithTimeout(ctx, c.api, (*bot.Bot).SendMessageDraft, &bot.SendMessageDraftParams{
			ChatID: p.destination.chat, MessageThreadID: p.destination.thread, DraftID: strconv.Itoa(draftID(key)),
			Text: validUTF8(p.text.Text), Entities: messageEntities(p.text.Entities),
		})
	})
	if c.recordUnknown(draftMethod, err) {
		return &channels.SendError{Err: err, Permanent: true}
	}
	return sendError(err)
}

// draftID returns the identifier of the drafts with a key: positive and not zero, as Telegram
// wants.
func draftID(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	return int(h.Sum32()>>1) | 1
}
