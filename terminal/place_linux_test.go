package terminal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/rich"
)

const showPlace = `read -r line; echo "$line" | jq -r .workspace; pwd; tr '\0' '\n' </proc/$$/environ | sed -n s/^PWD=//p; echo "$line" | jq -r .user_data_dir`

// git runs git in a folder of the workspace.
func (b *turnFixture) git(folder string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(b.workspace, folder), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// withRepository makes a repository with a commit in the folder repo, and lets the agent work in a
// worktree of it.
func (b *turnFixture) withRepository() *turnFixture {
	b.t.Helper()
	musttest.Do(b.t, os.MkdirAll(filepath.Join(b.workspace, "repo"), 0o755))
	b.git("repo", "init", "-q")
	b.putFile("repo/file", "content\n")
	b.git("repo", "add", ".")
	b.git("repo", "commit", "-q", "-m", "first")
	b.req.Place.Worktree = "repo"
	return b
}

// expectTree runs a turn and checks that the agent worked in the worktree of its chat.
func (b *turnFixture) expectTree(id string) {
	b.t.Helper()
	b.run()
	if b.err != nil || b.out.Status != terminal.Done {
		b.t.Fatalf("%v, %v: %v %v", b.out.Status, b.err, b.frames, b.logs.All())
	}
	wanttest.Equal(b.t, "the branch", b.git("worktrees/"+id, "symbolic-ref", "HEAD"), "refs/heads/nanobot/"+id)
	wanttest.Equal(b.t, "the state of the tree", b.git("worktrees/"+id, "status", "--porcelain"), "")
	wanttest.Equal(b.t, "the file", string(musttest.Get(os.ReadFile(filepath.Join(b.workspace, "worktrees", id, "file")))(b.t)), "content\n")
}

// expectRefusal runs a turn and checks what the person reads and that the log has more.
func (b *turnFixture) expectRefusal(text, logged string) {
	b.t.Helper()
	b.run().expectFrames(terminal.Failed, "error: "+text)
	all := b.logs.FilterMessage("the agent cannot work in its place").All()
	b.logs.TakeAll()
	if len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].ContextMap()), logged) {
		b.t.Errorf("logged %v, want %s", all, logged)
	}
}

func TestAnAgentWorksInTheFolderOfItsMessage(t *testing.T) {
	b := newTurnFixture(t, "plain", showPlace)
	b.opts.Config.Cwd = t.TempDir()
	b.run().expectFrames(terminal.Done, "message: "+strings.Join([]string{b.workspace, b.opts.Config.Cwd, b.opts.Config.Cwd, b.workspace + "/users/local"}, "\n"))
	b.req.Place.Workspace = "projects/x"
	x := b.workspace + "/projects/x"
	b.run().expectFrames(terminal.Done, "message: "+strings.Join([]string{x, x, x, b.workspace + "/users/local"}, "\n"))
	wanttest.Equal(t, "its mode", musttest.Get(os.Stat(x))(t).Mode().Perm(), 0o700)
	b.opts.Config.Command = `echo made > out.png; echo '{"type":"message","text":"sent","media":["out.png"]}'`
	b.opts.Protocol = rich.Protocol{}
	b.run().expectFrames(terminal.Done, "message: sent [out.png]")
}

