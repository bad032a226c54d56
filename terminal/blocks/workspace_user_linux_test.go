package blocks_test

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/blocks"
)

// The IDs of the agent's user, which may write to the workspace through its supplementary group.
const agentUID, agentGID, agentGroup = 1234, 4321, 5555

// shareWithGroup makes root the owner of the workspace and sets the sticky bit, as nanobot requires
// for an agent of another user: the agent then cannot replace files that root writes to.
func (w *workspaceFixture) shareWithGroup() {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("only root can work for another user")
	}
	w.must(os.Chown(w.path("ws"), 0, agentGroup))
	w.must(os.Chmod(w.path("ws"), 0o775|os.ModeSticky))
	w.env.User = &syscall.Credential{Uid: agentUID, Gid: agentGID, Groups: []uint32{agentGroup}}
	w.reopen()
}

// setAccess sets the owner and the permissions of a file.
func (w *workspaceFixture) setAccess(path string, uid, gid int, mode os.FileMode) {
	w.t.Helper()
	w.must(os.Chown(w.path(path), uid, gid))
	w.must(os.Chmod(w.path(path), mode))
}

// checkOwner checks the owner of a file.
func (w *workspaceFixture) checkOwner(path string, uid, gid uint32) {
	w.t.Helper()
	info, err := os.Lstat(w.path(path))
	w.must(err)
	if was := info.Sys().(*syscall.Stat_t); was.Uid != uid || was.Gid != gid {
		w.t.Errorf("%s is of %d:%d, not of %d:%d", path, was.Uid, was.Gid, uid, gid)
	}
}

// checkDenied checks that every operation on a file is denied.
func (w *workspaceFixture) checkDenied(path string) {
	w.t.Helper()
	content, _, readErr := w.Read(path, 1<<20)
	for what, err := range map[string]error{"read": readErr, "write": w.Write(path, "OVERWRITTEN"), "remove": w.Remove(path)} {
		if err == nil || blocks.Reason(err) != "permission denied" {
			w.t.Errorf("%s %s: %q, %v", what, path, content, err)
		}
	}
}

func TestAWorkspaceOfRootGivesAnotherUserNoRightsOfRoot(t *testing.T) {
	w := newWorkspaceFixture(t)
	for _, path := range []string{"secret", "closed/file", "closed/deep/file", "open", "readable", "listed/file"} {
		w.putFile("ws/"+path, "text")
	}
	w.setAccess("ws/secret", 0, 0, 0o600)
	w.setAccess("ws/closed", 0, 0, 0o700)
	for _, path := range []string{"closed/file", "closed/deep/file", "open", "listed/file"} {
		w.setAccess("ws/"+path, 0, 0, 0o666)
	}
	w.setAccess("ws/readable", 0, 0, 0o644)
	w.setAccess("ws/listed", 0, 0, 0o755)
	w.putLink("closed/file", "ws/to-closed")
	before := w.readTree("ws")
	w.shareWithGroup()
	for _, path := range []string{"secret", "closed/file", "closed/new", "closed/deep/file", "closed/deep/new/new", "to-closed"} {
		w.checkDenied(path)
	}
	for _, path := range []string{"readable", "listed/new", "listed/new/new"} {
		if err := w.Write(path, "OVERWRITTEN"); err == nil || blocks.Reason(err) != "permission denied" {
			t.Errorf("write %s: %v", path, err)
		}
	}
	for _, path := range []string{"readable", "open", "listed/file"} { // root's in a sticky folder, or in a folder of root's
		if err := w.Remove(path); err == nil || blocks.Reason(err) != "permission denied" {
			t.Errorf("remove %s: %v", path, err)
		}
	}
	if after := w.readTree("ws"); len(after) != len(before) || after["closed/file"] != "text" || after["secret"] != "text" || after["readable"] != "text" {
		t.Errorf("before %q, after %q", before, after)
	}
	shown, _, err := w.List(100)
	w.must(err)
	if slices.ContainsFunc(shown, func(f blocks.WorkspaceFile) bool { return strings.HasPrefix(f.Path, "closed") }) {
		t.Errorf("listed: %v", shown)
	}
}

func TestNewFilesBelongToTheAgentsUser(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.putFile("ws/open", "text")
	w.setAccess("ws/open", 0, 0, 0o666)
	w.putFile("ws/shared/x", "text")
	w.setAccess("ws/shared", 0, agentGroup, 0o775|os.ModeSetgid)
	w.shareWithGroup()
	for _, path := range []string{"new", "made/deep/new", "open", "shared/new", "shared/made/new"} {
		w.must(w.Write(path, "written"))
	}
	for _, path := range []string{"new", "made", "made/deep", "made/deep/new"} {
		w.checkOwner("ws/"+path, agentUID, agentGID)
	}
	for _, path := range []string{"shared/new", "shared/made", "shared/made/new"} { // the folder hands on its group
		w.checkOwner("ws/"+path, agentUID, agentGroup)
	}
	w.checkOwner("ws/open", 0, 0)
	for _, path := range []string{"new", "made/deep/new", "shared/made/new"} {
		w.must(w.Remove(path))
	}
}

