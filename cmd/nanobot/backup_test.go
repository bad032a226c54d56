package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/cmd/nanobot/backup"
	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
)

// runProgram runs the program to its end and returns its output and exit status.
func runProgram(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := programCommand(t, args...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// mustRunProgram runs the program and fails unless its exit status is 0.
func mustRunProgram(t *testing.T, args ...string) {
	t.Helper()
	if out, status := runProgram(t, args...); status != 0 {
		t.Fatalf("%v: status %d:\n%s", args, status, out)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// damageFile overwrites a file's middle.
func damageFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	musttest.Do(t, err)
	info, err := f.Stat()
	musttest.Do(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xFF}, int(info.Size()/2)), info.Size()/4/4096*4096)
	musttest.Do(t, errors.Join(err, f.Close()))
}

func TestABackupUnderLoadRestoresEverythingThatWasConfirmedBefore(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn()
	state, file := filepath.Join(filepath.Dir(b.cfg), ".nanobot"), filepath.Join(t.TempDir(), "backup.tar.gz")
	var confirmed, writers sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	var said []string // before the backup began
	begun := false
	for chat := range 4 {
		confirmed.Add(1)
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("web-%d-known-to-nobody-else", chat)
				text := fmt.Sprintf("%d.%d", chat, n)
				body, _ := json.Marshal(map[string]string{"text": text, "client_id": text})
				status, _, err := ann.tryRequest("POST", "/api/chats/"+name+"/messages", "application/json", bytes.NewReader(body))
				if err != nil || status != http.StatusAccepted {
					continue
				}
				mu.Lock()
				if !begun {
					said = append(said, name+" "+text)
				}
				mu.Unlock()
				if n == 20 {
					confirmed.Done()
				}
			}
		})
	}
	confirmed.Wait()
	mu.Lock()
	begun = true
	mu.Unlock()
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	b.kill()
	close(stop)
	writers.Wait()
	damageFile(t, filepath.Join(state, "nanobot.db"))
	damageFile(t, filepath.Join(state, "web", "history.db"))
	for _, wal := range []string{"nanobot.db-wal", "web/history.db-wal"} {
		_ = os.Remove(filepath.Join(state, wal))
	}
	// The steps of the manual.
	if out, status := runProgram(t, "serve", "--config", b.cfg); status != exit.Config || !strings.Contains(out, "nanobot restore") {
		t.Fatalf("a damaged state: status %d:\n%s", status, out)
	}
	mustRunProgram(t, "restore", "--config", b.cfg, file)
	b.start()
	// Whoever was signed in still is, what was said before is there, and is answered once: a turn
	// that ran at the moment of the backup runs again, and what it had said meanwhile is not in the
	// backup.
	var missing string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if missing = findUnanswered(t, ann, said); missing == "" {
			break
		}
	}
	if missing != "" {
		t.Errorf("%s is not answered once:\n%s", missing, b.log())
	}
	mustRunProgram(t, "doctor", "--config", b.cfg, "--no-turn")
}

// findUnanswered returns a text that is not shown once or not answered once, or "".
func findUnanswered(t *testing.T, p *browser, said []string) string {
	t.Helper()
	shown := map[string]int{}
	for chat := range 4 {
		name := fmt.Sprintf("web-%d-known-to-nobody-else", chat)
		for before := ""; ; {
			_, body := p.request("GET", "/api/chats/"+name+"/messages?limit=200"+before, "", nil)
			var page struct {
				Messages []struct {
					Seq        int64
					From, Text string
				}
				More bool
			}
			musttest.Do(t, json.Unmarshal([]byte(body), &page))
			for _, m := range page.Messages {
				shown[name+" "+m.From+" "+m.Text]++
			}
			if !page.More {
				break
			}
			before = fmt.Sprintf("&before=%d", page.Messages[0].Seq)
		}
	}
	for _, s := range said {
		chat, text, _ := strings.Cut(s, " ")
		if shown[chat+" user "+text] != 1 {
			return fmt.Sprintf("%s is shown %d times and", s, shown[chat+" user "+text])
		}
		if n := shown[chat+" bot re **"+text+"**"]; n != 1 {
			return fmt.Sprintf("%s, answered %d times,", s, n)
		}
	}
	return ""
}

