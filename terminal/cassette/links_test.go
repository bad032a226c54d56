package cassette_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// TestAFileBehindALinkOfTheAgentIsNotCopied has an agent that has put a link in the place of the
// folder with the files of its chat. The workspace itself may be behind a link.
func TestAFileBehindALinkOfTheAgentIsNotCopied(t *testing.T) {
	t.Parallel()
	private, folder := t.TempDir(), t.TempDir()
	workspace := filepath.Join(t.TempDir(), "workspace")
	musttest.Do(t, os.Symlink(folder, workspace))
	musttest.Do(t, os.Mkdir(filepath.Join(workspace, "media"), 0o700))
	musttest.Do(t, os.Symlink(private, filepath.Join(workspace, "linked")))
	own, other := filepath.Join(workspace, "media", "a.txt"), filepath.Join(workspace, "linked", "a.txt")
	for _, path := range []string{own, other} {
		musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	text := record(t, nil, func(w *cassette.Writer) {
		w.Envelope(terminal.Envelope{Workspace: workspace, Media: []string{own, other}})
		w.Inject(terminal.Injection{Text: "more", Media: []string{own, other}})
		w.Envelope(terminal.Envelope{Workspace: "/worktree", UserDataDir: filepath.Dir(own), Media: []string{own, other}})
	})
	for _, l := range musttest.Get(cassette.Parse("x", strings.NewReader(text)))(t).Lines {
		wanttest.Equal(t, string(l.Type)+": the own file is copied", l.Files[0].SHA256 != "", true)
		wanttest.Equal(t, string(l.Type)+": the hash of the other file", l.Files[1], cassette.File{Path: other})
	}
}
