package sending

import (
	"context"
	"fmt"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/relocated"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/words"
)

// leaveTopic makes an answer go to the group itself, after its topic has refused it. It reports
// whether the call is to be made once more. Progress is not shown elsewhere.
func (s *Sender) leaveTopic(ctx context.Context, p *outgoingPost, err error) bool {
	if !isTopicClosed(err) || p.destination.Thread == 0 || p.fixedChat || p.class.Transient {
		return false
	}
	p.destination.Thread, p.rich = 0, "" // the text has room for the notice
	p.outgoing.ReplyTo = ""              // the answered message is in the topic
	limit := textLimit
	if p.sendAs != asText {
		limit = captionLimit
	}
	notice := s.words.For(p.outgoing.Language).Text(words.TopicClosed)
	text := entities.Text{Text: notice}
	if p.text.Text != "" {
		text = prepend(notice+"\n", p.text)
	}
	if channels.UTF16(text.Text) <= limit {
		p.text = text
		return true
	}
	returned, err := s.pace.Wait(ctx, p.destination.Chat, 1, p.class)
	if err == nil {
		err = botapi.Execute(ctx, s.api, (*bot.Bot).SendMessage,
			&bot.SendMessageParams{ChatID: p.destination.Chat, Text: notice, DisableNotification: true})
		returned()
	}
	if err != nil {
		s.log.Warn("chat not told that a topic is closed", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	}
	return true
}

// recordRelocated records that a message with buttons was sent outside of its topic, so that a
// press counts as one in the topic.
func (s *Sender) recordRelocated(ctx context.Context, p *outgoingPost, message int) {
	planned, err := chats.ParseAddress(p.outgoing.Chat.ID)
	if err != nil || planned.Thread == p.destination.Thread || len(p.outgoing.Buttons) == 0 {
		return
	}
	err = s.relocated.Add(ctx, s.memory, relocated.Message{
		ID:   relocatedID(p.destination.Chat, message),
		Chat: p.outgoing.Chat.ID,
	})
	if err != nil {
		s.log.Warn("presses of a message outside of its topic will not be understood after a restart",
			zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	}
}

// PressedChat returns the chat that a pressed message belongs to, which is the one where it is
// unless it was sent outside of its topic. chat is the ID of the chat for calls.
func (s *Sender) PressedChat(ctx context.Context, at chats.Address, chat int64, message int) chats.Address {
	m, found, err := s.relocated.Find(ctx, s.memory, relocatedID(chat, message))
	if err != nil {
		s.log.Warn("it is unknown which topic a pressed message belongs to", zap.Error(err))
	}
	if !found {
		return at
	}
	topic, err := chats.ParseAddress(m.Chat)
	if err != nil || topic.Chat != at.Chat {
		return at
	}
	return topic
}

func relocatedID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }
