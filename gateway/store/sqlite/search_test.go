package sqlite_test

import (
	"testing"
	"unicode"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// TestNoLetterSplitsAWordOfASearch finds letters that SQLite takes for the end of a word, which is
// an error of the query.
func TestNoLetterSplitsAWordOfASearch(t *testing.T) {
	s := openStore(t, t.TempDir(), sqlite.Options{})
	defer closeStore(t, s)
	search := func(runes []rune) error {
		_, err := s.Search(ctx, store.SearchFilter{Chat: channels.Chat{Channel: "net", ID: "a"}, Text: string(runes), Limit: 1})
		return err
	}
	for first := rune(1); first <= unicode.MaxRune; first += 100 {
		word := []rune("a")
		for r := first; r < first+100; r++ {
			if unicode.In(r, unicode.L, unicode.N, unicode.M) {
				word = append(word, r, 'a')
			}
		}
		if err := search(word); err != nil {
			t.Fatalf("from %U: %v", first, err)
		}
	}
}

func TestTheWordsOfDeletedMessagesLeaveTheIndexWithAMerge(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	for _, text := range []string{"hunter2", "kept"} {
		in := channels.Incoming{Chat: chat, ID: text[:1], Text: text + " asked"}
		turn := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true}))(t).Inbound
		_, _, err := s.Enqueue(ctx, store.Outbound{Inbound: turn.ID, Entry: &store.Entry{Role: "agent", Text: text + " answered"}})
		musttest.Do(t, err)
		musttest.Get(s.Finish(ctx, turn.ID, store.Done, store.Outcome{}))(t)
	}
	if found := statesWith(t, dir, "hunter2"); len(found) == 0 {
		t.Fatal("nothing was indexed")
	}
	musttest.Do(t, s.Prune(ctx, store.Retention{Count: 1}))
	closeStore(t, s)
	editDatabase(t, dir, "PRAGMA secure_delete = ON; INSERT INTO search (search) VALUES ('optimize')")
	if found := statesWith(t, dir, "hunter2"); len(found) > 0 {
		t.Errorf("%v have a word of a deleted message", found)
	}
}
