package sqlite

import (
	"context"
	"crypto/rand"

	"nanobot/channels"
)

// ChatOfToken returns the chat of a token.
func (s inbox) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	return readOne(ctx, s.state, "look up a token", scanChat, "SELECT chat FROM token WHERE token = ?", token)
}

// ensureToken returns the token of a chat, and creates one if there is none.
func ensureToken(t *tx, chat string) (token string) {
	if !t.queryRow("SELECT token FROM token WHERE chat = ?", []any{chat}, &token) {
		token = rand.Text()
		t.exec("INSERT INTO token (token, chat) VALUES (?, ?)", token, chat)
	}
	return token
}

// revokeTokens deletes the tokens of the chats in which only the given user has written, so that
// copies of these tokens become useless when the user loses access.
func revokeTokens(t *tx, channel, user string) {
	t.exec(`DELETE FROM token WHERE chat IN (SELECT DISTINCT i.chat FROM inbox i WHERE `+senderCondition+`)
		AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.chat = token.chat
			AND CASE WHEN json_valid(o.incoming) THEN o.incoming ->> '$.user.id' <> ?2 END)`, channel, user)
}