func TestARunningProgramIsNotReplacedForAnotherUser(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	w := newWorkspaceFixture(t)
	program, err := os.ReadFile(sleep)
	w.must(err)
	w.putFile("ws/program", string(program))
	w.setAccess("ws/program", 0, 0, 0o755)
	w.shareWithGroup()
	run := exec.Command(w.path("ws/program"), "600")
	w.must(run.Start())
	defer func() { _, _ = run.Process.Kill(), run.Wait() }()
	if err := w.Write("program", "new"); err == nil || blocks.Reason(err) != "permission denied" {
		t.Error(err)
	}
	if w.readFile("ws/program") != string(program) {
		t.Error("it was replaced")
	}
}

func TestRestoredFilesBelongToTheUserOfTheAgent(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/open", "text")
	s.setAccess("ws/open", 0, 0, 0o666)
	s.putFile("ws/mine", "text")
	s.setAccess("ws/mine", agentUID, agentGID, 0o640)
	s.putLink("mine", "ws/link")
	s.must(os.Lchown(s.path("ws/link"), agentUID, agentGID))
	s.shareWithGroup()
	s.restart()
	s.writeFile("open", "changed")
	s.removeFile("link")
	s.removeFile("mine")
	s.must(os.Chmod(s.path("ws/open"), 0o606)) // only root can change that
	s.checkUndo(blocks.Undone{Restored: []string{"link", "mine", "open"}})
	s.checkOwner("ws/open", 0, 0)
	s.checkOwner("ws/mine", agentUID, agentGID)
	s.checkOwner("ws/link", agentUID, agentGID)
	for path, want := range map[string]os.FileMode{"ws/open": 0o606, "ws/mine": 0o640} {
		if info, err := os.Stat(s.path(path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	s.must(s.Remove("link"))
}

func TestACopyThatTheAgentsUserCannotReadIsNotRestored(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/mine", "text")
	s.setAccess("ws/mine", agentUID, agentGID, 0o640)
	s.shareWithGroup()
	s.restart()
	s.removeFile("mine")
	copies, err := filepath.Glob(s.path("ws/users/8/blocks/copies/*"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	s.must(os.Chown(copies[0], 0, 0)) // as another name of a file of root's would be
	s.checkUndo(blocks.Undone{Refused: map[string]string{"mine": "the saved copy was changed or removed"}})
}

// This test covers terminal.user, a turn, and a command that works with the files.
func TestCommandsOfAnotherUserCanUseTheFilesThatWereMadeForIt(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only root can work for another user", err)
	}
	gid := musttest.Get(strconv.Atoi(nobody.Gid))(t)
	r := newFixture(t)
	r.config.User = "nobody"
	r.config.Command = `cat > /dev/null; if [ -e kept ]; then printf '[DONE]\n[/DONE]\n'; else cat <<'END'
[CREATE_FILE path="made/new"]
text
[/CREATE_FILE]
[READ_FILE path="secret"]
[CREATE_FILE path="secret"]
OVERWRITTEN
[/CREATE_FILE]
[CREATE_FILE path="closed/new"]
[/CREATE_FILE]
[CREATE_FILE path="kept"]
kept
[/CREATE_FILE]
[RUN_COMMAND]
rm made/new && rmdir made && echo , more >> kept && echo removed
[/RUN_COMMAND]
END
fi`
	r.putFile("secret", "SECRET")
	r.putFile("closed/file", "SECRET")
	for _, at := range []string{r.workspace, filepath.Dir(r.workspace)} {
		musttest.Do(t, errors.Join(os.Chown(at, 0, gid), os.Chmod(at, 0o775|os.ModeSticky)))
	}
	r.runToDone("work")
	outboxes, err := filepath.Glob(r.folder("outbox", "*.txt"))
	if err != nil || len(outboxes) != 2 {
		t.Fatal(outboxes, err)
	}
	outbox := musttest.Get(os.ReadFile(outboxes[1]))(t)
	checkContains(t, resultsIn(string(outbox)), "Created 'made/new'", "Failed to create 'secret': permission denied", "Failed to create 'closed/new': permission denied", "Created 'kept'", "exit code 0", "removed")
	if strings.Contains(string(outbox), "SECRET") {
		t.Errorf("the model is told\n%s", outbox)
	}
	checkEqual(t, "kept", r.readFile("kept"), "kept, more\n")
	for path, want := range map[string]string{"made/new": "(none)", "closed/new": "(none)", "secret": "SECRET", "closed/file": "SECRET"} {
		checkEqual(t, path, r.readFile(path), want)
	}
}
