package sending

import (
	"context"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/pace"
)

const (
	// actionInterval is a little less than the five seconds for which Telegram shows an action.
	actionInterval = 4 * time.Second
	// minShownUpload is the smallest upload whose progress is shown. Smaller ones are fast.
	minShownUpload = 1 << 20
)

// Typing shows for about five seconds that the bot is typing. It does nothing while the chat is
// blocked.
func (s *Sender) Typing(ctx context.Context, chat channels.Chat) error {
	to, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return err
	}
	to.Chat = s.migrations.CurrentID(ctx, to.Chat)
	s.pace.ExpectAnswer(to.Chat, to.Thread)
	return s.showAction(ctx, to, models.ChatActionTyping)
}

// showAction shows the bot's activity, unless the chat is blocked or other calls need the rate
// limit.
func (s *Sender) showAction(ctx context.Context, to chats.Address, action models.ChatAction) error {
	if s.pace.BlockedFor(to.Chat) > 0 || s.pace.SpareIn(pace.Reaction) > 0 {
		return nil
	}
	err := botapi.ExecuteWithTimeout(ctx, s.api, (*bot.Bot).SendChatAction, &bot.SendChatActionParams{
		ChatID: to.Chat, MessageThreadID: to.Thread, Action: action,
	})
	s.pace.Block(to.Chat, botapi.RetryDelay(err), false)
	return httpclient.SendError(err)
}

// showUploadAction shows an upload action until done is called, if the upload takes a while.
func (s *Sender) showUploadAction(ctx context.Context, p *outgoingPost) (done func()) {
	var size int64
	for _, f := range p.files {
		size += f.Size
	}
	if size < minShownUpload {
		return func() {}
	}
	to, action := p.destination, p.action()
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			_ = s.showAction(ctx, to, action) // the upload reports errors
			if !httpclient.Sleep(ctx, actionInterval) {
				return
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// action is what Telegram calls the sending of such a file; an album is what its first item is.
func (p *outgoingPost) action() models.ChatAction {
	as := p.sendAs
	if as == asAlbum {
		as = sendAsOf(p.files[0])
	}
	switch as {
	case asPhoto:
		return models.ChatActionUploadPhoto
	case asVideo, asAnimation:
		return models.ChatActionUploadVideo
	case asAudio, asVoice:
		return models.ChatActionUploadVoice
	}
	return models.ChatActionUploadDocument
}
