package sending

import (
	"context"
	"errors"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/pace"
)

// reactionEmoji are the emoji of reactions. Telegram allows only a fixed set, in which ✅ and ❌
// are missing.
var reactionEmoji = map[channels.Reaction]string{channels.Taken: "👀", channels.Finished: "👌", channels.Broken: "💔"}

// Reacts reports whether the bot shows the state of a message by a reaction: in groups, until the
// server or the chat has refused one.
func (s *Sender) Reacts(chat channels.Chat) bool {
	to, err := chats.ParseAddress(chat.ID)
	return err == nil && to.IsGroup() && s.reactions && s.support.allows(reactionMethod) && s.support.allows(to.Chat)
}

// React replaces the bot's reaction to a message, when no other call needs the rate limit. It does
// nothing about a message that no longer exists, or that nobody wrote, such as a pressed button.
func (s *Sender) React(ctx context.Context, chat channels.Chat, id string, r channels.Reaction) error {
	to, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return permanent(err)
	}
	at, message, notMessage := chats.ParseMessageID(to.Chat, id)
	if notMessage != nil || s.migrations.CurrentID(ctx, at) != at {
		return nil //nolint:nilerr // see above
	}
	if err := s.pace.GiveWay(ctx, at, pace.Reaction); err != nil {
		return err
	}
	params := &bot.SetMessageReactionParams{ChatID: at, MessageID: message}
	if emoji := reactionEmoji[r]; emoji != "" {
		params.Reaction = []models.ReactionType{{
			Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{
				Type:  models.ReactionTypeTypeEmoji,
				Emoji: emoji,
			},
		}}
	}
	return s.handleReactionError(to.Chat, at, botapi.ExecuteWithTimeout(ctx, s.api, (*bot.Bot).SetMessageReaction, params))
}

// handleReactionError remembers what the error of a reaction says about the server or the chat.
// home is the chat's ID for the gateway.
func (s *Sender) handleReactionError(home, chat int64, err error) error {
	var apiErr *botapi.Error
	switch {
	case isReactedMessageGone(err):
		return nil
	case s.support.recordUnknown(reactionMethod, err):
		return permanent(err)
	case !errors.As(err, &apiErr):
	case apiErr.MigrateTo != 0:
		s.migrations.RecordNewID(chat, apiErr.MigrateTo)
		return nil
	case apiErr.IsPermanent() && !apiErr.SendError().Closed:
		s.support.refuseReactions(home)
	default:
		s.pace.Block(chat, botapi.RetryDelay(err), false)
	}
	return httpclient.SendError(err)
}
