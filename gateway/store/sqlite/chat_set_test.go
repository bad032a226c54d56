package sqlite_test

import (
	"context"
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// There are more chats than a chatSet holds, and the state is opened again with them.
func TestAllMemoriesOfManyChatsAreFound(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	chat := func(i int) channels.Chat { return channels.Chat{Channel: "net", ID: fmt.Sprint(i)} }
	const chats = 5000
	musttest.Do(t, sqlite.RememberMany(ctx, s, chats, chat))
	for _, s := range []*sqlite.Store{s, nil} {
		if s == nil {
			s = openStore(t, dir, sqlite.Options{})
		}
		for i := 0; i < chats; i += 500 {
			if got, err := s.Recall(ctx, chat(i), "key"); got != "value" || err != nil {
				t.Errorf("of chat %d: %q, %v", i, got, err)
			}
		}
		musttest.Do(t, s.Remember(ctx, chat(chats), "key", "value"))
		if got, err := s.Recall(ctx, chat(chats), "key"); got != "value" || err != nil {
			t.Errorf("of the last chat: %q, %v", got, err)
		}
		closeStore(t, s)
	}
}
