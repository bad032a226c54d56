package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
)

// queueAutomatic stores messages of a hook that wait in a chat.
func queueAutomatic(t testing.TB, s store.Store, chat channels.Chat, n int) {
	t.Helper()
	musttest.Do(t, runParallel(32, func(w int) error {
		for i := w; i < n; i += 32 {
			in := channels.Incoming{Chat: chat, Origin: channels.ByHook("ci"), Text: fmt.Sprint(i)}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestTheFirstMessageOfAChatIsFoundByAnIndex(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, openStore(t, dir, sqlite.Options{}))
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.Database)+"?mode=ro"))(t)
	defer db.Close()
	for _, query := range []string{
		"SELECT i.id FROM inbox i WHERE i.state = 'pending' AND i.chat = 'c' AND i.ended = 0 ORDER BY " + sqlite.GoesLast + ", i.id LIMIT 1",
		"SELECT count(*) FROM inbox WHERE state = 'pending' AND chat = 'c' AND ended = 0 AND " + sqlite.GoesLast + " <= 0",
	} {
		plan := ""
		rows := musttest.Get(db.Query("EXPLAIN QUERY PLAN " + query))(t)
		for rows.Next() {
			var detail string
			musttest.Do(t, rows.Scan(new(int), new(int), new(int), &detail))
			plan += detail + "; "
		}
		musttest.Do(t, rows.Err())
		if !strings.Contains(plan, "INDEX inbox_open (state=? AND chat=?") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s", query, plan)
		}
	}
}

// A state of the version before this one has the index without the origin.
func TestAStateWithoutOriginsIsUpgraded(t *testing.T) {
	dir, chat := t.TempDir(), channels.Chat{Channel: "net", ID: "a"}
	s := openStore(t, dir, sqlite.Options{})
	in := channels.Incoming{Chat: chat, ID: "1", Text: "person", User: channels.User{ID: "7"}}
	musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: in}))(t)
	closeStore(t, s)
	editDatabase(t, dir, sqlitetest.UndoTo21, `ALTER TABLE transient DROP COLUMN owner; DROP INDEX inbox_open; DROP INDEX inbox_origin; ALTER TABLE inbox DROP COLUMN origin;
		CREATE INDEX inbox_open ON inbox (state, chat, id) WHERE ended = 0; DROP TABLE schedule; DROP TABLE occurrence;
		PRAGMA user_version = 19`)
	s = openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	queueAutomatic(t, s, chat, 1)
	for _, want := range []string{"person", "0"} {
		claimed := musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 1}))(t)
		if len(claimed) != 1 || claimed[0].In.Text != want {
			t.Fatalf("claimed %+v, want %s", claimed, want)
		}
		musttest.Get(s.Finish(ctx, claimed[0].ID, store.Done, store.Outcome{}))(t)
	}
}
