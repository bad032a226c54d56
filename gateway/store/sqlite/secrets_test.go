package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// statesWith returns the names of the files in dir that contain a text.
func statesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	for _, name := range []string{"nanobot.db", "nanobot.db-wal", "nanobot.db-shm"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			names = append(names, name)
		}
	}
	return names
}

func askSecret(t *testing.T, s *sqlite.Store, id, answer string) {
	t.Helper()
	musttest.Do(t, s.Ask(ctx, store.Question{Question: terminal.Question{ID: id, Secret: true}, Chat: chat}, store.Outbound{}))
	request := store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: id, Text: answer}, Secret: true, Reply: &store.Reply{Question: id, Text: answer, By: "7"}}
	musttest.Get(s.Receive(ctx, request))(t)
}

func TestAnErasedSecretIsInNoPageOfTheDatabaseWhateverWasStoredAroundIt(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	for n := range 60 { // rows of all sizes move each other to other pages
		askSecret(t, s, "secret"+string(rune('0'+n)), "hunter2-"+strings.Repeat("x", n*n*3))
		receiveMessages(t, s, n)
	}
	if found := statesWith(t, dir, "hunter2"); len(found) == 0 {
		t.Fatal("no answer was stored")
	}
	for n := range 60 {
		musttest.Do(t, s.EraseAnswer(ctx, "secret"+string(rune('0'+n))))
	}
	if found := statesWith(t, dir, "hunter2"); len(found) > 0 {
		t.Errorf("%v have a secret", found)
	}
}

func TestALogWithAnErasedSecretThatSomebodyReadsIsEmptiedByTheNextCommitOrTheNextStart(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	askSecret(t, s, "q", "hunter2")
	end := readDatabase(t, dir) // such as a backup
	musttest.Do(t, s.EraseAnswer(ctx, "q"))
	if found := statesWith(t, dir, "hunter2"); len(found) == 0 {
		t.Fatal("the reader does not hold the log")
	}
	left := writeState(t, map[string][]byte{"nanobot.db": readFile(t, dir, "nanobot.db"), "nanobot.db-wal": readFile(t, dir, "nanobot.db-wal")})
	end()
	receiveMessages(t, s, 1)
	if found := statesWith(t, dir, "hunter2"); len(found) > 0 {
		t.Errorf("after a commit, %v have the secret", found)
	}
	after := openStore(t, left, sqlite.Options{})
	defer closeStore(t, after)
	if found := statesWith(t, left, "hunter2"); len(found) > 0 {
		t.Errorf("after a crash, %v have the secret", found)
	}
}

// readDatabase reads the database until end is called.
func readDatabase(t *testing.T, dir string) (end func()) {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "nanobot.db")))(t)
	rows, err := db.Query("SELECT id FROM question UNION ALL SELECT chat FROM seen")
	if err == nil && !rows.Next() {
		err = errors.New("there are no rows")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = errors.Join(rows.Err(), rows.Close(), db.Close()) }
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	content := musttest.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	return content
}
