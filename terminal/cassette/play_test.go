package cassette_test

import (
	"bytes"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// play returns what the agent of a story prints, and its exit code.
func play(t *testing.T, stdin string, story func(w *cassette.Writer)) (out, stderr string, code int) {
	t.Helper()
	c := musttest.Get(cassette.Parse("a", strings.NewReader(record(t, nil, story))))(t)
	var stdout, errors bytes.Buffer
	p := cassette.Player{In: strings.NewReader(stdin), Out: &stdout, Err: &errors}
	code = musttest.Get(p.Play(c))(t)
	return stdout.String(), errors.String(), code
}

func TestACassetteIsPlayedAsAnAgent(t *testing.T) {
	t.Parallel()
	emit := func(w *cassette.Writer, kind terminal.Kind, text string) {
		w.Frame(terminal.Frame{Kind: kind, Text: text})
	}
	out, stderr, code := play(t, "{}\n"+`{"type":"inject"}`+"\n"+`{"type":"answer","id":"question-1"}`+"\n", func(w *cassette.Writer) {
		w.Envelope(terminal.Envelope{Text: "first attempt"})
		emit(w, terminal.Message, "lost")
		w.Envelope(terminal.Envelope{Text: "second attempt", Attempt: 2})
		emit(w, terminal.Partial, "Hello d")
		emit(w, terminal.Partial, "Hello dear Ann")
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "Hello Ann.", Choices: []string{"a", "b"}, Silent: true})
		emit(w, terminal.Partial, "x y")
		n := w.Ask(terminal.Question{ID: "7", Text: "Which?", Options: []string{"a", "b"}})
		w.Answer(n, terminal.Answer{Text: "a"}, nil)
		w.Frame(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: "careful"})
		emit(w, terminal.Progress, "⏳ <b>")
		w.Frame(terminal.Frame{Kind: terminal.Error, Code: "E", Text: "Error (E): one\nError: two\nSTDERR: x\nExit code: 3", Appended: "STDERR: x\nExit code: 3"})
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "Exit code: 3", Appended: "Exit code: 3", Own: true})
		w.Exit(terminal.Outcome{Status: terminal.Failed, ExitCode: 3, Stderr: "x\n"}, nil)
	})
	wanttest.Equal(t, "printed was", out, `{"type":"delta","text":"Hello "}
{"type":"delta","text":"dear "}
{"type":"message","text":"Hello Ann.","buttons":["a","b"],"silent":true}
{"type":"delta","text":"x "}
{"type":"ask","text":"Which?","id":"question-1","options":["a","b"]}
{"type":"log","text":"careful","level":"warning"}
{"type":"progress","text":"⏳ <b>"}
{"type":"error","text":"one\nError: two","code":"E"}
`)
	wanttest.Equal(t, "stderr was", stderr, "x\n")
	wanttest.Equal(t, "the exit code was", code, 3)
}

func TestAnAgentThatSaysNothingIsPlayedSo(t *testing.T) {
	t.Parallel()
	out, _, _ := play(t, "{}", func(w *cassette.Writer) {
		w.Envelope(terminal.Envelope{})
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "(no output)", Own: true})
		w.Exit(terminal.Outcome{Status: terminal.Silent}, nil)
	})
	wanttest.Equal(t, "printed was", out, "")
}
