package store

import (
	"context"

	"nanobot/channels"
)

// Tokens map the token that an agent's process carries to the chat that it works for. A chat has
// one token, which Claim and Receive make when the chat's first message is claimed and return with
// each one: so every process of the chat carries the same, also one that is kept from turn to turn
// and one that is started after a restart. A token is as secret as the chat: it is neither logged
// nor shown.
type Tokens interface {
	// ChatOfToken returns the chat of a token. It reports false for a token that no chat has.
	ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error)
}
