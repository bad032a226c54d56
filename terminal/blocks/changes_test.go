package blocks_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/blocks"
)

// changesFixture is a session that changes files. After each command it is loaded from the stored
// list again, as after a crash.
type changesFixture struct {
	*workspaceFixture
	*blocks.Changes
	copies *os.Root
	stored []byte
}

func newChangesFixture(t *testing.T) *changesFixture {
	t.Helper()
	s := &changesFixture{workspaceFixture: newWorkspaceFixture(t)}
	s.must(os.MkdirAll(s.path("ws/users/8/blocks/copies"), 0o700))
	var err error
	s.copies, err = os.OpenRoot(s.path("ws/users/8/blocks/copies"))
	s.must(err)
	t.Cleanup(func() { _ = s.copies.Close() })
	s.restart()
	return s
}

func (s *changesFixture) restart() {
	s.t.Helper()
	var err error
	s.Changes, err = blocks.NewChanges(s.Workspace, s.copies, s.stored)
	s.must(err)
}

func (s *changesFixture) storeList() {
	s.t.Helper()
	var err error
	s.stored, err = s.List()
	s.must(err)
	s.restart()
}

// runCommand executes a command as a turn does.
func (s *changesFixture) runCommand(path string, command func() error) {
	s.t.Helper()
	s.must(s.Save(path))
	s.storeList()
	s.must(command())
	s.must(s.Record(path))
	s.storeList()
}

func (s *changesFixture) writeFile(path, content string) {
	s.t.Helper()
	s.runCommand(path, func() error { return s.Write(path, content) })
}

func (s *changesFixture) removeFile(path string) {
	s.t.Helper()
	s.runCommand(path, func() error { return s.Remove(path) })
}

// checkUndo checks the result of undo, and that a second undo has nothing more to do.
func (s *changesFixture) checkUndo(want blocks.Undone) {
	s.t.Helper()
	if want.Refused == nil {
		want.Refused = map[string]string{}
	}
	if got := s.Undo(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("undone:\n%v, not\n%v", got, want)
	}
	s.storeList()
	if got := s.Undo(); len(got.Restored)+len(got.Removed) != 0 || !maps.Equal(got.Refused, want.Refused) {
		s.t.Errorf("undone again: %v", got)
	}
}

func (s *changesFixture) checkSummary(created, changed, deleted string) {
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
func (s *changesFixture) workspaceFiles() map[string]string {
	s.t.Helper()
	files := s.readTree("ws")
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, "users/") })
	return files
}

func TestASessionIsSummarizedAndUndone(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/keep", "same")
	s.putFile("ws/script", "#!/bin/sh\n")
	s.putFile("ws/mode", "first\n")
	s.must(os.Chmod(s.path("ws/script"), 0o751))
	s.must(os.Chmod(s.path("ws/mode"), 0o640))
	before := s.workspaceFiles()
	s.writeFile("new", "1")
	s.writeFile("./new", "2")
	s.writeFile("deep/er/new", "1")
	s.writeFile("deep/er/other", "1")
	s.writeFile("brief", "1")
	s.removeFile("brief")
	s.writeFile("sub/../file", "changed")
	s.writeFile("keep", "other")
	s.writeFile("keep", "same")
	s.removeFile("script")
	s.removeFile("sub/file")
	s.removeFile("mode")
	s.writeFile("mode", "second\n")
	s.checkSummary("deep/er/new deep/er/other new", "file mode", "script sub/file")
	s.checkUndo(blocks.Undone{Restored: []string{"file", "mode", "script", "sub/file"}, Removed: []string{"deep/er/new", "deep/er/other", "new"}})
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
	s.checkSummary("", "", "")
	s.writeFile("file", "once more")
	s.checkSummary("", "file", "")
	s.checkUndo(blocks.Undone{Restored: []string{"file"}})
	wanttest.Equal(t, "file has", s.readFile("ws/file"), "text")
}

func TestALinkAndItsFileAreUndone(t *testing.T) {
	s := newChangesFixture(t)
	s.putLink("file", "ws/link")
	s.putLink("sub", "ws/folder")
	s.putLink("later", "ws/dangling")
	before := s.workspaceFiles()
	s.writeFile("link", "by link")
	s.writeFile("file", "by name")
	s.writeFile("dangling", "new")
	s.removeFile("folder/file")
	s.checkSummary("later", "file", "sub/file")
	s.removeFile("link")
	s.checkSummary("later", "file", "link sub/file")
	s.writeFile("link", "no link any more")
	s.checkSummary("later", "file link", "sub/file")
	if text, _ := s.Diff(1 << 30); !strings.Contains(text, "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-file\n\\ No newline at end of file\n+no link any more\n") {
		t.Errorf("diff %s", text)
	}
	s.checkUndo(blocks.Undone{Restored: []string{"file", "link", "sub/file"}, Removed: []string{"later"}})
	if after := s.workspaceFiles(); !maps.Equal(before, after) {
		t.Errorf("there is %q", after)
	}
	if to, err := os.Readlink(s.path("ws/link")); to != "file" || err != nil {
		t.Errorf("the link leads to %q: %v", to, err)
	}
}