func TestAFolderIsNotMadeThroughALink(t *testing.T) {
	outside := t.TempDir()
	for place, links := range map[string][2]string{"projects/x": {outside, "projects"}, "p/x": {outside, "p/x"}, "p/y": {"..", "p/y"}} {
		b := newTurnFixture(t, "plain", "echo made > made; cat made")
		musttest.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(b.workspace, links[1])), 0o700))
		musttest.Do(t, os.Symlink(links[0], filepath.Join(b.workspace, links[1])))
		b.req.Place.Workspace = place
		const reason = `: there is a link or a file in its place. Move it away and send your message again.`
		b.expectRefusal(`The agent cannot work in "`+place+`"`+reason, "not a folder")
		musttest.Do(t, os.Remove(filepath.Join(b.workspace, links[1])))
		musttest.Do(t, os.WriteFile(filepath.Join(b.workspace, links[1]), nil, 0o600))
		b.expectRefusal(`The agent cannot work in "`+place+`"`+reason, "not a folder")
		musttest.Do(t, os.Remove(filepath.Join(b.workspace, links[1])))
		if b.run(); b.out.Status != terminal.Done {
			t.Errorf("the next message fails, too: %v %v %v", b.out, b.frames, b.err)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside of the workspace is %v", left)
	}
	b := newTurnFixture(t, "plain", "true")
	b.req.Place.Workspace = "../elsewhere"
	if b.run(); b.out.Status != terminal.Failed {
		t.Errorf("a place outside of the workspace: %v %v", b.out, b.frames)
	}
}

