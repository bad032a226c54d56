package sqlite

import (
	"context"
	"encoding/hex"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Search finds messages of a chat by the index. Words are quoted, so that none is an operator.
func (s questions) Search(ctx context.Context, f store.SearchFilter) ([]store.Found, error) {
	words := store.SearchWords(f.Text, store.MaxSearchWords)
	if len(words) == 0 {
		return nil, nil
	}
	chat := f.Chat.String()
	match := "\"\ue000" + strings.ToUpper(hex.EncodeToString([]byte(chat))) + `" "` + strings.Join(words, `" "`) + `"*`
	return readAll(ctx, s.state, "search "+chat, scanFound,
		`SELECT i.id, i.agent, CASE WHEN t.n IS NULL THEN i.incoming ELSE '' END, substr(coalesce(t.text, ''), 1, 65536), coalesce(t.media, '[]'),
			coalesce(t.at, i.received), coalesce(o.receipt, '')
		FROM search CROSS JOIN inbox i ON i.id = search.rowid >> 20
			LEFT JOIN transcript t ON t.inbound = i.id AND t.n = search.rowid & 0xfffff
			LEFT JOIN outbox o ON o.id = t.delivery
		WHERE search MATCH ?1 AND i.chat = ?2
			AND (NOT ?3 OR i.id > coalesce((SELECT inbound FROM afresh WHERE chat = ?2), 0))
		ORDER BY search.rowid DESC LIMIT ?4`, match, chat, f.Conversation, max(f.Limit, 0))
}

func scanFound(scan func(...any) error) (f store.Found, err error) {
	var in *channels.Incoming
	err = scan(&f.Inbound, &f.Agent, jsonColumn{to: &in, optional: true}, &f.Text, jsonColumn{to: &f.Media},
		timeColumn{&f.Time}, &f.Message)
	return prepared.Found(f, in), err
}
