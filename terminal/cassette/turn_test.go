package cassette_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
	"nanobot/terminal/rich"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("TEST_PLAY"); path != "" {
		c, err := cassette.Read(path)
		code := 0
		if err == nil {
			code, err = (&cassette.Player{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}).Play(c)
		}
		if err != nil {
			fmt.Println(err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// person is a chat with a person who answers "yes", and who sees messages, errors and progress.
type person struct {
	terminal.NoChat
	seen       strings.Builder
	injections chan terminal.Injection
}

func (p *person) Emit(f terminal.Frame) error {
	if f.Kind == terminal.Log || f.Kind == terminal.Partial {
		return nil
	}
	fmt.Fprintf(&p.seen, "%s %q %q %q %q %v", f.Kind, f.Text, f.Format, f.Code, f.Choices, f.Silent)
	if p.injections != nil && f.Kind == terminal.Message && len(p.injections) == 0 {
		p.injections <- terminal.Injection{Text: "more"} // the test has an agent that reads one
	}
	for _, file := range f.Checked {
		content, err := os.ReadFile(file.Path)
		fmt.Fprintf(&p.seen, " %s=%q %v", filepath.Base(file.Path), content, err)
	}
	p.seen.WriteString("\n")
	return nil
}

func (p *person) Ask(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	fmt.Fprintf(&p.seen, "asked %q %q\n", q.Text, q.Options)
	return terminal.Answer{Text: "yes", Option: 1, By: "7"}, nil
}

func (p *person) Injections() <-chan terminal.Injection { return p.injections }

// turn runs a command on one message.
func turn(t *testing.T, command string, record terminal.RecordFunc, req terminal.Request, chat terminal.Chat, dir string) terminal.Outcome {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command, cfg.Interactive, cfg.Timeout = command, true, 60
	cfg.RevealErrors.All = true
	r := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: cfg, Workspace: dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop(), Record: record,
	}))(t)
	defer r.Close()
	return musttest.Get(r.Turn(t.Context(), req, chat))(t)
}