func TestAnAgentWorksInTheWorktreeOfItsChat(t *testing.T) {
	b := newTurnFixture(t, "plain", showPlace).withRepository()
	b.putFile("repo/.git/hooks/post-checkout", "#!/bin/sh\ntouch "+b.workspace+"/hooked\n")
	b.putFile("monitor", "#!/bin/sh\ntouch "+b.workspace+"/hooked\n")
	musttest.Do(t, os.Chmod(filepath.Join(b.workspace, "monitor"), 0o700))
	musttest.Do(t, os.Chmod(filepath.Join(b.workspace, "repo/.git/hooks/post-checkout"), 0o700))
	b.git("repo", "config", "core.fsmonitor", b.workspace+"/monitor")
	environ := b.opts.Environ
	b.opts.Environ = append(environ, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere")
	b.req.ChatID = "-1001_77"
	b.run()
	tree := b.workspace + "/worktrees/-1001_77"
	b.expectFrames(terminal.Done, "message: "+strings.Join([]string{tree, tree, tree, b.workspace + "/users/-1001_77"}, "\n"))
	if _, err := os.Stat(filepath.Join(b.workspace, "hooked")); err == nil {
		t.Error("a hook was run")
	}
	b.git("repo", "config", "--unset", "core.fsmonitor")
	b.req.Channel, b.req.ChatID = "telegram.work", "5"
	b.expectTree("work@5")
	b.opts.Environ = environ
	b.opts.Config.Command = "echo new > new; git status --porcelain"
	b.run().expectFrames(terminal.Done, "message: ?? new")
	b.run().expectFrames(terminal.Done, "message: ?? new") // of the next daemon: nothing is reset
}

func TestLaterTurnsFindTheWorktreeWithoutGit(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	calls := filepath.Join(t.TempDir(), "calls")
	b.beforeGit("echo >> " + calls)
	count := func() int {
		content, _ := os.ReadFile(calls)
		return len(content)
	}
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	turn := func() int {
		before := count()
		out, err := r.Turn(t.Context(), b.req, &b.chat)
		if err != nil || out.Status != terminal.Done {
			t.Fatal(out, err)
		}
		return count() - before
	}
	if turn() == 0 || turn() != 0 || turn() != 0 {
		t.Error("git was not run once")
	}
	musttest.Do(t, os.RemoveAll(filepath.Join(b.workspace, "worktrees/local"))) // and git still has its record
	if turn() == 0 || turn() != 0 {
		t.Error("the removed tree was not made again")
	}
	b.expectTree("local")
}

func TestAWorktreeIsMadeOnItsBranchIfThatExists(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	b.git("repo", "branch", "nanobot/local")
	b.putFile("repo/file", "changed\n")
	b.git("repo", "commit", "-q", "-a", "-m", "second")
	b.expectTree("local") // with the content of the first commit
}

func TestEveryChatHasABranch(t *testing.T) {
	b := newTurnFixture(t, "plain", "git symbolic-ref --short HEAD").withRepository()
	seen := map[string]string{}
	for _, id := range []string{
		"5", "a.", "a..b", "a...", ".a", "a.lock", "a..lock", "a.lock.", "@", "@{1}", "-", "a/b", "a b~^:?*[\\", "a%2E", "ä", ".", "..",
		strings.Repeat("a.", 150), strings.Repeat(".", 190), strings.Repeat(".", 191), "HEAD", "",
	} {
		b.req.ChatID = id
		if b.run(); b.out.Status != terminal.Done || len(b.frames) != 1 || seen[b.frames[0].Text] != "" {
			t.Errorf("chat %q: %v %v, chat %q", id, b.out, b.frames, seen[b.frames[0].Text])
		}
		seen[b.frames[0].Text] = id + " "
	}
}

func TestAPersonIsToldWhyThereIsNoWorktree(t *testing.T) {
	const again = " and send your message again."
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	b.req.Place.Worktree = "missing"
	b.git(".", "init", "-q") // the workspace is no substitute
	b.expectRefusal(`The agent cannot work in "missing": it is not a git repository that the agent can use. Ask the bot's operator to look into the log,`+again, "missing")
	musttest.Do(t, os.Mkdir(filepath.Join(b.workspace, "missing"), 0o700))
	b.expectRefusal(`The agent cannot work in "missing": it is not a git repository that the agent can use. Ask the bot's operator to look into the log,`+again, "not a git repository")
	b.git("missing", "init", "-q")
	b.expectRefusal(`The agent cannot work in "missing": the repository is empty. Make a first commit`+again, "no commit")
	b.req.Place.Worktree = "repo"
	musttest.Do(t, os.MkdirAll(filepath.Join(b.workspace, "worktrees/local"), 0o700))
	const occupied = `The agent cannot work in "repo": the folder for this chat's working copy has something else in it. Move that away` + again
	b.putFile("worktrees/local/file", "mine")
	b.expectRefusal(occupied, "not empty")
	b.git("worktrees/local", "init", "-q")
	b.expectRefusal(occupied, "another repository")
	musttest.Do(t, os.RemoveAll(filepath.Join(b.workspace, "worktrees/local")))
	b.git("repo", "branch", "nanobot")
	b.expectRefusal(`The agent cannot work in "repo": git could not make the working copy. Ask the bot's operator to look into the log,`+again, "refs/heads/nanobot")
	b.git("repo", "branch", "-D", "nanobot")
	path := b.opts.Environ
	b.opts.Environ = append(path, "PATH=/nowhere")
	b.expectRefusal(`The agent cannot work in "repo": git is not installed on the bot's machine. Ask the bot's operator to install it,`+again, "git is not installed")
	b.opts.Environ = path
	b.expectTree("local")
}

func TestAFullDiskLeavesNoHalfOfAWorktree(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	b.putFile("repo/large", strings.Repeat("x", 1<<20))
	b.git("repo", "add", ".")
	b.git("repo", "commit", "-q", "-m", "large")
	b.beforeGit("ulimit -f 100; trap '' XFSZ")
	b.expectRefusal(`The agent cannot work in "repo": git could not make the working copy. Ask the bot's operator to look into the log, and send your message again.`, "large")
	b.opts.Environ = os.Environ()
	b.expectTree("local")
}

func TestTheFirstMessagesOfManyChatsMakeTheirWorktreesAtOnce(t *testing.T) {
	b := newTurnFixture(t, "plain", "cat file").withRepository()
	b.git("repo", "config", "branch.autoSetupMerge", "always")
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			req := b.req
			req.ChatID = strconv.Itoa(i)
			var chat protocoltest.Chat
			if out, err := r.Turn(t.Context(), req, &chat); err != nil || out.Status != terminal.Done {
				t.Error(out, err)
			}
		})
	}
	all.Wait()
	wanttest.Equal(t, "records", strings.Count(b.git("repo", "worktree", "list"), "nanobot/"), 8)
}

