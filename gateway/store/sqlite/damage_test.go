package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/killtest"
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
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// prefix checks that the messages that are left are the first ones.
func prefix(t *testing.T, s *sqlite.Store) {
	t.Helper()
	inbounds, err := s.Recent(ctx, chat, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, inbound := range inbounds {
		if want := fmt.Sprint(len(inbounds) - 1 - i); inbound.In.ID != want {
			t.Errorf("message %s is where %s should be", inbound.In.ID, want)
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
			if err := refused(t, dir, "nanobot.db", "the database is damaged"); !errors.Is(err, dbfile.ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatCannotBeADatabaseIsDamageAndNotANewState(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"it is empty":             func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"it has one byte":         func(path string) error { return os.WriteFile(path, []byte("S"), 0o600) },
		"it is a folder":          func(path string) error { return os.Mkdir(path, 0o700) },
		"it is a link":            func(path string) error { return os.Symlink("elsewhere.db", path) },
		"it is a link to nothing": func(path string) error { return os.Symlink("/nonexistent/x", path) },
		"only its log is there":   func(path string) error { return os.WriteFile(path+"-wal", nil, 0o600) },
		"it has no schema":        func(path string) error { return dbfile.Create(ctx, path, "CREATE TABLE x (y)") },
		"a restore has not ended": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), "restore.unfinished"), nil, 0o600)
		},
		"it is a link to one of us": func(path string) error {
			return errors.Join(sound(filepath.Join(filepath.Dir(path), "other")), os.Symlink("other/nanobot.db", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := harm(filepath.Join(dir, "nanobot.db")); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first try must not heal it
				if err := refused(t, dir, "nanobot.db", "damaged"); !errors.Is(err, dbfile.ErrDamaged) {
					t.Errorf("got %v", err)
				}
			}
			if s, err := sqlite.Open(ctx, dir, sqlite.Options{Shared: true}); !errors.Is(err, dbfile.ErrDamaged) {
				t.Errorf("a tool got %v, %v", s, err)
			}
		})
	}
}

// sound makes a state and closes it.
func sound(dir string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// large returns a database that is too big to be read through at the start.
func large(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	err := side(8, func(w int) error {
		for n := range 150 {
			in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: fmt.Sprint(w)}, ID: fmt.Sprint(n), Text: strings.Repeat("x", 500+n*40)}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	b, err := os.ReadFile(filepath.Join(dir, "nanobot.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 3<<20 {
		t.Fatalf("%d bytes are too few", len(b))
	}
	return b
}

func TestDamageOnAnyPageOfALargeDatabaseIsFound(t *testing.T) {
	const page = 4096
	whole := large(t)
	pages := len(whole) / page
	for at := 0; at < pages; at += max(pages/60, 1) {
		harmed := bytes.Clone(whole)
		copy(harmed[at*page:], bytes.Repeat([]byte{0xFF}, page))
		dir := lay(t, map[string][]byte{"nanobot.db": harmed})
		s, err := sqlite.Open(ctx, dir, sqlite.Options{})
		if err == nil {
			_, err = s.Verify(ctx)
			closed(t, s)
		}
		if !errors.Is(err, dbfile.ErrDamaged) {
			t.Errorf("page %d of %d: %v", at+1, pages, err)
		}
	}
}

func TestAnIndexThatDisagreesWithItsTableIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	receive(t, s, 20)
	closed(t, s)
	edit(t, dir, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'chat, id', 'state, id') WHERE name = 'inbox_chat'")
	s = open(t, dir, sqlite.Options{})
	defer closed(t, s)
	if _, err := s.Verify(ctx); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("a message was received: %v", err)
	}
}

func TestDamageThatIsMetWhileRunningEndsTheStore(t *testing.T) {
	dir := lay(t, map[string][]byte{"nanobot.db": large(t)})
	watch := dbfile.NewWatch()
	s := open(t, dir, sqlite.Options{Watch: watch})
	defer s.Close() // it is damaged
	// Another process does it: to close the file in this one would drop SQLite's locks.
	path := filepath.Join(dir, "nanobot.db")
	if out, err := exec.Command("sh", "-c", `tr '\0' x < /dev/zero | dd of="$1" bs=4096 seek=20 count=700 conv=notrunc iflag=fullblock`, "sh", path).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	var met error
	for i := 0; i < 8 && met == nil; i++ {
		_, met = s.Recent(ctx, channels.Chat{Channel: "net", ID: fmt.Sprint(i)}, 100)
	}
	if !errors.Is(met, dbfile.ErrDamaged) {
		t.Fatalf("the damage was not met: %v", met)
	}
	if err := watch.Err(); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("the watch says %v", err)
	}
	if err := s.SetCursor(ctx, "net", "9"); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("a cursor was moved: %v", err)
	}
}

func TestADatabaseThatIsEmptiedInItsPlaceEndsTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
	defer s.Close() // it is damaged
	receive(t, s, 3)
	if err := os.Truncate(filepath.Join(dir, "nanobot.db"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestAKillDuringTheFirstStartLeavesNothingThatIsTakenForAState(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before, after, kills := 0, 0, 10
	if os.Getenv("NANOBOT_LONG") == "1" {
		kills = 200
	}
	for i := range kills {
		dir := t.TempDir()
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "NANOBOT_TEST_WRITER="+dir)
		child := killtest.Start(t, cmd)
		// It is killed once a certain file is there, so that each moment of the creation gets its
		// turn however busy the machine is.
		for name := []string{"spool", "daemon.lock", "nanobot.db.new", "nanobot.db.new-journal", "nanobot.db"}[i%5]; ; {
			if entries, _ := filepath.Glob(filepath.Join(dir, "nanobot.db")); len(entries) > 0 {
				break
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				break
			}
		}
		child.Kill()
		info, err := os.Stat(filepath.Join(dir, "nanobot.db"))
		switch {
		case errors.Is(err, os.ErrNotExist):
			before++
		case err != nil || info.Size() == 0:
			t.Fatalf("there is a database of %d bytes, %v", info.Size(), err)
		default:
			after++
		}
		closed(t, open(t, dir, sqlite.Options{}))
		if left, _ := filepath.Glob(filepath.Join(dir, "*.new*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	t.Logf("killed %d times before it was there, %d times after", before, after)
}
