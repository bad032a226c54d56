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
	"nanobot/internal/musttest"
)

// filesAfterCrash returns the files of a state that crashed with n messages in its write-ahead log.
func filesAfterCrash(t *testing.T, n int) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	receiveMessages(t, s, n)
	files := map[string][]byte{}
	for _, name := range []string{"nanobot.db", "nanobot.db-wal"} {
		content := musttest.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		files[name] = content
	}
	return files
}

func writeState(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

func TestATruncatedLogIsReadUpToItsLastWholeTransaction(t *testing.T) {
	const n = 20
	files := filesAfterCrash(t, n)
	whole := files["nanobot.db-wal"]
	type logCase struct {
		log  []byte
		left int // the number of remaining messages; -1: any
	}
	cases := map[string]logCase{
		"nothing is missing":            {whole, n},
		"the end is garbage":            {append(bytes.Clone(whole), bytes.Repeat([]byte{0xA5}, 5000)...), n},
		"the last page is half written": {append(bytes.Clone(whole[:len(whole)-2048]), make([]byte, 2048)...), n - 1},
		"the last byte is missing":      {whole[:len(whole)-1], n - 1},
		"the log is gone":               {nil, 0},
	}
	for cut := 7; cut < len(whole); cut += len(whole) / 12 {
		cases[fmt.Sprintf("%d bytes are missing", cut)] = logCase{whole[:len(whole)-cut], -1}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := writeState(t, map[string][]byte{"nanobot.db": files["nanobot.db"], "nanobot.db-wal": c.log})
			s := openStore(t, dir, sqlite.Options{})
			defer closeStore(t, s)
			if got := countWaiting(t, s); c.left >= 0 && got != c.left {
				t.Errorf("%d messages wait, want %d", got, c.left)
			}
			checkFirstMessages(t, s)
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkFirstMessages checks that the remaining messages are the first ones.
func checkFirstMessages(t *testing.T, s *sqlite.Store) {
	t.Helper()
	inbounds := musttest.Get(s.Recent(ctx, chat, 1000))(t)
	for i, inbound := range inbounds {
		if want := fmt.Sprint(len(inbounds) - 1 - i); inbound.In.ID != want {
			t.Errorf("message %s is where %s should be", inbound.In.ID, want)
		}
	}
}

func TestADamagedDatabaseIsRefusedWithAClearError(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 200)
	closeStore(t, s)
	sound := musttest.Get(os.ReadFile(filepath.Join(dir, "nanobot.db")))(t)
	damage := map[string]func(b []byte) []byte{
		"it is something else": func([]byte) []byte { return bytes.Repeat([]byte("not a database\n"), 1000) },
		"its head is lost":     func(b []byte) []byte { copy(b, make([]byte, 100)); return b },
		"its schema is lost":   func(b []byte) []byte { copy(b[100:], bytes.Repeat([]byte{0xFF}, 3000)); return b },
		"it was cut short":     func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"a page is lost":       func(b []byte) []byte { copy(b[len(b)/8192*4096:], bytes.Repeat([]byte{0xFF}, 4096)); return b },
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			dir := writeState(t, map[string][]byte{"nanobot.db": harm(bytes.Clone(sound))})
			if err := checkRefused(t, dir, "nanobot.db", "the database is damaged"); !errors.Is(err, dbfile.ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFileThatCannotBeADatabaseIsDamageAndNotANewState(t *testing.T) {
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
			return errors.Join(createState(filepath.Join(filepath.Dir(path), "other")), os.Symlink("other/nanobot.db", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			musttest.Do(t, harm(filepath.Join(dir, "nanobot.db")))
			for range 2 { // the first try must not repair it
				if err := checkRefused(t, dir, "nanobot.db", "damaged"); !errors.Is(err, dbfile.ErrDamaged) {
					t.Errorf("got %v", err)
				}
			}
			if s, err := sqlite.Open(ctx, dir, sqlite.Options{Shared: true}); !errors.Is(err, dbfile.ErrDamaged) {
				t.Errorf("a command got %v, %v", s, err)
			}
		})
	}
}

// createState creates a state and closes it.
func createState(dir string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// largeDatabase returns a database that is too large to be checked completely by Open.
func largeDatabase(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	musttest.Do(t, runParallel(8, func(w int) error {
		for n := range 150 {
			in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: fmt.Sprint(w)}, ID: fmt.Sprint(n), Text: strings.Repeat("x", 500+n*40)}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
				return err
			}
		}
		return nil
	}))
	closeStore(t, s)
	b := musttest.Get(os.ReadFile(filepath.Join(dir, "nanobot.db")))(t)
	if len(b) < 3<<20 {
		t.Fatalf("%d bytes are too few", len(b))
	}
	return b
}

func TestDamageOnAnyPageOfALargeDatabaseIsFound(t *testing.T) {
	const page = 4096
	whole := largeDatabase(t)
	pages := len(whole) / page
	for at := 0; at < pages; at += max(pages/killtest.Pick(30, 60), 1) {
		harmed := bytes.Clone(whole)
		copy(harmed[at*page:], bytes.Repeat([]byte{0xFF}, page))
		dir := writeState(t, map[string][]byte{"nanobot.db": harmed})
		s, err := sqlite.Open(ctx, dir, sqlite.Options{})
		if err == nil {
			_, err = s.Verify(ctx)
			closeStore(t, s)
		}
		if !errors.Is(err, dbfile.ErrDamaged) {
			t.Errorf("page %d of %d: %v", at+1, pages, err)
		}
	}
}

func TestAnIndexThatDisagreesWithItsTableIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 20)
	closeStore(t, s)
	editDatabase(t, dir, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'chat, id', 'state, id') WHERE name = 'inbox_chat'")
	s = openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	if _, err := s.Verify(ctx); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("a message was received: %v", err)
	}
}

