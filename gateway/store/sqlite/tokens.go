package sqlite

import (
	"context"
	"crypto/rand"

	"nanobot/channels"
)

// ChatOfToken returns the chat of a token.
func (s *Store) ChatOfToken(ctx context.Context, token string) (channels.Chat, bool, error) {
	var chat string
	found, err := s.queryRow(ctx, "SELECT chat FROM token WHERE token = ?", []any{token}, &chat)
	if err != nil || !found {
		return channels.Chat{}, false, wrapError("look up a token", err)
	}
	return chatOf(chat), true, nil
}

// ensureToken returns the token of a chat, and creates one if there is none.
func (t *tx) ensureToken(chat string) (token string, err error) {
	found, err := t.queryRow("SELECT token FROM token WHERE chat = ?", []any{chat}, &token)
	if err != nil || found {
		return token, err
	}
	token = rand.Text()
	return token, t.exec("INSERT INTO token (token, chat) VALUES (?, ?)", token, chat)
}

// revokeTokens deletes the tokens of the chats in which only the given user has written, so that
// copies of these tokens become useless when the user loses access.
func (t *tx) revokeTokens(channel, user string) error {
	return t.exec(`DELETE FROM token WHERE chat IN (SELECT DISTINCT i.chat FROM inbox i WHERE `+senderCondition+`)
		AND NOT EXISTS (SELECT 1 FROM inbox o WHERE o.chat = token.chat
			AND CASE WHEN json_valid(o.incoming) THEN o.incoming ->> '$.user.id' <> ?2 END)`, channel, user)
}