// beforeGit has the agent's git, and the git that it starts itself, run a script first.
func (b *turnFixture) beforeGit(script string) {
	b.t.Helper()
	folder, own := b.t.TempDir(), filepath.Join(b.git("repo", "--exec-path"), "git")
	musttest.Do(b.t, os.WriteFile(filepath.Join(folder, "git"), []byte("#!/bin/sh\n"+script+"\nexec "+own+` "$@"`+"\n"), 0o755))
	b.opts.Environ = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "GIT_EXEC_PATH="+folder)
}

func TestAKilledGitIsRepeatedByTheNextMessage(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	scripts := []string{}
	for _, step := range []string{"branch", "symbolic-ref", "reset"} {
		scripts = append(scripts, `case " $* " in *" `+step+` "*) kill -9 0 ;; esac`)
	}
	for i := range 20 { // at any moment
		scripts = append(scripts, fmt.Sprintf(`case " $* " in *" worktree "*) { sleep 0.%03d; kill -9 0; } & ;; esac`, i))
	}
	killed := 0
	for i, script := range scripts {
		b.req.ChatID = strconv.Itoa(i)
		b.beforeGit(script)
		if b.run(); b.out.Status == terminal.Failed {
			killed++
		} else if i < 3 {
			t.Errorf("git was not killed: %v %v", b.out, b.frames)
		}
		b.opts.Environ = os.Environ()
		b.expectTree(b.req.ChatID)
	}
	t.Logf("%d of %d were killed", killed, len(scripts))
}

func TestALockOfAKilledGitIsNoObstacle(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	musttest.Do(t, os.Mkdir(filepath.Join(b.workspace, "repo/.git/refs/heads/nanobot"), 0o700))
	b.putFile("repo/.git/refs/heads/nanobot/local.lock", "")
	b.expectTree("local")
}

func TestATurnThatWaitsForGitCanBeStopped(t *testing.T) {
	b := newTurnFixture(t, "plain", "pwd").withRepository()
	b.beforeGit(`case " $* " in *" worktree "*) sleep 1000 ;; esac`)
	ctx, stop := context.WithCancel(t.Context())
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	var frames []terminal.Frame
	b.chat.OnFrame = func(f terminal.Frame) error {
		frames = append(frames, f)
		stop()
		return nil
	}
	out, err := r.Turn(ctx, b.req, &b.chat)
	if err != nil || out.Status != terminal.Stopped || len(frames) != 2 || !frames[0].Board || frames[1].Code != terminal.StoppedCode {
		t.Errorf("%v, %v: %v", out, err, frames)
	}
}

func TestGitIsConfinedAsTheAgentIs(t *testing.T) {
	b := newTurnFixture(t, "plain", "cat file; cat ../../../secret 2>/dev/null; pwd").supervised().sandboxed().withRepository()
	b.git("repo", "config", "filter.spy.smudge", "cat "+filepath.Dir(b.workspace)+"/secret; cat")
	b.putFile("repo/.gitattributes", "file filter=spy\n")
	b.git("repo", "add", ".")
	b.git("repo", "commit", "-q", "-m", "filter")
	b.run().expectFrames(terminal.Done, "message: content\n"+b.workspace+"/worktrees/local")
}

func TestTheWorktreeBelongsToTheUserOfTheAgent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
	b := newTurnFixture(t, "plain", "id -un; stat -c %U . .. file; echo x > new; git status --porcelain").supervised()
	b.workspace = t.TempDir()
	b.opts.Workspace, b.opts.Config.User = b.workspace, "nobody"
	for _, dir := range []string{filepath.Dir(b.workspace), b.workspace} {
		musttest.Do(t, os.Chmod(dir, 0o755))
	}
	b.withRepository()
	if out, err := exec.Command("chown", "-R", "nobody", filepath.Join(b.workspace, "repo")).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	b.run().expectFrames(terminal.Done, "message: nobody\nnobody\nnobody\nnobody\n?? new")
	b.req.Place = terminal.Place{Workspace: "projects/x"}
	b.opts.Config.Command = "echo x > new; stat -c %U . .. new"
	b.run().expectFrames(terminal.Done, "message: nobody\nnobody\nnobody")
}