// TestARecordedTurnIsReplayedAndPlayedAsItWas records turns of agents, runs them again on their
// cassettes, and has each cassette take the place of its agent.
func TestARecordedTurnIsReplayedAndPlayedAsItWas(t *testing.T) {
	t.Parallel()
	self := musttest.Get(os.Executable())(t)
	for name, agent := range map[string]string{
		"frames": `read -r envelope; echo '{"type":"progress","text":"one"}'
			echo '{"type":"message","text":"  **a** \n\nb ","buttons":["x","y"],"silent":true}'
			echo '{"type":"delta","text":"written "}'; echo '{"type":"delta","text":"slowly"}'
			echo '{"type":"ask","id":"q","text":"Really?","options":["yes","no"]}'; read -r answer
			case $answer in *yes*) echo '{"type":"message","text":"you agree"}' ;; esac
			echo '{"type":"log","text":"aside","level":"info"}'
			echo '{"type":"delta","text":"no end"}'`,
		"files": `read -r envelope; dir=$(echo "$envelope" | sed 's/.*"user_data_dir":"\([^"]*\)".*/\1/'); echo content >"$dir/a b.txt"
			in=$(echo "$envelope" | sed 's/.*"media":\["\([^"]*\)".*/\1/'); cat "$in"
			echo '{"type":"message","text":"see '"$dir/a b.txt and $in"'","media":["'"$dir/a b.txt"'","/nosuch"]}'`,
		"errors": `echo '{"type":"error","text":"bad","code":"E1"}'; echo '{"type":"error","text":"worse"}'; echo oops >&2
			echo 'a plain line'; exit 3`,
		"an exit code":        `echo '{"type":"message","text":"a"}'; exit 4`,
		"only an exit code":   `exit 5`,
		"stderr":              `echo '{"type":"message","text":"a"}'; echo careful >&2`,
		"silence":             `:`,
		"plain text":          `echo one; echo; echo '  two'`,
		"a signal and a text": `echo text; kill -KILL $$`,
		"a message meanwhile": `read -r envelope; echo '{"type":"message","text":"go on"}'; read -r more; echo "$more" | sed 's/.*"text":"\([^"]*\)".*/got \1/'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			media := filepath.Join(dir, "in.txt")
			musttest.Do(t, os.WriteFile(media, []byte("from the person\n"), 0o600))
			path := filepath.Join(t.TempDir(), "a"+cassette.Suffix)
			out := musttest.Get(os.Create(path))(t)
			defer out.Close()
			req := terminal.Request{Envelope: terminal.Envelope{Channel: "c.second", ChatID: "1", Text: "hi", Media: []string{media}}, RunName: "r"}
			first := &person{}
			if name == "a message meanwhile" {
				first.injections = make(chan terminal.Injection, 2)
			}
			ended := turn(t, agent, func(terminal.Request, bool) terminal.Recording {
				return cassette.NewWriter(cassette.WriterOptions{Out: out, Header: &cassette.Header{}, FilesDir: cassette.FilesDir(path)})
			}, req, first, dir)

			c := musttest.Get(cassette.Read(path))(t)
			workspace := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			for _, mode := range []cassette.Mode{cassette.Exact, cassette.Text, cassette.Shape} {
				again := musttest.Get(cassette.NewReplay(c, cassette.ReplayOptions{
					Workspace: workspace, WordsFor: func(string) words.Words { return words.Words{} },
				}))(t)
				before, after, whole, err := again.Compare(mode, turn(t, agent, nil, again.Request(), again, workspace), nil)
				if err != nil || !whole {
					t.Fatal(whole, err)
				}
				wanttest.Equal(t, string(mode)+": the replay is", after, before)
			}

			second := &person{}
			played := turn(t, "TEST_PLAY="+terminal.ShellQuote(path)+" exec "+terminal.ShellQuote(self), nil, req, second, dir)
			if name != "a signal and a text" {
				wanttest.Equal(t, "played is", second.seen.String(), first.seen.String())
				wanttest.Equal(t, "the status is", played.Status, ended.Status)
				wanttest.Equal(t, "the exit code is", played.ExitCode, ended.ExitCode)
			}
		})
	}
}

// TestQuestionsAreAnsweredByTheirText has an agent that asks in another order.
func TestQuestionsAreAnsweredByTheirText(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		var out bytes.Buffer
		w := cassette.NewWriter(cassette.WriterOptions{Out: &out, Header: &cassette.Header{}})
		w.Envelope(terminal.Envelope{Text: "hi"})
		for _, q := range []string{"B?", "A?"} {
			w.Answer(w.Ask(terminal.Question{Text: q}), terminal.Answer{Text: "to " + q}, nil)
		}
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "to A?"})
		if !cut {
			w.Frame(terminal.Frame{Kind: terminal.Message, Text: "to B?"})
			w.Exit(terminal.Outcome{Status: terminal.Done}, nil)
		}
		c := musttest.Get(cassette.Parse("a", &out))(t)
		dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		r := musttest.Get(cassette.NewReplay(c, cassette.ReplayOptions{
			Workspace: dir, WordsFor: func(string) words.Words { return words.Words{} },
		}))(t)
		ended := turn(t, `read -r e; for q in A B; do
			echo '{"type":"ask","text":"'$q'?"}'; read -r a; echo "$a" | sed 's/.*"text":"\([^"]*\)".*/{"type":"message","text":"\1"}/'
		done`, nil, r.Request(), r, dir)
		before, after, whole, err := r.Compare(cassette.Exact, ended, nil)
		musttest.Do(t, err)
		wanttest.Equal(t, "the replay is", after, before)
		wanttest.Equal(t, "the cassette is whole:", whole, !cut)
	}
}

func TestAnotherAgentDiffers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := cassette.NewWriter(cassette.WriterOptions{Out: &out, Header: &cassette.Header{}})
	w.Envelope(terminal.Envelope{Text: "hi"})
	w.Frame(terminal.Frame{Kind: terminal.Message, Text: "a  b"})
	w.Exit(terminal.Outcome{Status: terminal.Done}, nil)
	c := musttest.Get(cassette.Parse("a", &out))(t)
	for agent, same := range map[string]string{
		`echo '{"type":"message","text":"a  b"}'`:                                                         "exact text shape",
		`echo '{"type":"message","text":"a b"}'`:                                                          "text shape",
		`echo '{"type":"message","text":"c"}'`:                                                            "shape",
		`echo '{"type":"message","text":"a  b"}'; echo '{"type":"message","text":"c"}'`:                   "",
		`echo '{"type":"message","text":"a  b"}'; exit 3`:                                                 "",
		`echo '{"type":"message","text":"a  b","buttons":["c"]}'`:                                         "text shape",
		`echo '{"type":"message","text":"a  b","silent":true}'`:                                           "text shape",
		`echo '{"type":"progress","text":"c"}'; echo '{"type":"message","text":"a  b"}'`:                  "text shape",
		`read -r e; echo '{"type":"ask","text":"c"}'; read -r a; echo '{"type":"message","text":"a  b"}'`: "",
		`echo x >x.txt; echo '{"type":"message","text":"a  b","media":["x.txt"]}'`:                        "text",
	} {
		var got []string
		for _, mode := range []cassette.Mode{cassette.Exact, cassette.Text, cassette.Shape} {
			dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			r := musttest.Get(cassette.NewReplay(c, cassette.ReplayOptions{
				Workspace: dir, WordsFor: func(string) words.Words { return words.Words{} },
			}))(t)
			before, after, _, err := r.Compare(mode, turn(t, agent, nil, r.Request(), r, dir), nil)
			if musttest.Do(t, err); before == after {
				got = append(got, string(mode))
			}
		}
		wanttest.Equal(t, agent, strings.Join(got, " "), same)
	}
}
