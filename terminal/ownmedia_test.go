package terminal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// frameProtocol is a protocol whose turns emit one frame.
type frameProtocol terminal.Frame

func (s frameProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame(s))
}

func TestFilesWrittenByTheProtocolMayBeSentFromAnywhereExceptLinks(t *testing.T) {
	own := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	root, private := t.TempDir(), filepath.Join(t.TempDir(), "config.json")
	frame := terminal.Frame{Kind: terminal.Message, ProtocolDir: own}
	for _, name := range []string{"good.png", "sub/other.png"} {
		path := filepath.Join(own, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
		frame.Media = append(frame.Media, path)
	}
	musttest.Do(t, os.WriteFile(private, []byte("SECRET"), 0o600))
	for name, make := range map[string]func(string, string) error{"link.png": os.Symlink, "hard.png": os.Link} {
		path := filepath.Join(own, name)
		musttest.Do(t, make(private, path))
		frame.Media = append(frame.Media, path)
	}
	cfg := config.Default().Terminal
	cfg.Command, cfg.MediaRoots = "true", []string{root}
	r := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: cfg, Workspace: t.TempDir(), Protocol: frameProtocol(frame), Private: []string{private}, Log: zap.NewNop(),
	}))(t)
	defer r.Close()
	musttest.Get(r.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "a"}}, protocoltest.Frames(func(f terminal.Frame) error {
		if len(f.Checked) != 1 || filepath.Base(f.Checked[0].Path) != "good.png" || strings.Count(f.Text, "was not sent") != 3 {
			t.Errorf("sent %+v, said %q", f.Checked, f.Text)
		}
		return nil
	})))(t)
}