func TestDamageThatIsFoundWhileRunningEndsTheStore(t *testing.T) {
	dir := writeState(t, map[string][]byte{"nanobot.db": largeDatabase(t)})
	watch := dbfile.NewWatch()
	s := openStore(t, dir, sqlite.Options{Watch: watch})
	defer s.Close() // it is damaged
	// Another process writes, because closing the file in this process would drop SQLite's locks.
	path := filepath.Join(dir, "nanobot.db")
	if out, err := exec.Command("sh", "-c", `tr '\0' x < /dev/zero | dd of="$1" bs=4096 seek=20 count=700 conv=notrunc iflag=fullblock`, "sh", path).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	var found error
	for i := 0; i < 8 && found == nil; i++ {
		_, found = s.Recent(ctx, channels.Chat{Channel: "net", ID: fmt.Sprint(i)}, 100)
	}
	if !errors.Is(found, dbfile.ErrDamaged) {
		t.Fatalf("the damage was not found: %v", found)
	}
	if err := watch.Err(); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("the watch says %v", err)
	}
	if err := s.SetCursor(ctx, "net", "9"); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("a cursor was moved: %v", err)
	}
}

func TestADatabaseThatIsTruncatedEndsTheStore(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer s.Close() // it is damaged
	receiveMessages(t, s, 3)
	musttest.Do(t, os.Truncate(filepath.Join(dir, "nanobot.db"), 0))
	if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); !errors.Is(err, dbfile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestAKillDuringTheFirstStartLeavesNoIncompleteState(t *testing.T) {
	exe := musttest.Get(os.Executable())(t)
	before, after, kills := 0, 0, killtest.Rounds(t, 10, 200)
	for i := range kills {
		dir := t.TempDir()
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "NANOBOT_TEST_WRITER="+dir)
		child := killtest.Start(t, cmd)
		// The child is killed once a certain file exists, so that each moment of the creation is
		// tested, however busy the machine is.
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
		closeStore(t, openStore(t, dir, sqlite.Options{}))
		if left, _ := filepath.Glob(filepath.Join(dir, "*.new*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	t.Logf("killed %d times before it was there, %d times after", before, after)
}
