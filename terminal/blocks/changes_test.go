package blocks_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/terminal/blocks"
)

// story is a session that changes files. After each command it begins anew with what it has stored,
// as after a crash.
type story struct {
	*world
	*blocks.Changes
	copies *os.Root
	stored []byte
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{world: newWorld(t)}
	s.must(os.MkdirAll(s.path("ws/users/8/blocks/copies"), 0o700))
	var err error
	s.copies, err = os.OpenRoot(s.path("ws/users/8/blocks/copies"))
	s.must(err)
	t.Cleanup(func() { _ = s.copies.Close() })
	s.restart()
	return s
}

func (s *story) restart() {
	s.t.Helper()
	var err error
	s.Changes, err = blocks.NewChanges(s.Workspace, s.copies, s.stored)
	s.must(err)
}

func (s *story) store() {
	s.t.Helper()
	var err error
	s.stored, err = s.List()
	s.must(err)
	s.restart()
}

// does executes a command as a turn does.
func (s *story) does(path string, command func() error) {
	s.t.Helper()
	s.must(s.Save(path))
	s.store()
	s.must(command())
	s.must(s.Record(path))
	s.store()
}

func (s *story) writes(path, content string) {
	s.t.Helper()
	s.does(path, func() error { return s.Write(path, content) })
}

func (s *story) removes(path string) {
	s.t.Helper()
	s.does(path, func() error { return s.Remove(path) })
}

// undoes checks what undo does, and what a second one does.
func (s *story) undoes(want blocks.Undone) {
	s.t.Helper()
	if want.Refused == nil {
		want.Refused = map[string]string{}
	}
	if got := s.Undo(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("undone:\n%v, not\n%v", got, want)
	}
	s.store()
	if got := s.Undo(); len(got.Restored)+len(got.Removed) != 0 || !maps.Equal(got.Refused, want.Refused) {
		s.t.Errorf("undone again: %v", got)
	}
}

func (s *story) sums(created, changed, deleted string) {
	s.t.Helper()
	want := [3][]string{strings.Fields(created), strings.Fields(changed), strings.Fields(deleted)}
	for i, got := range s.Summary() {
		if !slices.Equal(got, want[i]) {
			s.t.Errorf("summary %q, not %q", s.Summary(), want)
			return
		}
	}
}

// workspaceFiles are the agent's files and their contents.
func (s *story) workspaceFiles() map[string]string {
	s.t.Helper()
	files := s.files("ws")
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, "users/") })
	return files
}

func sha(content string) [32]byte { return sha256.Sum256([]byte(content)) }

