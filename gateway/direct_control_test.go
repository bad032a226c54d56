package gateway_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/screen"
)

// drawingProtocol draws screens. It accepts the command /draw, and text once it was enabled.
type drawingProtocol struct {
	taken bool
	fails error
}

func (p *drawingProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if err := t.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Preview: true, Text: "printed so far"}); err != nil {
		return terminal.Outcome{}, err
	}
	s := screen.New(20, 3)
	for _, caption := range []string{"plan", "plan", "", "check", "check"} {
		_, _ = s.Write([]byte("."))
		if err := t.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: caption, Screen: s.Snapshot()}); err != nil {
			return terminal.Outcome{}, err
		}
	}
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "end", Screen: s.Snapshot()})
}

func (p *drawingProtocol) Controls() []terminal.Command { return []terminal.Command{{Name: "draw"}} }

func (p *drawingProtocol) AcceptsControl(_, command string) bool { return command != "" || p.taken }

func (p *drawingProtocol) Control(_ context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	s := screen.New(20, 3)
	_, _ = s.Write([]byte(r.Command + ":" + r.Args))
	return terminal.ControlReply{Screen: s.Snapshot(), Files: []terminal.ControlFile{{Name: "../a.txt", Content: []byte("content")}}}, p.fails
}

// screenChannel is a channel that shows screens as text.
type screenChannel struct{ textChannel }

func (p *screenChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	text := m.Text
	if m.Screen != nil {
		text += "{" + m.Screen.Text() + "}"
	}
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: text, Media: m.Media}}, nil
}

func newDrawingDirect(t *testing.T, p *drawingProtocol) (*gateway.Direct, string) {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command = "true"
	dir := t.TempDir()
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: p, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	g := &gateway.Direct{Runner: r, Log: zap.NewNop()}
	t.Cleanup(g.Close)
	return g, dir
}

func TestAScreenThatChangesIsNotPrintedAgainAndAgain(t *testing.T) {
	t.Parallel()
	for captions, want := range map[bool]string{
		false: "message:end{.....}",
		true:  "progress:⏳ plan|progress:⏳ check|message:end{.....}",
	} {
		g, _ := newDrawingDirect(t, &drawingProtocol{})
		g.ShowCaptions = captions
		w := &screenChannel{}
		musttest.Get(g.Turn(t.Context(), w, hello))(t)
		wanttest.Equal(t, "got", w.texts(), want)
	}
}

func TestALocalPersonUsesTheCommandsOfTheProtocol(t *testing.T) {
	t.Parallel()
	p := &drawingProtocol{}
	g, dir := newDrawingDirect(t, p)
	w := &screenChannel{}
	control := func(text string, want bool) {
		t.Helper()
		in := hello
		in.Text = text
		if done, err := g.Control(t.Context(), w, in); done != want || err != nil {
			t.Errorf("%q: carried out %v, %v", text, done, err)
		}
	}
	control("/nosuch", false)
	control("hello", false)
	control("/draw  a  line", true)
	p.taken = true
	control(" hello", true)
	p.fails = errors.New("no terminal")
	control("/draw", true)
	want := "message:{draw:a  line}[a.txt document]|message:{: hello}[a-2.txt document]|message:That did not work: no terminal."
	if got := w.texts(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, o := range w.sent[:2] {
		content, err := os.ReadFile(o.Media[0].Path)
		if err != nil || string(content) != "content" || !strings.HasPrefix(o.Media[0].Path, filepath.Join(dir, "users", "7")) {
			t.Errorf("%s has %q, %v", o.Media[0].Path, content, err)
		}
	}
}

// foldingProtocol emits the summary of a turn.
type foldingProtocol terminal.Fold

func (p foldingProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	fold := terminal.Fold(p)
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "step", Fold: &fold})
}

func TestALocalTurnShowsTheDiffThatOnlyItsSummaryHas(t *testing.T) {
	t.Parallel()
	for fold, want := range map[terminal.Fold]string{
		{Details: "diff and steps", Changes: "diff", Required: true}: "message:diff|progress:⏳ step",
		{Details: "files and steps", Changes: "files"}:               "progress:⏳ step",
	} {
		cfg := config.Default().Terminal
		cfg.Command = "true"
		r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: foldingProtocol(fold), Log: zap.NewNop()}))(t)
		g, w := &gateway.Direct{Runner: r, Log: zap.NewNop()}, &screenChannel{}
		musttest.Get(g.Turn(t.Context(), w, hello))(t)
		wanttest.Equal(t, "the chat shows", w.texts(), want)
	}
}
