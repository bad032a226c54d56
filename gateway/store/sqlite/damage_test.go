package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
)

// crashed returns the files of a store that was cut off with n messages in its log.
func crashed(t *testing.T, n int) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	defer closed(t, s)
	receive(t, s, n)
	files := map[string][]byte{}
	for _, name := range []string{"nanobot.db", "nanobot.db-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	return files
}

func lay(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestATornLogIsReadUpToTheTear(t *testing.T) {
	const n = 20
	files := crashed(t, n)
	whole := files["nanobot.db-wal"]
	type tear struct {
		log  []byte
		left int // how many messages must be left; -1: some
	}
	torn := map[string]tear{
		"nothing is missing":            {whole, n},
		"the end is garbage":            {append(bytes.Clone(whole), bytes.Repeat([]byte{0xA5}, 5000)...), n},
		"the last page is half written": {append(bytes.Clone(whole[:len(whole)-2048]), make([]byte, 2048)...), n - 1},
		"the last byte is missing":      {whole[:len(whole)-1], n - 1},
		"the log is gone":               {nil, 0},
	}
	for cut := 7; cut < len(whole); cut += len(whole) / 12 {
		torn[fmt.Sprintf("%d bytes are missing", cut)] = tear{whole[:len(whole)-cut], -1}
	}
	for name, c := range torn {
		t.Run(name, func(t *testing.T) {
			dir := lay(t, map[string][]byte{"nanobot.db": files["nanobot.db"], "nanobot.db-wal": c.log})
			s := open(t, dir, sqlite.Options{})
			defer closed(t, s)
			if got := waiting(t, s); c.left >= 0 && got != c.left {
				t.Errorf("%d messages wait, want %d", got, c.left)
			}
			prefix(t, s)
			if _, _, err := s.Receive(ctx, store.Arrival{In: channels.Incoming{Chat: chat, ID: "new"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// prefix checks that the messages that are left are the first ones.
func prefix(t *testing.T, s *sqlite.Store) {
	t.Helper()
	items, err := s.Recent(ctx, chat, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		if want := fmt.Sprint(len(items) - 1 - i); item.In.ID != want {
			t.Errorf("message %s is where %s should be", item.In.ID, want)
		}
	}
}

func TestADamagedDatabaseIsRefusedWithAClearWord(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	receive(t, s, 200)
	closed(t, s)
	sound, err := os.ReadFile(filepath.Join(dir, "nanobot.db"))
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func(b []byte) []byte{
		"it is something else": func([]byte) []byte { return bytes.Repeat([]byte("not a database\n"), 1000) },
		"its head is lost":     func(b []byte) []byte { copy(b, make([]byte, 100)); return b },
		"its schema is lost":   func(b []byte) []byte { copy(b[100:], bytes.Repeat([]byte{0xFF}, 3000)); return b },
		"it was cut short":     func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"a page is lost":       func(b []byte) []byte { copy(b[len(b)/8192*4096:], bytes.Repeat([]byte{0xFF}, 4096)); return b },
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			dir := lay(t, map[string][]byte{"nanobot.db": harm(bytes.Clone(sound))})
			refused(t, dir, "nanobot.db", "the database is damaged")
		})
	}
}
