// Package chats names Telegram's chats and messages as the gateway does: by IDs that stay the same
// when a group becomes a supergroup. It makes no calls.
package chats

import (
	"fmt"
	"strconv"
	"strings"
)

// Address is a chat and, in a forum, a topic.
type Address struct {
	Chat   int64
	Thread int
}

// ParseAddress parses the gateway's chat ID. A topic is a chat of its own: -100123_45.
func ParseAddress(id string) (Address, error) {
	chat, thread, topic := strings.Cut(id, "_")
	var a Address
	var err error
	if a.Chat, err = strconv.ParseInt(chat, 10, 64); err != nil || a.Chat == 0 {
		return Address{}, fmt.Errorf("%q is not a Telegram chat", id)
	}
	if topic {
		if a.Thread, err = strconv.Atoi(thread); err != nil || a.Thread <= 0 {
			return Address{}, fmt.Errorf("%q is not a Telegram topic", id)
		}
	}
	return a, nil
}

func (a Address) String() string {
	if a.Thread == 0 {
		return strconv.FormatInt(a.Chat, 10)
	}
	return fmt.Sprintf("%d_%d", a.Chat, a.Thread)
}

// IsGroup reports whether the chat is a group. Telegram gives negative IDs to groups of all kinds.
func (a Address) IsGroup() bool { return a.Chat < 0 }

// BotSeparator follows a bot's ID in the prefix of a message ID.
const BotSeparator = ":"

// MessageID returns the gateway's ID of a message: its number, with the chat before it if that
// differs from the original chat. A number alone would mean a message from before the migration.
func MessageID(home, chat int64, number int) string {
	if chat == home {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%d/%d", chat, number)
}

// ParseMessageID returns the chat and the number of a message.
func ParseMessageID(home int64, id string) (chat int64, number int, err error) {
	chat = home
	if _, rest, found := strings.Cut(id, BotSeparator); found {
		id = rest
	}
	if before, after, found := strings.Cut(id, "/"); found {
		chat, err = strconv.ParseInt(before, 10, 64)
		id = after
	}
	if err == nil {
		number, err = strconv.Atoi(id)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not a Telegram message", id)
	}
	return chat, number, nil
}

// Link returns the address of a message, "": it has none. The IDs of supergroups and channels are
// -100 and the number in the address.
func Link(home Address, id string) string {
	const supergroup = -1_000_000_000_000
	chat, message, err := ParseMessageID(home.Chat, id)
	switch {
	case err != nil || message <= 0 || chat >= supergroup:
		return ""
	case home.Thread != 0:
		return fmt.Sprintf("https://t.me/c/%d/%d/%d", supergroup-chat, home.Thread, message)
	}
	return fmt.Sprintf("https://t.me/c/%d/%d", supergroup-chat, message)
}
