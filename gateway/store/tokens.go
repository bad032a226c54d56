package store

import (
	"context"

	"nanobot/channels"
)

// Tokens maps the token that an agent's process carries to its chat. A chat has one token, which
// Claim and Receive create with the chat's first claimed message and return with every claimed
// message. So all processes of the chat carry the same token, including persistent agents and
// agents after a restart. A token is a secret: it is neither logged nor shown.
type Tokens interface {
	// ChatOfToken returns the chat of a token. It reports false for an unknown token.
	ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error)
}