func TestASessionIsSummedUpAndUndone(t *testing.T) {
	s := newStory(t)
	s.put("ws/keep", "same")
	s.put("ws/script", "#!/bin/sh\n")
	s.put("ws/mode", "first\n")
	s.must(os.Chmod(s.path("ws/script"), 0o751))
	s.must(os.Chmod(s.path("ws/mode"), 0o640))
	before := s.workspaceFiles()
	s.writes("new", "1")
	s.writes("./new", "2")
	s.writes("deep/er/new", "1")
	s.writes("deep/er/other", "1")
	s.writes("brief", "1")
	s.removes("brief")
	s.writes("sub/../file", "changed")
	s.writes("keep", "other")
	s.writes("keep", "same")
	s.removes("script")
	s.removes("sub/file")
	s.removes("mode")
	s.writes("mode", "second\n")
	s.sums("deep/er/new deep/er/other new", "file mode", "script sub/file")
	s.undoes(blocks.Undone{Restored: []string{"file", "mode", "script", "sub/file"}, Removed: []string{"deep/er/new", "deep/er/other", "new"}})
	if after := s.workspaceFiles(); !maps.Equal(before, after) {
		t.Errorf("there is %q", after)
	}
	if _, err := os.Stat(s.path("ws/deep")); err == nil {
		t.Error("an empty folder is left")
	}
	for path, want := range map[string]os.FileMode{"script": 0o751, "mode": 0o640, "file": 0o600} {
		if info, err := os.Stat(s.path("ws/" + path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	s.sums("", "", "")
	s.writes("file", "once more")
	s.sums("", "file", "")
	s.undoes(blocks.Undone{Restored: []string{"file"}})
	if got := s.content("ws/file"); got != "text" {
		t.Errorf("file has %q", got)
	}
}

func TestALinkAndItsFileAreUndone(t *testing.T) {
	s := newStory(t)
	s.link("file", "ws/link")
	s.link("sub", "ws/folder")
	s.link("later", "ws/dangling")
	before := s.workspaceFiles()
	s.writes("link", "by link")
	s.writes("file", "by name")
	s.writes("dangling", "new")
	s.removes("folder/file")
	s.sums("later", "file", "sub/file")
	s.removes("link")
	s.sums("later", "file", "link sub/file")
	s.writes("link", "no link any more")
	s.sums("later", "file link", "sub/file")
	if text, _ := s.Diff(-1); !strings.Contains(text, "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-file\n\\ No newline at end of file\n+no link any more\n") {
		t.Errorf("diff %s", text)
	}
	s.undoes(blocks.Undone{Restored: []string{"file", "link", "sub/file"}, Removed: []string{"later"}})
	if after := s.workspaceFiles(); !maps.Equal(before, after) {
		t.Errorf("there is %q", after)
	}
	if to, err := os.Readlink(s.path("ws/link")); to != "file" || err != nil {
		t.Errorf("the link leads to %q: %v", to, err)
	}
}

func TestAFolderThatTakesThePlaceOfAFileIsUndone(t *testing.T) {
	s := newStory(t)
	s.removes("file")
	s.writes("file/in/it", "new")
	s.undoes(blocks.Undone{Restored: []string{"file"}, Removed: []string{"file/in/it"}})
	if got := s.content("ws/file"); got != "text" {
		t.Errorf("file has %q", got)
	}
}

func TestUndoLeavesWhatWasChangedSince(t *testing.T) {
	s := newStory(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		s.put("ws/"+name, "before")
	}
	s.writes("a", "session")
	s.writes("b", "session")
	s.removes("c")
	s.writes("new/one", "session")
	s.writes("new/two", "session")
	s.writes("d", "session")
	s.writes("e", "session")
	s.writes("f", "session")
	s.put("ws/a", "somebody's")
	s.must(os.Remove(s.path("ws/b")))
	s.put("ws/c", "somebody's")
	s.put("ws/new/one", "somebody's")
	s.must(os.Remove(s.path("ws/d")))
	s.must(os.Mkdir(s.path("ws/d"), 0o700))
	s.must(os.Remove(s.path("ws/e")))
	s.link("../outside/file", "ws/e")
	s.put("ws/f", "before") // somebody has put it back
	const since = "it was changed after the session"
	s.undoes(blocks.Undone{
		Removed: []string{"new/two"},
		Refused: map[string]string{"a": since, "b": since, "c": since, "d": "is a directory", "e": since, "new/one": since},
	})
	for path, want := range map[string]string{"a": "somebody's", "c": "somebody's", "new/one": "somebody's", "f": "before"} {
		if got := s.content("ws/" + path); got != want {
			t.Errorf("%s has %q", path, got)
		}
	}
	if got := s.content("outside/file"); got != "SECRET" {
		t.Errorf("a file outside has %q", got)
	}
}

// The gateway may be killed at any moment.
func TestAnInterruptedCommandIsSensiblyUndone(t *testing.T) {
	s := newStory(t)
	s.must(s.Save("file")) // killed before the session was stored
	s.restart()
	s.put("ws/file", "changed by somebody") // and not yet by the session
	s.writes("file", "session")
	s.undoes(blocks.Undone{Restored: []string{"file"}})
	if got := s.content("ws/file"); got != "changed by somebody" {
		t.Errorf("file has %q", got)
	}

	s.must(s.Save("sub/file")) // killed before the command
	s.must(s.Save("new/file"))
	s.store()
	s.sums("", "", "")
	if text, omitted := s.Diff(-1); text != "" || omitted != 0 {
		t.Errorf("diff %q, %d", text, omitted)
	}
	s.undoes(blocks.Undone{})

	s.must(s.Save("other/file"))
	s.must(s.Save("script"))
	s.store()
	s.must(s.Write("other/file", "session"))
	s.must(s.Write("script", "session"))
	s.restart() // killed before the command was recorded
	s.undoes(blocks.Undone{Refused: map[string]string{"other/file": "the command that changed it was interrupted", "script": "the command that changed it was interrupted"}})
	s.must(s.Record("other/file"))
	s.store()
	s.sums("other/file", "", "")
	s.undoes(blocks.Undone{Removed: []string{"other/file"}, Refused: map[string]string{"script": "the command that changed it was interrupted"}})
}

func TestWhatCannotBeSavedMustNotBeTouched(t *testing.T) {
	s := newStory(t)
	s.must(os.Link(s.path("ws/state/db"), s.path("ws/hard")))
	s.link("../outside/file", "ws/out")
	for _, path := range []string{"../outside/file", "config.json", "hard", "out", "users/8/note", ""} {
		if err := s.Save(path); !errors.Is(err, blocks.ErrOutside) {
			t.Errorf("save %q: %v", path, err)
		}
		if err := s.Record(path); !errors.Is(err, blocks.ErrOutside) && path != "hard" {
			t.Errorf("record %q: %v", path, err)
		}
	}
	s.must(syscall.Mkfifo(s.path("ws/fifo"), 0o600))
	for _, path := range []string{"sub", "sub/", "file/x", "fifo", strings.Repeat("n", 300)} { // their commands fail and tell why
		if err := s.Save(path); err != nil {
			t.Errorf("save %q: %v", path, err)
		}
	}
	if list, err := s.List(); string(list) != "null" || err != nil {
		t.Errorf("the list is %s: %v", list, err)
	}
	if copies, _ := os.ReadDir(s.copies.Name()); len(copies) != 0 {
		t.Errorf("%v were saved", copies)
	}
	_ = s.copies.Close()
	if err := s.Save("file"); err == nil {
		t.Error("a file was saved nowhere")
	}
	s.sums("", "", "")
}

// All commands of the agent can write to the folder of copies.
func TestACopyThatWasTamperedWithIsNeitherShownNorRestored(t *testing.T) {
	for name, tamper := range map[string]func(s *story, path string) error{
		"another content":     func(_ *story, path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
		"a longer content":    func(_ *story, path string) error { return os.WriteFile(path, []byte("text and more"), 0o600) },
		"a link":              func(s *story, path string) error { return os.Symlink(s.path("outside/file"), path) },
		"a link to the same":  func(s *story, path string) error { return os.Symlink(s.path("ws/text"), path) },
		"a state file":        func(s *story, path string) error { return os.Link(s.path("ws/state/deep/db"), path) },
		"another chat's file": func(s *story, path string) error { return os.Link(s.path("ws/users/7/note"), path) },
		"a FIFO":              func(_ *story, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":            func(_ *story, path string) error { return os.Mkdir(path, 0o700) },
		"nothing":             func(*story, string) error { return nil },
		"a link to a FIFO there": func(_ *story, path string) error {
			return errors.Join(syscall.Mkfifo(path+".fifo", 0o600), os.Symlink(path+".fifo", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.put("ws/text", "text")
			s.writes("file", "session")
			copies, err := os.ReadDir(s.copies.Name())
			s.must(err)
			if len(copies) != 1 {
				t.Fatalf("%v were saved", copies)
			}
			path := filepath.Join(s.copies.Name(), copies[0].Name())
			// Even one whose checksum was forged.
			s.must(os.Remove(path))
			s.must(tamper(s, path))
			for range 2 {
				if text, _ := s.Diff(-1); text != "file cannot be compared: the saved copy was changed or removed\n" {
					t.Errorf("diff %q", text)
				}
				s.undoes(blocks.Undone{Refused: map[string]string{"file": "the saved copy was changed or removed"}})
				if got := s.content("ws/file"); got != "session" {
					t.Errorf("file has %q", got)
				}
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

func TestAListThatWasTamperedWithLeadsNowhere(t *testing.T) {
	s := newStory(t)
	s.put("ws/users/7/file", "session")
	s.writes("file", "session")
	var list []map[string]any
	s.must(json.Unmarshal(s.stored, &list))
	s.link("users/7", "ws/chat")
	before := s.files(".")
	for _, file := range []string{"users/7/file", "../outside/file", "users/../users/7/file", "config.json", "chat/file", "/etc/passwd", "", ".", "..", "sub/", "secret.env", "users/9/new"} {
		for _, was := range []any{list[0]["before"], map[string]any{}, map[string]any{"link": "x"}} {
			for _, is := range []any{list[0]["after"], map[string]any{"sum": fmt.Sprintf("%x", sha("SECRET"))}, map[string]any{}} {
				list[0]["file"], list[0]["before"], list[0]["after"], list[0]["folders"] = file, was, is, []string{file}
				forged, err := json.Marshal(list)
				s.must(err)
				s.stored = forged
				s.restart()
				if text, _ := s.Diff(-1); strings.Contains(text, "SECRET") || strings.Contains(text, "root:") {
					t.Errorf("%q: diff %s", file, text)
				}
				if done := s.Undo(); len(done.Removed)+len(done.Restored) != 0 {
					t.Errorf("%q: %v", file, done)
				}
			}
		}
	}
	if after := s.files("."); !maps.Equal(before, after) {
		t.Error("files were changed")
	}
}

func TestADiffOfASessionIsWhatGitUnderstands(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which is to apply the diff, is not here")
	}
	s := newStory(t)
	s.must(os.MkdirAll(s.path("copy/sub"), 0o700))
	for path, content := range map[string]string{"file": "text", "sub/file": "text in sub", "two words": "one\ntwo\n", `odd"name`: "a\n"} {
		s.put("ws/"+path, content)
		s.put("copy/"+path, content)
	}
	s.writes("file", "text\nmore\n")
	s.removes("sub/file")
	s.writes("deep/new", "new\n")
	s.writes("two words", "one\n2\n")
	s.writes(`odd"name`, "b\n")
	s.writes("gone", "x")
	s.removes("gone")
	text, omitted := s.Diff(-1)
	if omitted != 0 {
		t.Errorf("%d omitted", omitted)
	}
	s.put("diff", text)
	apply := exec.Command("git", "apply", s.path("diff"))
	apply.Dir = s.path("copy")
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+s.dir)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	want := s.workspaceFiles()
	maps.DeleteFunc(want, func(path, _ string) bool { return path == "config.json" || strings.HasPrefix(path, "state/") })
	if got := s.files("copy"); !maps.Equal(got, want) {
		t.Errorf("%q, not %q\n%s", got, want, text)
	}
}

func TestADiffIsBoundedAndLeavesBinaryFilesOut(t *testing.T) {
	s := newStory(t)
	s.put("ws/binary", "a\x00b")
	s.put("ws/latin", "\xe4\n")
	s.put("ws/huge", strings.Repeat("x\n", 2<<20))
	s.writes("binary", "text")
	s.writes("latin", "ä\n")
	s.writes("huge", strings.Repeat("y\n", 2<<20))
	s.writes("new.bin", "\x00")
	s.writes("a b\nc", "1")
	s.writes("long", strings.Repeat("long line\n", 100))
	want := "--- /dev/null\n+++ \"b/a b\\nc\"\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n" +
		"Binary files a/binary and b/binary differ\n" +
		"Files a/huge and b/huge differ (too large to be compared by lines)\n" +
		"Binary files a/latin and b/latin differ\n" +
		"Binary files /dev/null and b/new.bin differ\n"
	if text, omitted := s.Diff(1000); text != want || omitted != 1 {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	if text, omitted := s.Diff(-1); omitted != 0 || len(text) < 1000 {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	if text, omitted := s.Diff(0); omitted != 6 || text != "" {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	s.put("ws/binary", "now\n") // as the file is now, and not as the session left it
	s.must(os.Remove(s.path("ws/huge")))
	if text, _ := s.Diff(-1); !strings.Contains(text, "Files a/huge and /dev/null differ") {
		t.Errorf("diff %s", text)
	}
}

func TestADeletedFileComesBackWithItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	s := newStory(t)
	s.must(os.Chown(s.path("ws/file"), 1234, 4321))
	s.must(os.Chmod(s.path("ws/file"), 0o640))
	s.removes("file")
	s.undoes(blocks.Undone{Restored: []string{"file"}})
	info, err := os.Stat(s.path("ws/file"))
	s.must(err)
	if was := info.Sys().(*syscall.Stat_t); was.Uid != 1234 || was.Gid != 4321 || info.Mode() != 0o640 {
		t.Errorf("%v of %d:%d", info.Mode(), was.Uid, was.Gid)
	}
}
