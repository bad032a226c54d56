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
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// lateProtocol is a protocol that keeps the Emit function of its last turn.
type lateProtocol struct{ emit func(terminal.Frame) error }

func (l *lateProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	l.emit = t.Emit
	return terminal.Outcome{Status: terminal.Done}, l.link()
}

// link emits a message that links to a file twice, and to one that may not be sent.
func (l *lateProtocol) link() error {
	return l.emit(terminal.Frame{Kind: terminal.Message, Text: "look", Links: []string{"a.txt", "./a.txt", "/etc/passwd", "gone"}})
}

func TestALinkedFileIsSentOnceInATurnAndAgainAfterIt(t *testing.T) {
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x"), 0o600))
	cfg := config.Default().Terminal
	cfg.Command = "true"
	p := &lateProtocol{}
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: p, Log: zap.NewNop()}))(t)
	defer r.Close()
	var sent []string
	emit := func(f terminal.Frame) error {
		for _, file := range f.Checked {
			sent = append(sent, filepath.Base(file.Path))
		}
		sent = append(sent, f.Text)
		return nil
	}
	musttest.Get(r.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "a"}}, protocoltest.Frames(emit)))(t)
	for range 2 {
		musttest.Do(t, p.link())
	}
	wanttest.Equal(t, "sent", strings.Join(sent, " "), "a.txt look a.txt look look")
}
