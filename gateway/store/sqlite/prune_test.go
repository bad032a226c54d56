package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// TestTheFileShrinksWhenOldMessagesArePruned begins with a database of an earlier version, whose
// file could only grow.
func TestTheFileShrinksWhenOldMessagesArePruned(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	open := func() *sqlite.Store { return openStore(t, dir, sqlite.Options{Now: func() time.Time { return now }}) }
	musttest.Do(t, open().Close())
	file := filepath.Join(dir, sqlite.Database)
	db := musttest.Get(sql.Open("sqlite", "file:"+file))(t)
	musttest.Get(db.ExecContext(ctx, "PRAGMA auto_vacuum = NONE; VACUUM"))(t)
	musttest.Do(t, db.Close())

	s := open()
	for i := range 1000 {
		musttest.Get(s.Receive(ctx, store.ReceiveRequest{Settle: true, In: channels.Incoming{
			Chat: channels.Chat{Channel: "net", ID: "1"}, ID: strconv.Itoa(i), Text: strings.Repeat("x", 8000),
			User: channels.User{ID: "7"},
		}}))(t)
	}
	musttest.Do(t, s.Close())
	full := musttest.Get(os.Stat(file))(t).Size()
	s, now = open(), now.Add(time.Hour)
	musttest.Do(t, s.Prune(ctx, store.Retention{Age: time.Minute}))
	musttest.Do(t, s.Close())
	left := musttest.Get(os.Stat(file))(t).Size()
	wanttest.Equal(t, "the file shrinks", full > 8e6 && left < 2e6, true)
	if t.Failed() {
		t.Logf("%d bytes, and %d after the pruning", full, left)
	}
}
