package sending

import (
	"context"
	"hash/fnv"
	"strconv"

	"github.com/go-telegram/bot"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
)

// Drafts reports whether unfinished answers are shown as drafts: in private chats, until the server
// has refused one.
func (s *Sender) Drafts(chat channels.Chat) bool {
	to, err := chats.ParseAddress(chat.ID)
	return err == nil && !to.IsGroup() && s.drafts && s.support.mayUse(draftMethod)
}

// Draft shows an unfinished answer for up to 30 seconds. It gives way to answers like every
// transient message. Buttons and files of o are ignored, because a draft has none.
func (s *Sender) Draft(ctx context.Context, key string, o channels.Outgoing) error {
	o.Transient = true
	p, err := newOutgoingPost(o)
	if err != nil {
		return permanent(err)
	}
	p.sendAs, p.files, p.newMethod = asText, nil, draftMethod
	err = s.callWithRepairs(ctx, p, func() error {
		return botapi.ExecuteWithTimeout(ctx, s.api, (*bot.Bot).SendMessageDraft, &bot.SendMessageDraftParams{
			ChatID: p.destination.Chat, MessageThreadID: p.destination.Thread, DraftID: strconv.Itoa(draftID(key)),
			Text: validUTF8(p.text.Text), Entities: p.text.Entities,
		})
	})
	if s.support.recordUnknown(draftMethod, err) || !s.support.mayUse(draftMethod) {
		return permanent(err)
	}
	return httpclient.SendError(err)
}

// draftID returns the identifier of the drafts with a key: positive and not zero, as Telegram
// wants.
func draftID(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	return int(h.Sum32()>>1) | 1
}
