package telegramtest

import (
	"encoding/json"
	"slices"
)

// reactionEmoji are the emoji of a ReactionTypeEmoji.
var reactionEmoji = []string{
	"❤", "👍", "👎", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏", "👌", "🕊", "🤡", "🥱", "🥴",
	"😍", "🐳", "❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔", "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻",
	"👨‍💻", "👀", "🎃", "🙈", "😇", "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊",
	"🙊", "😎", "👾", "🤷‍♂", "🤷", "🤷‍♀", "😡",
}

// reactionType is a Bot API ReactionType.
type reactionType struct {
	Type        string `json:"type"`
	Emoji       string `json:"emoji"`
	CustomEmoji string `json:"custom_emoji_id"`
}

// AllowReactions sets the emoji that a chat allows; none means that it allows no reactions. A chat
// allows all emoji of Telegram by default.
func (s *Server) AllowReactions(chat int64, emoji ...string) {
	s.Update(func() { s.chatByID(chat).reactions = slices.Concat([]string{}, emoji) })
}

// Reaction returns the bot's reaction to a message, or "".
func (s *Server) Reaction(chat int64, message int) string {
	s.Lock()
	defer s.Unlock()
	if m := s.chatByID(chat).find(message); m != nil {
		return m.reaction
	}
	return ""
}

// setMessageReaction replaces the bot's reaction to a message. Bots may set one.
func (s *Server) setMessageReaction(c *Call) (any, error) {
	var reactions []reactionType
	if c.has("reaction") {
		if err := decodeStrict("ReactionType", c.Params["reaction"], &reactions); err != nil {
			return nil, err
		}
	}
	emoji := ""
	for _, r := range reactions {
		if r.Type != "emoji" || r.CustomEmoji != "" || !slices.Contains(reactionEmoji, r.Emoji) || len(reactions) > 1 {
			return nil, violationError("REACTION_INVALID: %s", encode(json.RawMessage(c.Params["reaction"])))
		}
		emoji = r.Emoji
	}
	to, err := s.writableChat(c)
	if err != nil {
		return nil, err
	}
	m := to.find(int(c.IntParam("message_id")))
	switch {
	case m == nil:
		return nil, expectedError("message to react not found")
	case emoji != "" && to.reactions != nil && !slices.Contains(to.reactions, emoji):
		return nil, expectedError("REACTION_INVALID")
	}
	m.reaction = emoji
	return true, nil
}
