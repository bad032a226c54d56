package gateway_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/rich"
	"nanobot/terminal/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command { // the helper in front of agents
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	}
	if os.Getenv(acpVariable) != "" {
		os.Exit(acptest.Main(os.Args[1:]))
	}
	if spec := os.Getenv(daemonVariable); spec != "" {
		os.Exit(runDaemon(spec))
	}
	// The tests wait more than they work, so that more of them run at a time than there are cores.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	flag.Parse() // which may set another number
	goleak.VerifyTestMain(postgrestest.Tests{M: m, Settings: postgrestest.Fast})
}

// textChannel is a channel that records each message as text, split into pieces of ten runes.
type textChannel struct {
	mu   sync.Mutex
	sent []channels.Outgoing
	fail error
}

func (w *textChannel) Run(context.Context, channels.Receive) error { return nil }

func (w *textChannel) Plan(m channels.Message) (out []channels.Outgoing, err error) {
	runes := []rune(m.Text)
	for i := 0; i < len(runes); i += 10 {
		out = append(out, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: string(runes[i:min(i+10, len(runes))]), Code: m.Code, ReplyTo: m.ReplyTo})
	}
	if len(m.Media) > 0 {
		out = append(out, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Media: m.Media})
	}
	return out, nil
}

func (w *textChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return channels.Receipt{}, w.fail
	}
	w.sent = append(w.sent, o)
	return channels.Receipt{}, ctx.Err()
}

func (w *textChannel) texts() string {
	var out []string
	for _, o := range w.sent {
		line := string(o.Kind) + ":" + o.Text
		for _, f := range o.Media {
			line += "[" + f.Name + " " + string(f.Kind) + "]"
		}
		out = append(out, line)
	}
	return strings.Join(out, "|")
}

func newDirect(t *testing.T, command string) (*gateway.Direct, string) {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command, cfg.Interactive = command, strings.Contains(command, `"ask"`)
	dir := t.TempDir()
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	return &gateway.Direct{Runner: r, Log: zap.NewNop()}, dir
}

var hello = channels.Incoming{Chat: channels.Chat{Channel: "wall", ID: "7"}, ID: "m1", User: channels.User{ID: "u"}, Text: "hello"}

func TestAgentMessagesReachTheChatInOrder(t *testing.T) {
	t.Parallel()
	g, dir := newDirect(t, `read -r e; echo '{"type":"progress","text":"p"}'; echo '{"type":"message","text":"twelve runes"}'
		echo '{"type":"message","text":"","media":["'$PWD'/a.png"]}'; echo '{"type":"error","text":"bad","code":"E"}'; exit 1`)
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "a.png"), []byte("x"), 0o600))
	w := &textChannel{}
	out, err := g.Turn(t.Context(), w, hello)
	if err != nil || out.Status != terminal.Failed || out.ExitCode != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	want := "progress:⏳ p|message:twelve run|message:es|message:[a.png image]|error:Error (E):|error: bad\nExit |error:code: 1"
	if got := w.texts(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, o := range w.sent {
		if o.Chat != hello.Chat || o.Media == nil && o.ReplyTo != "m1" {
			t.Errorf("went astray: %+v", o)
		}
	}
}

