package telegram

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

const (
	// actionEvery is a little less than the five seconds for which Telegram shows an action.
	actionEvery = 4 * time.Second
	// smallUpload is about what is sent before anybody looks.
	smallUpload = 1 << 20
)

// Typing shows for some five seconds that somebody is typing. It is left out while the chat must be
// left alone.
func (c *Channel) Typing(ctx context.Context, chat channels.Chat) error {
	to, err := parsePlace(chat.ID)
	if err != nil {
		return err
	}
	to.chat = c.current(ctx, to.chat)
	return c.act(ctx, to, models.ChatActionTyping)
}

// act shows what the bot is about, unless the chat must be left alone.
func (c *Channel) act(ctx context.Context, to place, action models.ChatAction) error {
	if c.pace.held(to.chat) {
		return nil
	}
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).SendChatAction, &bot.SendChatActionParams{
		ChatID: to.chat, MessageThreadID: to.thread, Action: action,
	})
	var no *refusal
	if errors.As(err, &no) {
		c.pace.hold(to.chat, no.wait(), false)
	}
	return err
}

// announce shows, until done is called, what sort of file is on its way, if that takes a while.
func (c *Channel) announce(ctx context.Context, p *post) (done func()) {
	var size int64
	for _, f := range p.files {
		size += f.Size
	}
	if size < smallUpload {
		return func() {}
	}
	to, action := p.to, p.action()
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			_ = c.act(ctx, to, action) // if it fails the upload will say why
			if !httpclient.Sleep(ctx, actionEvery) {
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
func (p *post) action() models.ChatAction {
	as := p.as
	if as == asAlbum {
		as = single(p.files[0])
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
