package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/relocated"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/words"
)

// isTopicClosed reports whether a call was refused because its topic is closed or deleted.
func isTopicClosed(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest && apiErr.mentions("thread not found", "TOPIC_CLOSED", "TOPIC_DELETED")
}

// leaveTopic makes an answer go to the group itself, after its topic has refused it. It reports
// whether the call is to be made once more. Progress is not shown elsewhere.
func (c *Channel) leaveTopic(ctx context.Context, p *outgoingPost, err error) bool {
	if !isTopicClosed(err) || p.destination.thread == 0 || p.fixedChat || p.class.transient {
		return false
	}
	p.destination.thread, p.rich = 0, "" // the text has room for the notice
	p.outgoing.ReplyTo = ""              // the answered message is in the topic
	limit := textLimit
	if p.sendAs != asText {
		limit = captionLimit
	}
	notice := c.words.For(p.outgoing.Language).Text(words.TopicClosed)
	if text := addLine(notice, p.text); channels.UTF16(text.Text) <= limit {
		p.text = text
		return true
	}
	err = c.pace.wait(ctx, p.destination.chat, 1, p.class)
	if err == nil {
		_, err = execute(ctx, c.api, (*bot.Bot).SendMessage, &bot.SendMessageParams{ChatID: p.destination.chat, Text: notice, DisableNotification: true})
	}
	if err != nil {
		c.log.Warn("chat not told that a topic is closed", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	}
	return true
}

// recordRelocated records that a message with buttons was sent outside of its topic, so that a
// press counts as one in the topic.
func (c *Channel) recordRelocated(ctx context.Context, p *outgoingPost, message int) {
	planned, err := parseChatAddress(p.outgoing.Chat.ID)
	if err != nil || planned.thread == p.destination.thread || len(p.outgoing.Buttons) == 0 {
		return
	}
	err = c.relocated.Add(ctx, c.memory, relocated.Message{ID: relocatedID(p.destination.chat, message), Chat: p.outgoing.Chat.ID})
	if err != nil {
		c.log.Warn("presses of a message outside of its topic will not be understood after a restart", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	}
}

// pressedChat returns the chat that a pressed message belongs to, which is the one where it is
// unless it was sent outside of its topic.
func (c *Channel) pressedChat(ctx context.Context, p *callbackQuery) chatAddress {
	at := p.Message.address()
	m, found, err := c.relocated.Find(ctx, c.memory, relocatedID(p.Message.Chat.ID, p.Message.ID))
	if err != nil {
		c.log.Warn("it is unknown which topic a pressed message belongs to", zap.Error(err))
	}
	if !found {
		return at
	}
	topic, err := parseChatAddress(m.Chat)
	if err != nil || topic.chat != at.chat {
		return at
	}
	return topic
}

func relocatedID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }

// addLine returns a text after a line.
func addLine(line string, t entities.Text) entities.Text {
	out := entities.Text{Text: line}
	if t.Text != "" {
		out.Text += "\n" + t.Text
	}
	shift := channels.UTF16(line) + 1
	for _, e := range t.Entities {
		e.Offset += shift
		out.Entities = append(out.Entities, e)
	}
	return out
}