func TestAFolderThatTakesThePlaceOfAFileIsUndone(t *testing.T) {
	s := newChangesFixture(t)
	s.removeFile("file")
	s.writeFile("file/in/it", "new")
	s.checkUndo(blocks.Undone{Restored: []string{"file"}, Removed: []string{"file/in/it"}})
	wanttest.Equal(t, "file has", s.readFile("ws/file"), "text")
}

func TestUndoDoesNotTouchFilesThatHaveChangedSince(t *testing.T) {
	s := newChangesFixture(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		s.putFile("ws/"+name, "before")
	}
	s.writeFile("a", "session")
	s.writeFile("b", "session")
	s.removeFile("c")
	s.writeFile("new/one", "session")
	s.writeFile("new/two", "session")
	s.writeFile("d", "session")
	s.writeFile("e", "session")
	s.writeFile("f", "session")
	s.putFile("ws/a", "somebody's")
	s.must(os.Remove(s.path("ws/b")))
	s.putFile("ws/c", "somebody's")
	s.putFile("ws/new/one", "somebody's")
	s.must(os.Remove(s.path("ws/d")))
	s.must(os.Mkdir(s.path("ws/d"), 0o700))
	s.must(os.Remove(s.path("ws/e")))
	s.putLink("../outside/file", "ws/e")
	s.putFile("ws/f", "before") // somebody has put it back
	const since = "something else has changed it since"
	s.checkUndo(blocks.Undone{
		Removed: []string{"new/two"},
		Refused: map[string]string{"a": since, "b": since, "c": since, "d": "is a directory", "e": since, "new/one": since},
	})
	for path, want := range map[string]string{"a": "somebody's", "c": "somebody's", "new/one": "somebody's", "f": "before"} {
		wanttest.Equal(t, path+": has", s.readFile("ws/"+path), want)
	}
	wanttest.Equal(t, "a file outside has", s.readFile("outside/file"), "SECRET")
}

// The gateway may be killed between any two steps of a command.
func TestAnInterruptedCommandIsUndoneOrRefused(t *testing.T) {
	s := newChangesFixture(t)
	s.must(s.Save("file")) // killed before the session was stored
	s.restart()
	s.putFile("ws/file", "changed by somebody") // and not yet by the session
	s.writeFile("file", "session")
	s.checkUndo(blocks.Undone{Restored: []string{"file"}})
	wanttest.Equal(t, "file has", s.readFile("ws/file"), "changed by somebody")

	s.must(s.Save("sub/file")) // killed before the command
	s.must(s.Save("new/file"))
	s.storeList()
	s.checkSummary("", "", "")
	if text, omitted := s.Diff(1 << 30); text != "" || omitted != 0 {
		t.Errorf("diff %q, %d", text, omitted)
	}
	s.checkUndo(blocks.Undone{})

	s.must(s.Save("other/file"))
	s.must(s.Save("script"))
	s.storeList()
	s.must(s.Write("other/file", "session"))
	s.must(s.Write("script", "session"))
	s.restart() // killed before the command was recorded
	s.checkUndo(blocks.Undone{Refused: map[string]string{"other/file": "the command that changed it was interrupted", "script": "the command that changed it was interrupted"}})
	s.must(s.Record("other/file"))
	s.storeList()
	s.checkSummary("other/file", "", "")
	s.checkUndo(blocks.Undone{Removed: []string{"other/file"}, Refused: map[string]string{"script": "the command that changed it was interrupted"}})
}

func TestAFileThatCannotBeSavedIsNotChanged(t *testing.T) {
	s := newChangesFixture(t)
	s.must(os.Link(s.path("ws/state/db"), s.path("ws/hard")))
	s.putLink("../outside/file", "ws/out")
	for _, path := range []string{"../outside/file", "config.json", "hard", "out", "users/8/note", ""} {
		if err := s.Save(path); !errors.Is(err, blocks.ErrOutside) {
			t.Errorf("save %q: %v", path, err)
		}
		if err := s.Record(path); !errors.Is(err, blocks.ErrOutside) && path != "hard" {
			t.Errorf("record %q: %v", path, err)
		}
	}
	s.must(syscall.Mkfifo(s.path("ws/fifo"), 0o600))
	for _, path := range []string{"sub", "sub/", "file/x", "fifo", strings.Repeat("n", 300)} { // the commands themselves fail at these paths
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
	s.checkSummary("", "", "")
}

func TestADeletedFileIsRestoredWithItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	s := newChangesFixture(t)
	s.must(os.Chown(s.path("ws/file"), 1234, 4321))
	s.must(os.Chmod(s.path("ws/file"), 0o640))
	s.removeFile("file")
	s.checkUndo(blocks.Undone{Restored: []string{"file"}})
	info, err := os.Stat(s.path("ws/file"))
	s.must(err)
	if was := info.Sys().(*syscall.Stat_t); was.Uid != 1234 || was.Gid != 4321 || info.Mode() != 0o640 {
		t.Errorf("%v of %d:%d", info.Mode(), was.Uid, was.Gid)
	}
}