func TestPendingAnswersWithFilesAreDeliveredFromABackup(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/a.png\"]}"`})
	b.api.UserSends(7, "before")
	b.api.WaitForText(t, 7, "look")
	b.api.SetFault(func(c telegramtest.Call) telegramtest.Fault { // the network takes no pictures for now
		if c.Method == "sendPhoto" {
			return telegramtest.RateLimited(1)
		}
		return telegramtest.Fault{}
	})
	b.api.UserSends(7, "hi")
	state, file := filepath.Join(filepath.Dir(b.cfg), ".nanobot"), filepath.Join(t.TempDir(), "backup.tar.gz")
	b.awaitLog("send failed, will retry")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	if names := listArchive(t, file); !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "spool/") && strings.HasSuffix(n, "/a.png") }) {
		t.Fatalf("no picture in %q", names)
	}
	b.signal(9)
	b.awaitExit()
	musttest.Do(t, os.RemoveAll(state))
	musttest.Do(t, os.Remove(filepath.Join(filepath.Dir(b.cfg), "a.png")))
	mustRunProgram(t, "restore", "--config", b.cfg, file)
	b.api.SetFault(nil)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.api.AwaitMessages(7, telegramtest.WaitLimit, func(shown []telegramtest.Message) bool {
		n := 0
		for _, m := range shown {
			if strings.Contains(m.TextOrCaption(), "look") {
				n++
			}
		}
		return n >= 2
	})
}

// listArchive returns the names of the files in a backup.
func listArchive(t *testing.T, file string) (names []string) {
	t.Helper()
	f := musttest.Get(os.Open(file))(t)
	defer f.Close()
	zip := musttest.Get(gzip.NewReader(f))(t)
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		musttest.Do(t, err)
		if h.Mode != 0o600 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		names = append(names, h.Name)
	}
}

// newStoppedBot returns a bot that has a state and no running daemon.
func newStoppedBot(t *testing.T) (cfg, state string) {
	t.Helper()
	b := newWebBot(t)
	b.signIn().sendMessage("web-1-known-to-nobody-else", "hello")
	b.kill()
	return b.cfg, filepath.Join(filepath.Dir(b.cfg), ".nanobot")
}

func TestEveryCommandRefusesAStateThatCannotBeUsedWithTheSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, state string)
		says []string
	}{
		"damaged":  {func(t *testing.T, state string) { damageFile(t, filepath.Join(state, "nanobot.db")) }, []string{"damaged", "nanobot restore"}},
		"empty":    {func(t *testing.T, state string) { musttest.Do(t, os.Truncate(filepath.Join(state, "nanobot.db"), 0)) }, []string{"damaged", "empty", "nanobot restore"}},
		"a folder": {func(t *testing.T, state string) { musttest.Do(t, os.Mkdir(filepath.Join(state, "nanobot.db"), 0o700)) }, []string{"damaged", "nanobot restore"}},
		"half gone": {func(t *testing.T, state string) {
			musttest.Do(t, os.WriteFile(filepath.Join(state, "nanobot.db-wal"), nil, 0o600))
		}, []string{"damaged", "missing", "nanobot restore"}},
		"newer": {func(t *testing.T, state string) { setSchemaVersion(t, state, 99) }, []string{"newer nanobot", "schema 99", "backups"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, state := newStoppedBot(t)
			if name == "a folder" || name == "half gone" {
				musttest.Do(t, os.Remove(filepath.Join(state, "nanobot.db")))
			}
			for _, end := range []string{"-wal", "-shm"} {
				musttest.Do(t, ignoreMissing(os.Remove(filepath.Join(state, "nanobot.db"+end))))
			}
			c.harm(t, state)
			for _, args := range [][]string{
				{"serve"}, {"pair", "--list"}, {"pair", "ABCDEFGH"}, {"link"}, {"doctor", "--no-turn"}, {"backup", filepath.Join(t.TempDir(), "x")},
			} {
				out, status := runProgram(t, append(args, "--config", cfg)...)
				if status != exit.Config {
					t.Errorf("%v: status %d:\n%s", args, status, out)
				}
				for _, want := range c.says {
					if !strings.Contains(out, want) {
						t.Errorf("%v: no %q in:\n%s", args, want, out)
					}
				}
			}
		})
	}
}

// setSchemaVersion changes the schema version of a database.
func setSchemaVersion(t *testing.T, state string, n int) {
	t.Helper()
	conn, err := dbfile.Connect(t.Context(), filepath.Join(state, "nanobot.db"))
	musttest.Do(t, err)
	s, err := conn.Prepare(fmt.Sprintf("PRAGMA user_version = %d", n))
	musttest.Do(t, err)
	_, err = s.(driver.StmtExecContext).ExecContext(t.Context(), nil)
	musttest.Do(t, errors.Join(err, s.Close(), conn.Close()))
}

func TestDamageInTheWebsConversationsEndsTheDaemonWithTheSteps(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	musttest.Do(t, os.Truncate(filepath.Join(state, "web", "history.db"), 0))
	out, status := runProgram(t, "serve", "--config", cfg)
	if status != exit.Config || !strings.Contains(out, "history.db") || !strings.Contains(out, "nanobot restore") {
		t.Errorf("status %d:\n%s", status, out)
	}
	out, status = runProgram(t, "doctor", "--no-turn", "--config", cfg)
	if status != exit.Config || !strings.Contains(out, "history.db") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

func TestARestoreIsAllOrNothing(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	mustRunProgram(t, "backup", "--config", cfg, file)
	if out, status := runProgram(t, "backup", "--config", cfg, file); status != exit.Failed || !strings.Contains(out, "exists already") {
		t.Errorf("a backup was overwritten: %d %s", status, out)
	}
	mustRunProgram(t, "backup", "--config", cfg, "--force", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	whole := musttest.Get(os.ReadFile(file))(t)
	before := musttest.Get(os.ReadFile(filepath.Join(state, "nanobot.db")))(t)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xFF
	for name, content := range map[string][]byte{
		"cut short": whole[:len(whole)*2/3], "without its end": whole[:len(whole)-4], "a flipped byte": flipped, "empty": nil, "something else": []byte("hello"),
		"a link out":     newTarball(t, tar.Header{Name: "web", Typeflag: tar.TypeSymlink, Linkname: "/etc"}),
		"a way out":      newTarball(t, tar.Header{Name: "../evil", Typeflag: tar.TypeReg}),
		"a foreign file": newTarball(t, tar.Header{Name: "config.json", Typeflag: tar.TypeReg}),
		"no database":    newTarball(t, tar.Header{Name: "http.key", Typeflag: tar.TypeReg}),
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		musttest.Do(t, os.WriteFile(bad, content, 0o600))
		if out, status := runProgram(t, "restore", "--config", cfg, bad); status == 0 {
			t.Errorf("%s: %s", name, out)
		}
		if after, err := os.ReadFile(filepath.Join(state, "nanobot.db")); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("%s: the state was changed (%v)", name, err)
		}
	}
	for name, headers := range map[string][]tar.Header{
		"a file twice":             {{Name: "http.key"}, {Name: "http.key"}},
		"a file as a folder":       {{Name: "web"}, {Name: "web/history.db"}},
		"the database a folder":    {{Name: "nanobot.db/x"}},
		"a log of the database":    {{Name: "nanobot.db-wal"}},
		"a lock":                   {{Name: "daemon.lock"}},
		"a hard link":              {{Name: "http.key", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"a device":                 {{Name: "http.key", Typeflag: tar.TypeChar}},
		"a pipe":                   {{Name: "http.key", Typeflag: tar.TypeFifo}},
		"an absolute path":         {{Name: "/http.key"}},
		"a path through its kind":  {{Name: "spool/../../../evil"}},
		"a file that is too large": {{Name: "http.key", Size: 1 << 60}},
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		musttest.Do(t, os.WriteFile(bad, newTarball(t, headers...), 0o600))
		out, status := runProgram(t, "restore", "--config", cfg, bad)
		if status == 0 || name == "a file that is too large" && !strings.Contains(out, "are free") {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
		if after, err := os.ReadFile(filepath.Join(state, "nanobot.db")); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("%s: the state was changed (%v)", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(state, "backups", ".staged-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// One that was cut off by a kill keeps the daemon off until it is made again.
	musttest.Do(t, os.WriteFile(filepath.Join(state, "restore.unfinished"), nil, 0o600))
	musttest.Do(t, os.Remove(filepath.Join(state, "nanobot.db")))
	if out, status := runProgram(t, "serve", "--config", cfg); status != exit.Config || !strings.Contains(out, "restore") {
		t.Errorf("status %d: %s", status, out)
	}
	mustRunProgram(t, "restore", "--config", cfg, file)
	mustRunProgram(t, "pair", "--list", "--config", cfg)
}

func TestABackupWithoutADatabaseIsRefusedInWords(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	for name, headers := range map[string][]tar.Header{"a manifest alone": nil, "no database": {{Name: "http.key"}}} {
		bad := filepath.Join(t.TempDir(), "bad")
		musttest.Do(t, os.WriteFile(bad, newTarball(t, headers...), 0o600))
		out, status := runProgram(t, "restore", "--config", cfg, bad)
		if status != exit.Config || !strings.Contains(out, "the backup has no nanobot.db") || !strings.Contains(out, "the state is unchanged") {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(state, "backups", ".staged-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	mustRunProgram(t, "pair", "--list", "--config", cfg)
}

// newTarball is a backup with empty files. One that says that it is not empty is the last, and is
// cut short.
func newTarball(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	const about = `{"format":1}`
	musttest.Do(t, w.WriteHeader(&tar.Header{Name: backup.ManifestFile, Mode: 0o600, Size: int64(len(about))}))
	musttest.Get(io.WriteString(w, about))(t)
	for _, h := range headers {
		musttest.Do(t, w.WriteHeader(&h))
	}
	if err := w.Close(); len(headers) == 0 || headers[len(headers)-1].Size == 0 {
		musttest.Do(t, err)
	}
	musttest.Do(t, zip.Close())
	return b.Bytes()
}

func TestRestoreIsRefusedWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	if out, status := runProgram(t, "restore", "--config", b.cfg, file); status != exit.Failed || !strings.Contains(out, "nothing was restored: lock ") || !strings.HasSuffix(out, "): stop it first\n") {
		t.Errorf("status %d: %s", status, out)
	}
	b.signIn() // it goes on
}

func TestDoctorSaysWhenTheCheckWasPartial(t *testing.T) {
	t.Parallel()
	cfg, _ := newStoppedBot(t)
	out, status := runProgram(t, "doctor", "--no-turn", "--config", cfg, "--check-time", "1ns")
	if status != 0 || !strings.Contains(out, "checked only in part") || !strings.Contains(out, "--check-time") {
		t.Errorf("status %d:\n%s", status, out)
	}
	out, _ = runProgram(t, "doctor", "--no-turn", "--config", cfg)
	if !strings.Contains(out, "is intact (all ") || !strings.Contains(out, "history.db can be opened and is intact") {
		t.Errorf("%s", out)
	}
}

func TestDoctorFindsDamageInTheMiddleOfALargeDatabase(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	mustRunProgram(t, "pair", "--list", "--config", cfg) // folds the log into the database
	conn, err := dbfile.Connect(t.Context(), filepath.Join(state, "nanobot.db"))
	musttest.Do(t, err)
	s, err := conn.Prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
		INSERT INTO memory (chat, key, value) SELECT 'net:' || i, 'k', hex(randomblob(1500)) FROM n`)
	musttest.Do(t, err)
	_, err = s.(driver.StmtExecContext).ExecContext(t.Context(), nil)
	musttest.Do(t, errors.Join(err, s.Close(), conn.Close()))
	mustRunProgram(t, "doctor", "--no-turn", "--config", cfg)
	f, err := os.OpenFile(filepath.Join(state, "nanobot.db"), os.O_RDWR, 0)
	musttest.Do(t, err)
	info, err := f.Stat()
	musttest.Do(t, err)
	if info.Size() < 20<<20 {
		t.Fatalf("%d bytes are too few", info.Size())
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xFF}, 4096), info.Size()/2/4096*4096)
	musttest.Do(t, errors.Join(err, f.Close()))
	out, status := runProgram(t, "doctor", "--no-turn", "--config", cfg)
	if status != exit.Config || !strings.Contains(out, "damaged") {
		t.Errorf("doctor: status %d:\n%s", status, out)
	}
	// The daemon finds it once it is up: there is no time for it before.
	out, status = runProgram(t, "serve", "--config", cfg)
	if status != exit.Config || !strings.Contains(out, "nanobot restore") {
		t.Errorf("serve: status %d:\n%s", status, out)
	}
}