func TestAProcessThatWaitsInAnotherPlaceIsNotUsed(t *testing.T) {
	b := startWarm(t, `read -r line; echo $$; pwd`, config.Warm{Chats: 8, Spare: 1, For: 300}, func(b *turnFixture) {
		b.opts.Config.Command = "exec sh " + filepath.Join(b.workspace, "agent.sh")
		b.putFile("agent.sh", "echo $$ >> "+b.workspace+"/starts\nread -r line; echo $$; pwd")
	})
	ask := func(place string) (pid, dir string) {
		b.req.Place.Workspace = place
		pid, dir, _ = strings.Cut(b.ask("1"), "\n")
		return pid, dir
	}
	first := b.awaitStarts(1)[0] // the spare one
	if _, dir := ask("x"); dir != b.workspace+"/x" {
		t.Errorf("the first turn is in %s", dir)
	}
	started := b.awaitStarts(3)
	if pid, dir := ask("x"); pid != started[2] || dir != b.workspace+"/x" {
		t.Errorf("the process %s in %s was not waiting", pid, dir)
	}
	waiting := b.awaitStarts(4)[3]
	if pid, dir := ask(""); pid != first || dir != b.workspace {
		t.Errorf("%s in %s", pid, dir)
	}
	b.awaitEnd(waiting)
	b.awaitStarts(6)
	if _, dir := ask("y"); dir != b.workspace+"/y" {
		t.Errorf("the last turn is in %s", dir)
	}
}

func TestWhatRunsOutsideOfTurnsIsInThePlaceOfTheLastTurn(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo x > out.png").withRepository()
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	dir := func() string { return musttest.Get(r.ExecEnv("cli", "local"))(t).Dir }
	wanttest.Equal(t, "before the first turn", dir(), b.workspace)
	musttest.Get(r.Turn(t.Context(), b.req, &b.chat))(t)
	wanttest.Equal(t, "after it", dir(), b.workspace+"/worktrees/local")
	files, err := r.OpenMedia(terminal.Owner{Channel: "cli", ChatID: "local"}, "", []string{"out.png"})
	if terminal.CloseMedia(files); err != nil {
		t.Error(err)
	}
	b.req.Place = terminal.Place{Workspace: "x"}
	env := musttest.Get(r.ExecEnvFor(t.Context(), b.req, &b.chat))(t)
	wanttest.Equal(t, "for a message", env.Dir, b.workspace+"/x")
	b.req.Place, b.req.ChatID = terminal.Place{Worktree: "repo"}, "2"
	env = musttest.Get(r.ExecEnvFor(t.Context(), b.req, &b.chat))(t)
	wanttest.Equal(t, "the branch for a message", b.git("worktrees/2", "symbolic-ref", "HEAD"), "refs/heads/nanobot/2")
	b.req.Place = terminal.Place{Worktree: "missing"}
	if _, err := r.ExecEnvFor(t.Context(), b.req, &b.chat); err == nil {
		t.Error("a missing repository is no error")
	}
}

func TestARepositoryOfWhichNoWorktreeCanBeMadeIsFound(t *testing.T) {
	b := newTurnFixture(t, "plain", "").withRepository()
	b.git(".", "clone", "-q", "--bare", "repo", "bare.git")
	b.git(".", "init", "-q", "empty")
	musttest.Do(t, os.Mkdir(filepath.Join(b.workspace, "repo", "sub"), 0o700))
	for repo, want := range map[string]string{
		"repo": "", "bare.git": "", "empty": "has no commit", "repo/sub": "is not a git repository", "missing": "is not a git repository",
	} {
		err := terminal.CheckWorktree(t.Context(), b.workspace, repo)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", repo, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := terminal.CheckWorktree(t.Context(), b.workspace, "repo"); err == nil || err.Error() != "git is not installed" {
		t.Errorf("without git: %v", err)
	}
}
