package terminal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal/process"
)

// worktreeTimeout limits how long git may take to make a worktree.
const worktreeTimeout = 5 * time.Minute

var errGitSlow = fmt.Errorf("git took longer than %v", worktreeTimeout)

//go:embed worktree.sh
var worktreeScript string

// worktreeReasons are the texts for the exit statuses of worktreeScript.
var worktreeReasons = map[int]words.Key{
	10: words.WorktreeNoGit, 11: words.WorktreeNoRepository, 12: words.WorktreeOccupied, 13: words.WorktreeNoCommit,
}

// checkedTree is a worktree that git has made or found: its file .git, and the repository.
type checkedTree struct{ link, repo fs.FileInfo }

func statTree(repo, dir string) (t checkedTree, err error) {
	if t.link, err = os.Lstat(filepath.Join(dir, ".git")); err == nil {
		t.repo, err = os.Stat(repo)
	}
	return t, err
}

// hasTree reports whether the worktree of a chat is still the one that git has checked.
func (c *chatPlaces) hasTree(chat string, now checkedTree) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	then, ok := c.trees[chat]
	return ok && os.SameFile(then.link, now.link) && then.link.ModTime().Equal(now.link.ModTime()) &&
		os.SameFile(then.repo, now.repo)
}

func (c *chatPlaces) addTree(chat string, t checkedTree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trees[chat] = t
}

// ensureWorktree makes the worktree of the chat in its folder, which exists. git runs as the agent
// does, with its user, limits, sandbox and environment, and without hooks.
func (t *turn) ensureWorktree(ctx context.Context) error {
	repo, chat := filepath.Join(t.o.Workspace, t.req.Place.Worktree), t.req.chatKey()
	if now, err := statTree(repo, t.dir); err == nil && t.places.hasTree(chat, now) {
		return nil
	}
	if err := t.Chat.Emit(Frame{Kind: Progress, Text: t.req.Words.Text(words.WorktreeStarting), Board: true}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, worktreeTimeout, errGitSlow)
	defer cancel()
	env := slices.Concat(t.agentEnv(), t.dirs.Environ(), process.RunEnv(t.req.RunName), []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(repo) + string(filepath.ListSeparator) + filepath.Dir(t.dir),
	})
	agent, err := launch(ctx, t.sandboxed(process.Options{
		Args: []string{"/bin/sh", "-c", worktreeScript, "worktree", repo, t.dir, branchOf(filepath.Base(t.dir))},
		Dir:  t.o.Workspace, Env: env, NoInput: true,
	}), nil)
	if err != nil {
		return err
	}
	agent.reportUsage = t.used.add
	_, exit, err := agent.ReadResponse(stderrTail)
	switch {
	case exit.Shortage() != nil:
		return exit.Shortage()
	case errors.Is(exit.Cause, errGitSlow):
		return t.placeError(errGitSlow, words.WorktreeSlow)
	case exit.Forced:
		return context.Cause(ctx)
	case err == nil && exit.OK():
		var made checkedTree
		if made, err = statTree(repo, t.dir); err == nil {
			t.places.addTree(chat, made)
			return nil
		}
	}
	reason, ok := worktreeReasons[exit.Code]
	if !ok {
		reason = words.WorktreeNotMade
	}
	said := fmt.Errorf("make the worktree: %s: %s", exit.Description(words.Words{}),
		strings.TrimSpace(Clean(exit.Stderr.String())))
	return t.placeError(errors.Join(said, err, exit.ExecError), reason)
}

// refDots are the dots that git allows in no name of a branch: several in a row, one at the end,
// and that of a final .lock.
var refDots = regexp.MustCompile(`\.(\.+|$|lock$)`)

// branchOf returns the branch of a worktree. It differs from that of any other folder.
func branchOf(folder string) string {
	return "nanobot/" + limitName(refDots.ReplaceAllStringFunc(folder,
		func(s string) string { return strings.ReplaceAll(s, ".", "%2E") }), folder)
}

// CheckWorktree returns why no chat can have a worktree of a repository below the workspace, or
// nil. git reads no object here, since a repository may have it run a command to fetch one.
func CheckWorktree(ctx context.Context, workspace, repo string) error {
	dir := filepath.Join(workspace, repo)
	git := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "-C", dir, "rev-parse", "-q", "--verify", "HEAD")
	git.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	err := git.Run()
	var failed *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed")
	case errors.As(err, &failed) && failed.ExitCode() == 1:
		return fmt.Errorf("%s has no commit", dir)
	case err != nil:
		return fmt.Errorf("%s is not a git repository", dir)
	}
	return nil
}
