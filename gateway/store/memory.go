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

// SearchDepth is how many turns of a chat are searched.
const SearchDepth = 10_000

// Transcripts are the conversations of chats, without progress. A user's message is part of it once
// its turn has begun.
type Transcripts interface {
	// History returns the entries of the last n turns of a chat since it was started afresh, oldest
	// first; without those of one inbound message.
	History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]Entry, error)
	// Search returns the entries of a chat since it was started afresh whose text contains all of
	// the words, without regard to case: the newest first, and limit at most. Of a long
	// conversation only the last SearchDepth turns are searched.
	Search(ctx context.Context, chat channels.Chat, words []string, limit int) ([]Entry, error)
	// StartAfresh forgets what was said so far, for History, and what is remembered of the chat but
	// for what is Lasting.
	StartAfresh(ctx context.Context, chat channels.Chat) error
}

// Lasting leads the keys of memories that stay when a chat is started afresh.
const Lasting = "lasting:"

// Memories are what is known of a chat beyond what was said, until it is started afresh. Those of
// the zero Chat are the gateway's own.
type Memories interface {
	// Recall returns what is remembered under a key, or "".
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	// Remember replaces it; "" removes it.
	Remember(ctx context.Context, chat channels.Chat, key, value string) error
}
