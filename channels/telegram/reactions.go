package telegram

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
)

// reactionEmoji are the emoji of reactions. Telegram allows only a fixed set, in which ✅ and ❌
// are missing.
var reactionEmoji = map[channels.Reaction]string{channels.Taken: "👀", channels.Finished: "👌", channels.Broken: "💔"}

// Reacts reports whether the bot shows the state of a message by a reaction: in groups, until the
// server or the chat has refused one.
func (c *Channel) Reacts(chat channels.Chat) bool {
	to, err := parseChatAddress(chat.ID)
	return err == nil && to.isGroup() && c.o.Reactions != switchOff && c.support.knows(reactionMethod) && c.support.reactsIn(to.chat)
}

// React replaces the bot's reaction to a message, when no other call needs the rate limit. It does
// nothing about a message that no longer exists, or that nobody wrote, such as a pressed button.
func (c *Channel) React(ctx context.Context, chat channels.Chat, id string, r channels.Reaction) error {
	to, err := parseChatAddress(chat.ID)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	at, message, notMessage := parseMessageID(to.chat, id)
	if notMessage != nil || c.currentChat(ctx, at) != at {
		return nil //nolint:nilerr // see above
	}
	if err := c.pace.giveWay(ctx, at); err != nil {
		return err
	}
	params := &bot.SetMessageReactionParams{ChatID: at, MessageID: message}
	if emoji := reactionEmoji[r]; emoji != "" {
		params.Reaction = []models.ReactionType{{
			Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Type: models.ReactionTypeTypeEmoji, Emoji: emoji},
		}}
	}
	return c.handleReactionError(to.chat, at, executeWithTimeout(ctx, c.api, (*bot.Bot).SetMessageReaction, params))
}

// handleReactionError remembers what the error of a reaction says about the server or the chat.
// home is the chat's ID for the gateway.
func (c *Channel) handleReactionError(home, chat int64, err error) error {
	var apiErr *apiError
	switch {
	case isReactedMessageGone(err):
		return nil
	case c.recordUnknown(reactionMethod, err):
		return &channels.SendError{Err: err, Permanent: true}
	case !errors.As(err, &apiErr):
	case apiErr.MigrateTo != 0:
		c.migrations.recordNewID(chat, apiErr.MigrateTo)
		return nil
	case apiErr.isPermanent():
		c.support.refuseReactions(home)
	default:
		c.pace.block(chat, apiErr.retryDelay(), false)
	}
	return sendError(err)
}

// isReactedMessageGone reports whether the message of a reaction does not exist.
func isReactedMessageGone(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusBadRequest &&
		apiErr.mentions("message to react not found", "message not found", "MESSAGE_ID_INVALID")
}