func TestTheEnvelopeCarriesWhoWroteAndWhatWasQuoted(t *testing.T) {
	t.Parallel()
	g, dir := newDirect(t, "cat > envelope")
	in := hello
	in.ReplyTo, in.ThreadID = &channels.Quote{ID: "m0", Text: "before"}, "t9"
	musttest.Get(g.Turn(t.Context(), &textChannel{}, in))(t)
	b, _ := os.ReadFile(filepath.Join(dir, "envelope"))
	for _, want := range []string{`"session_key":"wall:7"`, `"message_id":"m1"`, `"user":{"id":"u"}`, `"thread_id":"t9"`, `"reply_to":{"id":"m0","text":"before"}`, `"attempt":1`, `"run_id":"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b)
		}
	}
}

func TestAQuestionIsAnsweredByTheLocalPerson(t *testing.T) {
	t.Parallel()
	asks := `read -r e; echo '{"type":"ask","id":"1","text":"Which?","options":["Red","Blue"]}'; read -r a; text=${a#*'"text":"'}; echo "{\"type\":\"message\",\"text\":\"${text%%'"'*}\"}"`
	says := func(lines ...string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			if len(lines) == 0 {
				return "", io.EOF
			}
			line := lines[0]
			lines = lines[1:]
			return line, nil
		}
	}
	g, _ := newDirect(t, asks)
	w := &textChannel{}
	g.Answer = says("Green", " 2 ")
	if out, err := g.Turn(t.Context(), w, hello); err != nil || out.Status != terminal.Done {
		t.Errorf("got %+v, %v", out, err)
	}
	wanttest.Equal(t, "the chat shows", strings.ReplaceAll(w.texts(), "|message:", ""), "message:Which?\n1. Red\n2. BluePlease answer with a number or the words of an option.Blue")
	g.Answer, w = says("Green", "1"), &textChannel{}
	g.Words = (*words.Catalogue)(nil).For("de")
	if _, err := g.Turn(t.Context(), w, hello); err != nil || !strings.Contains(strings.ReplaceAll(w.texts(), "|message:", ""), "Bitte antworte mit der Nummer") {
		t.Errorf("in German the chat shows %q, %v", w.texts(), err)
	}
	g.Answer = says() // who leaves has it stopped
	if out, err := g.Turn(t.Context(), &textChannel{}, hello); err != nil || out.Status != terminal.Stopped {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestProgressCanBeHidden(t *testing.T) {
	t.Parallel()
	g, _ := newDirect(t, `echo '{"type":"progress","text":"p"}'; echo '{"type":"message","text":"m"}'`)
	g.HideProgress = true
	w := &textChannel{}
	if _, err := g.Turn(t.Context(), w, hello); err != nil || w.texts() != "message:m" {
		t.Errorf("got %s, %v", w.texts(), err)
	}
}

func TestAStoppedTurnStillDeliversItsOutput(t *testing.T) {
	t.Parallel()
	g, _ := newDirect(t, "echo before; sleep 300")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &textChannel{}
	out, err := g.Turn(ctx, w, hello)
	if err != nil || out.Status != terminal.Stopped || !strings.HasSuffix(w.texts(), "error:Stopped.") {
		t.Errorf("got %+v, %v, %s", out, err, w.texts())
	}
}

func TestGatewayErrorsAreReportedWithoutInternals(t *testing.T) {
	t.Parallel()
	g, dir := newDirect(t, "true")
	if err := os.WriteFile(filepath.Join(dir, "users"), nil, 0o600); err != nil { // in the way of the user's folder
		t.Fatal(err)
	}
	w := &textChannel{}
	_, err := g.Turn(t.Context(), w, hello)
	if err == nil || !strings.Contains(w.texts(), "error:Sorry, the") || strings.Contains(w.texts(), dir) {
		t.Errorf("got %v, %s", err, w.texts())
	}
	g.Words, w = (*words.Catalogue)(nil).For("de"), &textChannel{}
	if _, err := g.Turn(t.Context(), w, hello); err == nil || !strings.Contains(strings.ReplaceAll(w.texts(), "|error:", ""), "error:Der Agent ließ sich leider nicht starten.") {
		t.Errorf("in German got %v, %s", err, w.texts())
	}
}

func TestASendThatFailsEndsTheTurn(t *testing.T) {
	t.Parallel()
	g, _ := newDirect(t, `echo '{"type":"message","text":"m"}'; sleep 300`)
	broken := errors.New("network is gone")
	if _, err := g.Turn(t.Context(), &textChannel{fail: broken}, hello); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
