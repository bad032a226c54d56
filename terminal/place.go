package terminal

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"go.uber.org/zap"

	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

// worktreesFolder contains the worktrees of all chats, in the workspace.
const worktreesFolder = "worktrees"

// Place is a folder below the workspace in which an agent works on a message, or a repository below
// it of which the chat gets a worktree. The zero value is the agent's own working folder.
type Place struct{ Workspace, Worktree string }

// folder returns the path of the place below the workspace; "": the agent's own working folder.
func (p Place) folder(channel, chatID string) string {
	switch {
	case p.Worktree != "":
		name := chatDirName(channel, chatID)
		if name == "@" { // git makes no worktree of this name
			name = "%40"
		}
		return filepath.Join(worktreesFolder, name)
	case p.Workspace != "":
		return filepath.Clean(p.Workspace)
	}
	return ""
}

// chatPlaces are the places of the chats' last turns, and the worktrees that git has checked.
type chatPlaces struct {
	mu    sync.Mutex
	last  map[string]Place // without those in the agent's own working folder
	trees map[string]checkedTree
}

// enter makes a place that of the chat's last turn. It reports whether the last one was another.
func (c *chatPlaces) enter(chat string, p Place) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed = c.last[chat] != p; p == (Place{}) {
		delete(c.last, chat)
	} else {
		c.last[chat] = p
	}
	return changed
}

func (c *chatPlaces) ofChat(chat string) Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[chat]
}

// enterPlace ends the agent that waits for a message of the chat, or is kept for it, in another
// place than that of the request.
func (r *Runner) enterPlace(req Request) {
	if chat := req.chatKey(); r.places.enter(chat, req.Place) {
		r.EndIdleAgent(chat)
	}
}

// WorkDir returns the folder in which the agent works on a request.
func (r *Runner) WorkDir(req Request) string {
	if folder := req.Place.folder(req.Channel, req.ChatID); folder != "" {
		return filepath.Join(r.o.Workspace, folder)
	}
	return r.ownDir()
}

// setPlace sets the working folder of the turn.
func (t *turn) setPlace() {
	t.workspace, t.dir, t.folder = t.o.Workspace, t.WorkDir(t.req), t.req.Place.folder(t.req.Channel, t.req.ChatID)
	if t.folder != "" {
		t.workspace = t.dir
	}
}

// preparePlace makes the working folder of the turn if it is missing. A *words.Error tells the
// person why that is not possible, and the log has the details.
func (t *turn) preparePlace(ctx context.Context) error {
	if t.folder == "" {
		return nil
	}
	made, err := t.makeFolder(t.folder)
	switch {
	case errors.Is(err, nofollow.ErrNotFolder):
		return t.placeError(err, words.PlaceNotFolder)
	case err != nil && IsShortage(err):
		return err
	case err != nil:
		return t.placeError(err, words.PlaceNotMade)
	}
	if made { // an agent that runs in the removed folder of this name is of no use
		t.killWaiting()
		t.EndIdleAgent(t.req.chatKey())
	}
	if t.req.Place.Worktree == "" {
		return nil
	}
	return t.ensureWorktree(ctx)
}

// placeError logs why the agent cannot work in its place and returns the text for the person.
func (t *turn) placeError(err error, reason words.Key) error {
	t.log.Warn("the agent cannot work in its place", zap.String("folder", t.dir),
		zap.String("worktree", t.req.Place.Worktree), zap.Error(err))
	name := cmp.Or(t.req.Place.Worktree, t.folder)
	return words.NewError(words.PlaceUnusable, strconv.Quote(name), t.req.Words.Text(reason))
}

// makeFolder creates a folder below the workspace for the agent, if it is missing. Agents can write
// to the workspace, so a symbolic link on the way is refused.
func (r *Runner) makeFolder(path string) (made bool, err error) {
	if nofollow.HasFolder(r.o.Workspace, path) {
		return false, nil
	}
	root, err := openBelow(r.o.Workspace, path, func(parent *os.Root, name string) (*os.Root, error) {
		_, missing := parent.Lstat(name)
		root, err := openOrCreateDir(parent, name)
		if err == nil && errors.Is(missing, fs.ErrNotExist) {
			made = true
			err = r.sandbox.ChownFolder(root)
		}
		return root, err
	})
	if err != nil {
		return false, err
	}
	return made, root.Close()
}

// emitPlaceError ends a turn whose agent cannot work in its place.
func (t *turn) emitPlaceError(ctx context.Context, stopped Turn, err error) (Outcome, error) {
	var reason *words.Error
	switch {
	case ctx.Err() != nil:
		return stopped.EmitStopped(ctx)
	case errors.As(err, &reason):
		return Outcome{Status: Failed}, t.Chat.Emit(Frame{Kind: Error, Code: "PLACE", Text: t.req.Words.Reason(err)})
	}
	return Outcome{}, wrapShortage(err)
}

// agentEnv returns the agent's environment, in which PWD is the working folder of the turn.
func (t *turn) agentEnv() []string {
	i := slices.Index(t.env, "PWD="+t.ownDir())
	if i < 0 || t.dir == t.ownDir() {
		return t.env
	}
	env := slices.Clone(t.env)
	env[i] = "PWD=" + t.dir
	return env
}
