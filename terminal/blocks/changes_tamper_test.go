package blocks_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/blocks"
)

func sha(content string) [32]byte { return sha256.Sum256([]byte(content)) }

// The agent's commands can write to the folder of saved copies, so a copy is verified before use.
func TestATamperedCopyIsNeitherShownNorRestored(t *testing.T) {
	for name, tamper := range map[string]func(s *changesFixture, path string) error{
		"another content":     func(_ *changesFixture, path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
		"a longer content":    func(_ *changesFixture, path string) error { return os.WriteFile(path, []byte("text and more"), 0o600) },
		"a link":              func(s *changesFixture, path string) error { return os.Symlink(s.path("outside/file"), path) },
		"a link to the same":  func(s *changesFixture, path string) error { return os.Symlink(s.path("ws/text"), path) },
		"a state file":        func(s *changesFixture, path string) error { return os.Link(s.path("ws/state/deep/db"), path) },
		"another chat's file": func(s *changesFixture, path string) error { return os.Link(s.path("ws/users/7/note"), path) },
		"a FIFO":              func(_ *changesFixture, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":            func(_ *changesFixture, path string) error { return os.Mkdir(path, 0o700) },
		"nothing":             func(*changesFixture, string) error { return nil },
		"a link to a FIFO there": func(_ *changesFixture, path string) error {
			return errors.Join(syscall.Mkfifo(path+".fifo", 0o600), os.Symlink(path+".fifo", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newChangesFixture(t)
			s.putFile("ws/text", "text")
			s.writeFile("file", "session")
			copies, err := os.ReadDir(s.copies.Name())
			s.must(err)
			if len(copies) != 1 {
				t.Fatalf("%v were saved", copies)
			}
			path := filepath.Join(s.copies.Name(), copies[0].Name())
			// Even if the checksum in the list was forged to match.
			s.must(os.Remove(path))
			s.must(tamper(s, path))
			for range 2 {
				if text, _ := s.Diff(1 << 30); text != "file cannot be compared: the saved copy was changed or removed\n" {
					t.Errorf("diff %q", text)
				}
				s.checkUndo(blocks.Undone{Refused: map[string]string{"file": "the saved copy was changed or removed"}})
				wanttest.Equal(t, "file has", s.readFile("ws/file"), "session")
				if name == "another content" || name == "a longer content" {
					break
				}
				sum := fmt.Sprintf("%x", sha("SECRET"))
				s.stored = bytes.ReplaceAll(s.stored, fmt.Appendf(nil, "%x", sha("text")), []byte(sum))
				s.restart()
			}
		})
	}
}

func TestATamperedListLeadsToNoOtherFile(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/users/7/file", "session")
	s.writeFile("file", "session")
	var list []map[string]any
	s.must(json.Unmarshal(s.stored, &list))
	s.putLink("users/7", "ws/chat")
	before := s.readTree(".")
	for _, file := range []string{"users/7/file", "../outside/file", "users/../users/7/file", "config.json", "chat/file", "/etc/passwd", "", ".", "..", "sub/", "secret.env", "users/9/new"} {
		for _, was := range []any{list[0]["before"], map[string]any{}, map[string]any{"link": "x"}} {
			for _, is := range []any{list[0]["after"], map[string]any{"sum": fmt.Sprintf("%x", sha("SECRET"))}, map[string]any{}} {
				list[0]["file"], list[0]["before"], list[0]["after"], list[0]["folders"] = file, was, is, []string{file}
				forged, err := json.Marshal(list)
				s.must(err)
				s.stored = forged
				s.restart()
				if text, _ := s.Diff(1 << 30); strings.Contains(text, "SECRET") || strings.Contains(text, "root:") {
					t.Errorf("%q: diff %s", file, text)
				}
				if done := s.Undo(); len(done.Removed)+len(done.Restored) != 0 {
					t.Errorf("%q: %v", file, done)
				}
			}
		}
	}
	if after := s.readTree("."); !maps.Equal(before, after) {
		t.Error("files were changed")
	}
}
