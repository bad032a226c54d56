package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

const stranger = 4711

// otherUsersState is a bot whose state belongs to another user than root, who runs the commands.
type otherUsersState struct {
	t                       *testing.T
	dir, cfg, state, victim string
	code                    string // by which somebody waits
}

// newOtherUsersState makes one. If it is closed, only root comes to the state's folder, as with
// DynamicUser=.
func newOtherUsersState(t *testing.T, closed bool) *otherUsersState {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, err := os.MkdirTemp("/tmp", "held-state-") // where others may look
	musttest.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	s := &otherUsersState{t: t, dir: dir, cfg: filepath.Join(dir, "config.json"), state: filepath.Join(dir, "private/state"), victim: filepath.Join(dir, "victim")}
	musttest.Do(t, os.MkdirAll(s.state, 0o700))
	if !closed {
		musttest.Do(t, os.Chmod(filepath.Dir(s.state), 0o755))
	}
	musttest.Do(t, os.Mkdir(s.victim, 0o755))
	musttest.Do(t, os.WriteFile(s.cfg, []byte(`{"terminal": {"command": "true"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:8080"}, "gateway": {"stateDir": "private/state"}}`), 0o644))
	cfg := musttest.Get(config.Load(s.cfg, nil, extensions()))(t)
	db := musttest.Get(openStore(t.Context(), cfg, false))(t)
	s.code = "ABCDEFGH"
	musttest.Get(db.RequestPairing(t.Context(), store.PairingRequest{
		In:   channels.Incoming{Chat: channels.Chat{Channel: "telegram", ID: "8"}, ID: "1", User: channels.User{ID: "8"}},
		Code: s.code, Limits: store.CodeLimits{Life: intake.CodeLifetime, Open: 10, PerHour: 10},
	}))(t)
	musttest.Do(t, closeStore(db))
	musttest.Do(t, filepath.WalkDir(s.state, func(path string, _ fs.DirEntry, err error) error {
		musttest.Do(t, err)
		return os.Lchown(path, stranger, stranger)
	}))
	return s
}

func (s *otherUsersState) runAsRoot(args ...string) (string, error) {
	out, err := programCommand(s.t, append(args, "--config", s.cfg)...).CombinedOutput()
	return string(out), err
}

func TestRootsCommandsDoNotChangeTheOwnerOfTheState(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			s := newOtherUsersState(t, closed)
			if out, err := s.runAsRoot("pair", s.code); err != nil || !strings.Contains(out, "telegram:8 may talk to the bot now") || strings.Contains(out, "audit") {
				t.Errorf("pair: %v, %s", err, out)
			}
			if out, err := s.runAsRoot("link"); err != nil || !strings.Contains(out, "http://127.0.0.1:8080/") {
				t.Errorf("link: %v, %s", err, out)
			}
			record, err := os.ReadFile(filepath.Join(s.state, "audit.jsonl"))
			if err != nil || !strings.Contains(string(record), `"uid 0"`) {
				t.Errorf("the record is %s, %v", record, err)
			}
			if out, err := s.runAsRoot("link", "--list"); err != nil || strings.Count(out, "link") != 1 {
				t.Errorf("list of links: %v, %s", err, out)
			}
			musttest.Do(t, filepath.WalkDir(s.state, func(path string, e fs.DirEntry, err error) error {
				musttest.Do(t, err)
				if info, err := e.Info(); err != nil || trust.FileUID(info) != stranger {
					t.Errorf("%s belongs to somebody else: %v", path, err)
				}
				return nil
			}))
		})
	}
}

func TestRootsCommandsFollowNoLinkOutOfTheState(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			s := newOtherUsersState(t, closed)
			old, file := filepath.Join(s.victim, strings.Repeat("0a", 32)), filepath.Join(s.victim, "file") // the first is named like a link
			for _, path := range []string{old, file} {
				musttest.Do(t, os.WriteFile(path, []byte("root's"), 0o644))
			}
			musttest.Do(t, os.Chtimes(old, time.Time{}, time.Now().Add(-24*time.Hour)))
			trap := func(name, to string) {
				_ = os.Remove(filepath.Join(s.state, name))
				musttest.Do(t, os.Symlink(to, filepath.Join(s.state, name)))
			}
			expect := func(words string, args ...string) {
				t.Helper()
				if out, _ := s.runAsRoot(args...); !strings.Contains(out, words) {
					t.Errorf("%v: there is no %q in %s", args, words, out)
				}
			}
			trap("audit.jsonl", file)
			trap("links", s.victim)
			expect("telegram:8 may talk to the bot now", "pair", s.code)
			expect("http://127.0.0.1:8080/in/", "link")
			trap("sessions", s.victim)
			trap("http.key", file)
			expect("http://127.0.0.1:8080/in/", "link")
			trap("audit.jsonl", filepath.Join(s.victim, "new"))
			expect("telegram:8 no longer has access", "pair", "--revoke", "telegram:8")
			trap("agents.txt", filepath.Join(s.victim, "agents"))
			expect("open state: ", "pair", "--list")
			entries, err := os.ReadDir(s.victim)
			if err != nil || len(entries) != 2 {
				t.Errorf("root's folder has %v, %v", entries, err)
			}
			for _, path := range []string{old, file} {
				info, err := os.Stat(path)
				if err != nil || info.Size() != 6 || info.Mode().Perm() != 0o644 || trust.FileUID(info) != 0 {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
		})
	}
}

func TestRootRefusesAStateThatOthersCanReplace(t *testing.T) {
	s := newOtherUsersState(t, false)
	musttest.Do(t, os.Chown(filepath.Dir(s.state), stranger, stranger))
	musttest.Do(t, os.Rename(s.state, s.state+".old"))
	musttest.Do(t, os.Symlink(s.victim, s.state))
	for _, args := range [][]string{{"pair", "--list"}, {"link"}} {
		if out, err := s.runAsRoot(args...); err == nil || !strings.Contains(out, "who could replace it") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	if entries, _ := os.ReadDir(s.victim); len(entries) != 0 {
		t.Errorf("root's folder has %v", entries)
	}
}
