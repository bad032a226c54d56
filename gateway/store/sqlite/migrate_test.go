package sqlite_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// createOldestSchema creates a state with the oldest schema that is read.
func createOldestSchema(t *testing.T, rows string) string {
	t.Helper()
	dir := t.TempDir()
	schema := musttest.Get(os.ReadFile("migrations/7.sql"))(t)
	editDatabase(t, dir, string(schema), "PRAGMA user_version = 7", rows)
	return dir
}

// editDatabase runs scripts in a database, which a daemon may be using.
func editDatabase(t *testing.T, dir string, scripts ...string) {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "nanobot.db")+"?_pragma=busy_timeout(300000)"))(t)
	for _, script := range scripts {
		musttest.Get(db.Exec(script))(t)
	}
	musttest.Do(t, db.Close())
}

var update = flag.Bool("update", false, "write schema.sql again")

// readSchema returns the statements that make the schema of a database.
func readSchema(t *testing.T, dir string) string {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "nanobot.db")))(t)
	defer func() { musttest.Do(t, db.Close()) }()
	rows := musttest.Get(db.Query(`SELECT sql FROM sqlite_schema WHERE sql <> '' AND name <> 'sqlite_sequence'
		AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow') ORDER BY rowid`))(t)
	var all strings.Builder
	for rows.Next() {
		var statement string
		musttest.Do(t, rows.Scan(&statement))
		all.WriteString(statement + ";\n")
	}
	musttest.Do(t, rows.Err())
	return all.String()
}

func TestANewDatabaseHasTheSchemaThatMigrationsMake(t *testing.T) {
	dir := createOldestSchema(t, "")
	closeStore(t, openStore(t, dir, sqlite.Options{}))
	migrated := readSchema(t, dir)
	const head = "-- What the migrations make of no schema. A test writes it: go test ./gateway/store/sqlite -run NewDatabase -update\n"
	if *update {
		musttest.Do(t, os.WriteFile("schema.sql", []byte(head+migrated), 0o644))
	}
	wanttest.Equal(t, "schema.sql", string(musttest.Get(os.ReadFile("schema.sql"))(t)), head+migrated)
	created := t.TempDir()
	closeStore(t, openStore(t, created, sqlite.Options{}))
	wanttest.Equal(t, "the schema of a new database", readSchema(t, created), migrated)
}

func TestASchemaThatIsTooOldIsRefused(t *testing.T) {
	dir := createOldestSchema(t, "PRAGMA user_version = 6")
	if s, err := sqlite.Open(ctx, dir, sqlite.Options{}); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("opened %v with %v", s, err)
	}
}

func TestTurnsOfAnOldStateAreThoseOfTheDefaultAgent(t *testing.T) {
	dir := createOldestSchema(t, `
		INSERT INTO inbox (id, chat, state, attempt, received, incoming) VALUES (1, 'net:a', 'pending', 0, 10, '{"text":"waits"}');
		INSERT INTO line (chat) VALUES ('net:a')`)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	if got, err := s.Claim(ctx, store.ClaimRequest{Limit: 2}); len(got) != 1 || got[0].Agent != store.DefaultAgent || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheTransientMessageOfAnOldStateIsStillKnown(t *testing.T) {
	dir := createOldestSchema(t, `INSERT INTO inbox (id, chat, state, received, incoming) VALUES
		(1, 'net:a', 'running', 10, '{}'), (2, 'net:b', 'running', 10, '{}');
		INSERT INTO bubble VALUES ('net:a', '77', 1)`)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	transients, err := s.Transients(ctx)
	want := store.Transient{Chat: channels.Chat{Channel: "net", ID: "a"}, ID: "77", Inbound: 1}
	if err != nil || len(transients) != 1 || transients[0] != want {
		t.Errorf("got %+v, %v", transients, err)
	}
	if got, err := s.Recall(ctx, want.Chat, "agent"); got != "" || err != nil {
		t.Errorf("remembered %q, %v", got, err)
	}
}

func TestADoubtfulSendOfAnOldStateIsStillDoubtful(t *testing.T) {
	dir := createOldestSchema(t, `INSERT INTO outbox (id, item, place, part, digest, chat, state, queued, reason, outgoing) VALUES
		(1, 0, 0, 0, x'', 'net:a', 'pending', 10, 'outcome unknown: cut off', '{}'),
		(2, 0, 0, 0, x'', 'net:a', 'pending', 10, 'the outcome unknown', '{}'),
		(3, 0, 0, 0, x'', 'net:a', 'unknown', 10, 'outcome unknown of an earlier try; then: 400', '{}'),
		(4, 0, 0, 0, x'', 'net:a', 'failed', 10, '', '{}')`)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	got, err := s.Undelivered(ctx, channels.Chat{Channel: "net", ID: "a"}, 9)
	if err != nil || len(got) != 4 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, delivery := range got {
		if want := delivery.ID == 1 || delivery.ID == 3; delivery.Doubtful != want {
			t.Errorf("delivery %d: doubtful %v, want %v", delivery.ID, delivery.Doubtful, want)
		}
	}
}

func TestAPermissionQuestionOfAnOldStateIsAnApproval(t *testing.T) {
	dir := createOldestSchema(t, `INSERT INTO question (id, item, chat, text, options, asked, expires) VALUES
		('permission', 1, 'net:a', '🔐 Run this command?', '["Yes","No"]', 10, 0), ('question', 1, 'net:a', 'Which one? 🔐', '["A","B"]', 10, 0)`)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	for id, want := range map[string]bool{"permission": true, "question": false} {
		if q, found, err := s.Question(ctx, id); err != nil || !found || q.Approval != want {
			t.Errorf("%s: %+v, %v", id, q, err)
		}
	}
}

func TestACommandDoesNotMigrateWhileADaemonRuns(t *testing.T) {
	dir := createOldestSchema(t, "SELECT 1")
	s := openStore(t, dir, sqlite.Options{Shared: true}) // no daemon is running
	closeStore(t, s)
	daemon := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, daemon)
	editDatabase(t, dir, "PRAGMA user_version = 7")
	if s, err := sqlite.Open(ctx, dir, sqlite.Options{Shared: true}); err == nil {
		closeStore(t, s)
		t.Error("it was migrated")
	}
}

