package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// queryNumber reads a number from a database that nobody has open.
func queryNumber(t *testing.T, dir, query string) (n int64) {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", filepath.Join(dir, "nanobot.db")))(t)
	defer func() { _ = db.Close() }()
	musttest.Do(t, db.QueryRow(query).Scan(&n))
	return n
}

// selectDatabaseSize returns the size of the database in bytes.
const selectDatabaseSize = "SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())"

// requestPairing receives a stranger's message and sends the answer to it.
func requestPairing(t *testing.T, s *sqlite.Store, user, message, words string) {
	t.Helper()
	chat := channels.Chat{Channel: "net", ID: user}
	say := func(text string) []channels.Outgoing { return []channels.Outgoing{{Chat: chat, Text: text}} }
	refusal := musttest.Get(s.RequestPairing(ctx, store.PairingRequest{
		In:   channels.Incoming{Chat: chat, ID: message, Text: words, User: channels.User{ID: user}},
		Code: "C" + user + message, Limits: store.CodeLimits{Life: time.Hour, Open: 20, PerHour: 60}, Coded: say("code"), Later: say("later"),
	}))(t)
	if refusal != store.PairingCoded && refusal != store.PairingDeferred {
		return
	}
	delivery, ok, err := s.NextDelivery(ctx, chat, 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	musttest.Get(s.Settle(ctx, delivery.ID, store.Settlement{State: store.Sent, Receipt: "1"}))(t)
}

// TestManyMessagesOfStrangersDoNotGrowTheDatabase receives more messages of strangers than are
// stored, twice; 5,000 with NANOBOT_LONG=1.
func TestManyMessagesOfStrangersDoNotGrowTheDatabase(t *testing.T) {
	dir, messages := t.TempDir(), killtest.Rounds(t, 2400, 5000)
	words := string(make([]byte, 4096))
	flood := func(s *sqlite.Store, from, to, users int) {
		for i := from; i < to; i++ {
			requestPairing(t, s, fmt.Sprint(i%users), fmt.Sprint(i), words)
		}
	}
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 100) // messages of a person with access
	closeStore(t, s)
	began := queryNumber(t, dir, selectDatabaseSize)
	s = openStore(t, dir, sqlite.Options{})
	flood(s, 0, messages/2, 100)
	closeStore(t, s)
	half := queryNumber(t, dir, selectDatabaseSize)
	s = openStore(t, dir, sqlite.Options{})
	flood(s, messages/2, messages, 100)
	closeStore(t, s)
	whole := queryNumber(t, dir, selectDatabaseSize)
	// A code is stored with one text of four pages, a known message with a few dozen bytes.
	if half-began > 1<<20 || whole > half+64<<10 {
		t.Errorf("the database has %d bytes, %d after %d messages and %d after twice as many", began, half, messages/2, whole)
	}
	for table, most := range map[string]int64{"inbox": 100, "seen": 100, "outbox": 0, "transcript": 0, "pairing": 20, "refused": 1000, "code_made": 60, "told_later": 100} {
		if n := queryNumber(t, dir, "SELECT count(*) FROM "+table); n > most {
			t.Errorf("%s has %d rows, want at most %d", table, n, most)
		}
	}
}
