package gateway_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// newDirectDialog is a direct gateway whose person types some lines and ends the input.
func newDirectDialog(t *testing.T, p terminal.Protocol, lines ...string) *gateway.Direct {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command = "true"
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: p, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	g := &gateway.Direct{Runner: r, Log: zap.NewNop(), Listen: func(context.Context) (channels.Incoming, error) {
		if len(lines) == 0 {
			return channels.Incoming{}, io.EOF
		}
		in := channels.Incoming{Chat: hello.Chat, ID: "m", Text: lines[0]}
		lines = lines[1:]
		return in, nil
	}}
	t.Cleanup(g.Close)
	return g
}

func TestAWaitingTurnReadsTypedText(t *testing.T) {
	t.Parallel()
	g := newDirectDialog(t, &dialog{dir: t.TempDir()}, "this")
	w := &screenChannel{}
	out, err := g.Turn(t.Context(), w, hello)
	if err != nil || out.Status != terminal.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	wanttest.Equal(t, "got", w.texts(), "message:hello?|message:you answered m this")
}

func TestTheEndOfInputStopsAWaitingTurn(t *testing.T) {
	t.Parallel()
	g := newDirectDialog(t, &dialog{dir: t.TempDir()})
	w := &screenChannel{}
	musttest.Get(g.Turn(t.Context(), w, hello))(t)
	wanttest.Equal(t, "got", w.texts(), "message:hello?|message:ended")
}

// questionProtocol waits for the answer to a question.
type questionProtocol struct{ dialog }

func (d *questionProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	resume := t.AwaitPerson(ctx)
	answer, err := t.Ask(ctx, terminal.Question{Text: "Really?"})
	if err != nil {
		return terminal.Outcome{}, err
	}
	if err := resume(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "you said " + answer.Text})
}

func TestTextTypedWhileATurnAsksIsTheAnswer(t *testing.T) {
	t.Parallel()
	g := newDirectDialog(t, &questionProtocol{dialog{dir: t.TempDir()}}, "yes")
	g.Answer = func(ctx context.Context) (string, error) {
		in, err := g.Listen(ctx)
		return in.Text, err
	}
	w := &screenChannel{}
	musttest.Get(g.Turn(t.Context(), w, hello))(t)
	wanttest.Equal(t, "got", w.texts(), "message:Really?|message:you said yes")
}

// lineProtocol reads lines until the end of the input.
type lineProtocol struct {
	lines []string
	last  chan struct{}
}

func (l *lineProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	resume := t.AwaitPerson(ctx)
	<-l.last
	if err := resume(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: strings.Join(l.lines, "\n")})
}

func (l *lineProtocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	if m.ID == "" {
		return true, nil
	}
	if l.lines = append(l.lines, m.Text); m.Text == "last" {
		close(l.last)
	}
	return true, nil
}

func TestBlankLinesWithinTypedTextAreKept(t *testing.T) {
	t.Parallel()
	g := newDirectDialog(t, &lineProtocol{last: make(chan struct{})}, "", "one", "", "  ", "\ttwo", "three", "last")
	w := &screenChannel{}
	musttest.Get(g.Turn(t.Context(), w, hello))(t)
	wanttest.Equal(t, "got", w.texts(), "message:one\n\n  \n\ttwo\nthree\nlast")
}

// selectiveDialog is a dialog that has a command and reads only some messages.
type selectiveDialog struct {
	dialog
	commands []string
}

func (p *selectiveDialog) Controls() []terminal.Command { return []terminal.Command{{Name: "diff"}} }

func (p *selectiveDialog) AcceptsControl(_, command string) bool { return command == "diff" }

func (p *selectiveDialog) Control(_ context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	p.commands = append(p.commands, r.Command)
	return terminal.ControlReply{Text: "no changes"}, nil
}

func (p *selectiveDialog) ReadMessage(ctx context.Context, m terminal.PersonMessage) (bool, error) {
	switch m.Text {
	case "no":
		return false, nil
	case "fail":
		return false, errors.New("disk full")
	}
	return p.dialog.ReadMessage(ctx, m)
}

func TestALocalPersonLearnsWhichTextWasNotRead(t *testing.T) {
	t.Parallel()
	p := &selectiveDialog{dialog: dialog{dir: t.TempDir()}}
	g := newDirectDialog(t, p, "", "no", "/diff", "fail", "this")
	w := &screenChannel{}
	musttest.Get(g.Turn(t.Context(), w, hello))(t)
	want := strings.Join([]string{"hello?", "The agent does not read messages now.", "no changes", "That did not work: disk full.", "you answered m this"}, "|message:")
	if got := w.texts(); got != "message:"+want {
		t.Errorf("got %s, want %s", got, want)
	}
	g = newDirectDialog(t, &selectiveDialog{dialog: dialog{dir: t.TempDir()}}, "", "no", "fail", "this")
	g.Words = (*words.Catalogue)(nil).For("de")
	w = &screenChannel{}
	musttest.Get(g.Turn(t.Context(), w, hello))(t)
	if got := w.texts(); !strings.Contains(got, "Der Agent liest gerade keine Nachrichten.|message:Das hat nicht funktioniert: disk full.") {
		t.Errorf("in German got %s", got)
	}
}