func TestAnUnreadableRowDoesNotBlockOtherMessages(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 2)
	closeStore(t, s)
	editDatabase(t, dir, "UPDATE inbox SET incoming = 'nonsense' WHERE id = 1; INSERT INTO line (chat) VALUES ('net:nothing pending')",
		"UPDATE line SET seq = -1 WHERE chat = 'net:nothing pending'")
	s = openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	if got, err := s.Claim(ctx, store.ClaimRequest{Limit: 2}); err != nil || len(got) != 1 || got[0].ID != 2 {
		t.Errorf("claimed %+v: %v", got, err)
	}
}

func TestTheDatabaseIsCopiedBeforeAMigration(t *testing.T) {
	dir := createOldestSchema(t, `INSERT INTO inbox (id, chat, state, received, incoming) VALUES (1, 'net:a', 'pending', 10, '{"text":"soon"}')`)
	for range 5 {
		closeStore(t, openStore(t, dir, sqlite.Options{}))
		for _, name := range []string{"nanobot.db", "nanobot.db-wal", "nanobot.db-shm"} {
			_ = os.Remove(filepath.Join(dir, name))
		}
		copies, err := filepath.Glob(filepath.Join(dir, "backups", "nanobot-*-schema-7.db"))
		if err != nil || len(copies) == 0 {
			t.Fatalf("copies: %v, %v", copies, err)
		}
		if info, err := os.Stat(copies[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		// An operator who returns to the older nanobot does this.
		content := musttest.Get(os.ReadFile(copies[len(copies)-1]))(t)
		musttest.Do(t, os.WriteFile(filepath.Join(dir, "nanobot.db"), content, 0o600))
	}
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "nanobot.db")+"?_pragma=busy_timeout(300000)"))(t)
	defer db.Close()
	var schema, transients int
	if err := db.QueryRow("PRAGMA user_version").Scan(&schema); err != nil || schema != 7 {
		t.Errorf("schema %d, %v", schema, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM bubble").Scan(&transients); err != nil {
		t.Error(err) // the newest schema does not have it
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "backups", "*")); len(left) != 3 {
		t.Errorf("%d copies are kept: %v", len(left), left)
	}
}

