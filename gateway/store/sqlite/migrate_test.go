package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store/sqlite"
)

// TestAnOldStateIsBroughtForward opens what the first schema left: a chat with two turns, and one that was started afresh.
func TestAnOldStateIsBroughtForward(t *testing.T) {
	dir := t.TempDir()
	schema, err := os.ReadFile("migrations/1.sql")
	if err != nil {
		t.Fatal(err)
	}
	old, err := sql.Open("sqlite", filepath.Join(dir, "nanobot.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{string(schema), "PRAGMA user_version = 1", `
		INSERT INTO inbox (id, chat, state, attempt, received, started, ended, incoming) VALUES
			(1, 'net:a', 'done', 1, 10, 10, 20, '{"text":"one"}'), (2, 'net:a', 'done', 1, 30, 30, 40, '{"text":"two"}'),
			(3, 'net:b', 'done', 1, 30, 30, 40, '{"text":"past"}');
		INSERT INTO transcript (id, before, item, role, text, media, at) VALUES
			(1, 0, 1, 'user', 'one', '[]', 10), (2, 1, 1, 'agent', 'first', '["a.png"]', 20), (3, 2, 2, 'user', 'two', '[]', 30),
			(4, 3, 2, 'agent', 'second', 'null', 40), (5, 4, 2, 'agent', 'third', 'null', 41);
		INSERT INTO talk VALUES ('net:a', 5)`} {
		if _, err := old.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, sqlite.Options{})
	defer closed(t, s)
	for chat, want := range map[string]string{"a": "[user: one agent: first[a.png] user: two agent: second agent: third]", "b": "[]"} {
		entries, err := s.History(ctx, channels.Chat{Channel: "net", ID: chat}, 9)
		if err != nil {
			t.Fatal(err)
		}
		said := []string{}
		for _, e := range entries {
			line := e.Role + ": " + e.Text
			if len(e.Media) > 0 {
				line += fmt.Sprint(e.Media)
			}
			said = append(said, line)
		}
		if got := fmt.Sprint(said); got != want {
			t.Errorf("chat %s: got %s, want %s", chat, got, want)
		}
	}
}
