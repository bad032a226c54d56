package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// Entry is one message of a transcript. Role is user or agent.
type Entry struct {
	Role    string    `json:"role"`
	Text    string    `json:"text"`
	Media   []string  `json:"media,omitempty"`
	Time    time.Time `json:"time"`
	Inbound int64     `json:"-"`
}

// Transcripts are the conversations of chats, without progress. A user's message is included when
// its turn has started.
type Transcripts interface {
	// History returns the entries of the last turns of a chat since the last new conversation,
	// oldest first, without those of one inbound message.
	History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]Entry, error)
	// Search returns the messages that match a filter, newest first.
	Search(ctx context.Context, f SearchFilter) ([]Found, error)
}

// LastingPrefix is the prefix of the keys of memories that survive a new conversation.
const LastingPrefix = "lasting:"

// ConversationMemory is the memory that names a chat's conversation. StartConversation replaces it
// by a value that the chat has not had; "": no conversation was started.
const ConversationMemory = LastingPrefix + "conversation"

// VerboseMemory is the memory that says whether a chat wants boards: NoBoard, or "" for boards.
const (
	VerboseMemory = LastingPrefix + "verbose"
	NoBoard       = "0"
)

// ScreenMemory is the memory that names the message with the live screen of a chat.
const ScreenMemory = LastingPrefix + "live-screen"

// Memories are named values of a chat. StartConversation removes those without LastingPrefix. The
// values of the zero Chat belong to the gateway.
type Memories interface {
	// Recall returns the value of a key, or "".
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	// Remember replaces the value of a key; "" removes it.
	Remember(ctx context.Context, chat channels.Chat, key, value string) error
}