func TestACopyFromBeforeAMigrationIsRestoredAlone(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	mustRunProgram(t, "pair", "--list", "--config", cfg) // folds the log into the database
	before := musttest.Get(os.ReadFile(filepath.Join(state, "nanobot.db")))(t)
	web := musttest.Get(os.ReadFile(filepath.Join(state, "web", "history.db")))(t)
	kept := filepath.Join(state, "backups", "nanobot-20200101T000000.000000Z-schema-6.db")
	musttest.Do(t, os.MkdirAll(filepath.Dir(kept), 0o700))
	musttest.Do(t, os.WriteFile(kept, before, 0o600))
	setSchemaVersion(t, state, 99) // what a newer nanobot has left
	if out, status := runProgram(t, "serve", "--config", cfg); status != exit.Config || !strings.Contains(out, filepath.Join(state, "backups")) {
		t.Errorf("status %d:\n%s", status, out)
	}
	journal := filepath.Join(state, "nanobot.db-journal")
	musttest.Do(t, os.WriteFile(journal, []byte("of the database that is replaced"), 0o600))
	mustRunProgram(t, "restore", "--config", cfg, kept)
	if after, err := os.ReadFile(filepath.Join(state, "nanobot.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it is not the copy: %v", err)
	}
	if _, err := os.Lstat(journal); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal of another database is beside the copy: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(state, "web", "history.db")); err != nil || !bytes.Equal(web, after) {
		t.Errorf("the web's conversations were replaced: %v", err)
	}
	mustRunProgram(t, "doctor", "--no-turn", "--config", cfg)
}

func TestABackupDoesNotOverwritePartsOfTheState(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	other := filepath.Join(t.TempDir(), "link")
	musttest.Do(t, os.Symlink(state, other))
	before := musttest.Get(os.ReadFile(filepath.Join(state, "nanobot.db")))(t)
	for _, name := range []string{"nanobot.db", "nanobot.db-wal", "http.key", "restore.unfinished", "web/history.db", "backups"} {
		for _, dir := range []string{state, other} {
			if out, status := runProgram(t, "backup", "--force", "--config", cfg, filepath.Join(dir, name)); status != exit.Failed || !strings.Contains(out, "belongs to the state") {
				t.Errorf("%s: status %d, %s", name, status, out)
			}
		}
	}
	if after, err := os.ReadFile(filepath.Join(state, "nanobot.db")); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the state was changed (%v)", err)
	}
	for _, name := range []string{"mine.tar.gz", "backups/mine.tar.gz"} {
		mustRunProgram(t, "backup", "--config", cfg, filepath.Join(state, name))
		mustRunProgram(t, "restore", "--config", cfg, filepath.Join(state, name))
	}
}