func TestTheSessionsOfChatsInAnOldStateAreRecorded(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, openStore(t, dir, sqlite.Options{}))
	editDatabase(t, dir, sqlitetest.UndoTo21, `DELETE FROM memory; INSERT INTO memory (chat, key, value) VALUES
		('net:a', 'lasting:agent', '[{"session":"s1","agent":"x"},{"session":"s2"},{"other":1},"text"]'),
		('net:b', 'lasting:agent:coder', '[{"session":"s2"},{"session":"s3"}]'),
		('net:c', 'lasting:agent', 'of another protocol'), ('net:d', 'lasting:agent', '{"session":"s4"}'),
		('net:e', 'lasting:commands', '[{"session":"s5"}]');
		DROP INDEX question_secret; ALTER TABLE question DROP COLUMN secret; ALTER TABLE transient DROP COLUMN incoming; ALTER TABLE transient DROP COLUMN owner;
		DROP INDEX inbox_open; DROP INDEX inbox_origin; ALTER TABLE inbox DROP COLUMN origin;
		CREATE INDEX inbox_open ON inbox (state, chat, id) WHERE ended = 0; DROP TABLE schedule; DROP TABLE occurrence;
		PRAGMA user_version = 17`)
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	for id, want := range map[string]string{"s1": "1", "s2": "1", "s3": "1", "s4": "", "s5": ""} {
		if got, err := s.Recall(ctx, channels.Chat{}, "session:"+id); got != want || err != nil {
			t.Errorf("%s: %q, %v", id, got, err)
		}
	}
}

func TestWhatTheVersionBeforeLeftUnfinishedIsAdoptedOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	ann := channels.Chat{Channel: "net", ID: "a"}
	received := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "1", Text: "a"}, Claim: true}))(t)
	sending, _, err := s.Enqueue(ctx, store.Outbound{
		Inbound: received.Inbound.ID, Sequence: 1, Parts: []channels.Outgoing{{Chat: ann, Text: "b"}}, Claim: true,
	})
	musttest.Do(t, err)
	board := store.Transient{Chat: ann, ID: "71", Inbound: received.Inbound.ID}
	musttest.Do(t, s.AddTransient(ctx, board))
	closeStore(t, s)
	editDatabase(t, dir, sqlitetest.UndoTo21, "ALTER TABLE transient DROP COLUMN owner", "PRAGMA user_version = 20")
	for _, want := range []bool{true, false} {
		s := openStore(t, dir, sqlite.Options{})
		for range 2 {
			adopted := musttest.Get(s.Adopt(ctx))(t)
			found := len(adopted.Inbounds) == 1 && adopted.Inbounds[0].ID == received.Inbound.ID &&
				len(adopted.Deliveries) == 1 && adopted.Deliveries[0].ID == sending.ID &&
				len(adopted.Transients) == 1 && adopted.Transients[0] == board
			if nothing := len(adopted.Inbounds)+len(adopted.Deliveries)+len(adopted.Transients) == 0; found != want || nothing == want {
				t.Errorf("adopted %+v", adopted)
			}
			if want {
				_, err := s.Settle(ctx, sending.ID, store.Settlement{State: store.Sent, Receipt: "1"})
				musttest.Do(t, errors.Join(err, s.DropTransient(ctx, board)))
				_, err = s.Finish(ctx, received.Inbound.ID, store.Done, store.Outcome{Status: "done"})
				musttest.Do(t, err)
			}
			want = false
		}
		closeStore(t, s)
	}
}

func TestMessagesOfAnOldStateAreFound(t *testing.T) {
	dir := createOldestSchema(t, "")
	for version := 8; version <= 23; version++ {
		editDatabase(t, dir, string(musttest.Get(os.ReadFile(fmt.Sprintf("migrations/%d.sql", version)))(t)))
	}
	editDatabase(t, dir, `INSERT INTO inbox (id, chat, state, attempt, received, ended, incoming) VALUES
		(1, 'net:a', 'done', 1, 10, 10, '{"id":"5","text":"an old question"}'), (2, 'net:a', 'done', 0, 10, 10, '{"text":"/old"}'),
		(3, 'net:a', 'dead', 1, 10, 10, 'no JSON'), (4, 'net:b', 'done', 1, 10, 10, '{"id":"5","text":"old"}');
		INSERT INTO transcript (inbound, n, text, media, at) VALUES (1, 1, 'an old answer', '[]', 10)`, "PRAGMA user_version = 23")
	for range 2 {
		s := openStore(t, dir, sqlite.Options{})
		found, err := s.Search(ctx, store.SearchFilter{Chat: channels.Chat{Channel: "net", ID: "a"}, Text: "OLD", Limit: 9})
		if err != nil || len(found) != 2 || found[0].Text != "an old answer" || found[1].Text != "an old question" {
			t.Errorf("found %+v, %v", found, err)
		}
		closeStore(t, s)
	}
}
