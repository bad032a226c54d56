package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"

	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// recordLine is a shell command that appends the next line of stdin to the file "received".
const recordLine = "read -r line; printf '%s\\n' \"$line\" >> received\n"

// readEnvelope is the first line of an agent's script that reads the envelope.
const readEnvelope = "read -r envelope\n"

// newInteractiveFixture returns a fixture whose agent may ask questions.
func newInteractiveFixture(t *testing.T, script string, ask protocoltest.Ask) *turnFixture {
	t.Helper()
	b := newTurnFixture(t, "rich", readEnvelope+script)
	b.opts.Config.Interactive, b.chat.OnAsk = true, ask
	return b
}

// expectInput checks the lines that the agent has recorded with recordLine.
func (b *turnFixture) expectInput(want ...string) *turnFixture {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.workspace, "received"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	if got := strings.TrimSuffix(string(raw), "\n"); got != strings.Join(want, "\n") {
		b.t.Errorf("the agent received:\n%s\nwant:\n%s", shorten(got), shorten(strings.Join(want, "\n")))
	}
	return b
}

// warnings returns the logged warnings of the agent.
func (b *turnFixture) warnings() (texts []string) {
	for _, e := range b.logs.FilterLevelExact(zapcore.WarnLevel).All() {
		texts = append(texts, e.ContextMap()["text"].(string))
	}
	return texts
}

func askFrame(id any, text string) string {
	return frame(object{"type": "ask", "id": id, "text": text})
}

func neverAnswer(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
	<-ctx.Done()
	return terminal.Answer{}, ctx.Err()
}

func TestAnAnswerComesBackAsALine(t *testing.T) {
	var asked terminal.Question
	b := newInteractiveFixture(t, frame(object{"type": "ask", "id": "q1", "text": "Sure\x07?", "options": []any{"yes", "no", 3, true, nil, " "}})+recordLine+
		frame(object{"type": "message", "text": "deleted"}), func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = q
		return terminal.Answer{Text: "yes & \"so\"\n<é>"}, nil
	})
	b.run().expectFrames("done", "message: deleted").expectInput(`{"type":"answer","id":"q1","text":"yes & \"so\"\n<é>"}`)
	if want := (terminal.Question{ID: "q1", Text: "Sure?", Options: []string{"yes", "no", "3", "true"}}); !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %+v", asked)
	}
}

func TestQuestionsMayBeAnsweredInReverseOrder(t *testing.T) {
	second := make(chan struct{})
	b := newInteractiveFixture(t, askFrame("a", "first")+askFrame("b", "second")+recordLine+frame(object{"type": "progress", "text": "one answer"})+recordLine,
		func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
			if q.ID == "a" {
				<-second
			}
			return terminal.Answer{Text: "to " + q.Text}, nil
		})
	b.emit = func(f terminal.Frame) error {
		if f.Kind == terminal.Progress {
			close(second) // only now: the agent has the other answer and its frames were read meanwhile
		}
		return nil
	}
	b.run().expectInput(`{"type":"answer","id":"b","text":"to second"}`, `{"type":"answer","id":"a","text":"to first"}`)
}

func TestAnIDIsReturnedAsWrittenAndAMissingOneIsGenerated(t *testing.T) {
	ids := []string{`"x"`, `7`, `1.50e3`, `true`, `{"a":1}`, `null`, `""`, ""}
	want := []string{`"x"`, `7`, `1.50e3`, `true`, `"{\"a\":1}"`, `"ask-6"`, `"ask-7"`, `"ask-8"`}
	script, asked := "", map[string]string{}
	var mu sync.Mutex
	for i, id := range ids {
		if id != "" {
			id = `,"id":` + id
		}
		script += "echo " + terminal.ShellQuote(fmt.Sprintf(`{"type":"ask","text":"%d"%s}`, i, id)) + "\n" + recordLine
	}
	b := newInteractiveFixture(t, script, func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Text] = q.ID
		return terminal.Answer{Text: q.Text}, nil
	}).run()
	var lines []string
	for i, id := range want {
		lines = append(lines, fmt.Sprintf(`{"type":"answer","id":%s,"text":"%d"}`, id, i))
	}
	b.expectInput(lines...)
	if asked["1"] != "7" || asked["4"] != `{"a":1}` || asked["5"] != "ask-6" {
		t.Errorf("asked %v", asked)
	}
}

func TestAQuestionCanBeAnsweredAfterOneThatTimedOut(t *testing.T) {
	b := newInteractiveFixture(t, askFrame("a", "x")+recordLine+askFrame("b", "")+recordLine, func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		if q.ID == "a" {
			return terminal.Answer{Text: "half"}, errors.New("nobody answered")
		}
		return terminal.Answer{Text: "said to " + q.Text}, nil
	})
	b.run().expectInput(`{"type":"answer","id":"a","text":"","error":"timeout"}`, `{"type":"answer","id":"b","text":"said to ?"}`)
}

func TestWhereNobodyCanBeAskedTheAgentIsToldAtOnce(t *testing.T) {
	newInteractiveFixture(t, askFrame("a", "x")+recordLine, nil).run().expectInput(`{"type":"answer","id":"a","text":"","error":"timeout"}`)
}

func TestAStopEndsAnOpenQuestionAndLaterOnesAreNotAsked(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	b := newInteractiveFixture(t, "exec 2>/dev/null\ntrap : TERM\n"+askFrame("a", "before")+recordLine+askFrame("b", "after")+frame(object{"type": "message", "text": "bye"}),
		func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
			asked++
			stop()
			return neverAnswer(ctx, q)
		})
	if b.runUntil(ctx).expectFrames("stopped", "message: bye", "error: Stopped."); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestAnAgentMayExitWhileAQuestionIsOpen(t *testing.T) {
	b := newInteractiveFixture(t, askFrame("a", "x")+"while [ ! -e go ]; do sleep 0.01; done\n"+frame(object{"type": "message", "text": "never mind"}), nil)
	over := false
	b.chat.OnAsk = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		defer func() { over = true }() // the race detector sees whether the turn waits for this
		if err := os.WriteFile(b.workspace+"/go", nil, 0o600); err != nil {
			return terminal.Answer{}, err
		}
		return neverAnswer(ctx, q)
	}
	if b.run().expectFrames("done", "message: never mind"); !over {
		t.Error("the question is still open")
	}
}

func TestABrokenOutboxEndsAnOpenQuestion(t *testing.T) {
	broken := errors.New("outbox is broken")
	b := newInteractiveFixture(t, askFrame("a", "x")+frame(object{"type": "message", "text": "m"})+"sleep 300", neverAnswer)
	b.emit = func(terminal.Frame) error { return broken }
	if b.run(); !errors.Is(b.err, broken) {
		t.Fatalf("got %v", b.err)
	}
}

func TestAPanicInEmitLeavesNoAgentBehind(t *testing.T) {
	b := newInteractiveFixture(t, askFrame("a", "x")+frame(object{"type": "message", "text": "m"})+"sleep 300", neverAnswer)
	b.emit = func(terminal.Frame) error { panic("outbox") }
	pid := 0
	b.chat.OnReport = protocoltest.OnLaunch(func(p int) { pid = p })
	func() {
		defer func() { _ = recover() }()
		b.run()
		t.Error("no panic")
	}()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); pid == 0 || !os.IsNotExist(err) {
		t.Errorf("process %d: %v", pid, err)
	}
}

func TestAnAnswerMayBeLarge(t *testing.T) {
	big := strings.Repeat("0123456789abcdé\n", 1<<16)
	b := newInteractiveFixture(t, askFrame("a", "x")+"head -n 1 > received", func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{Text: big}, nil
	}).run()
	raw, err := os.ReadFile(filepath.Join(b.workspace, "received"))
	var got struct{ Text string }
	if err != nil || json.Unmarshal(raw, &got) != nil || got.Text != big {
		t.Errorf("%d bytes arrived, %v", len(raw), err)
	}
}

func TestAnswersThatTheAgentDoesNotReadBlockNothing(t *testing.T) {
	asks := askFrame("a", "x") + askFrame("b", "x") + askFrame("c", "x")
	for name, ending := range map[string]string{
		"exits": "", "closes stdin": "exec 0<&-\n", "leaves a child on stdin": "exec 3<&0; sleep 300 <&3 >/dev/null 2>&1 &\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newInteractiveFixture(t, asks+ending+frame(object{"type": "message", "text": "bye"}), func(context.Context, terminal.Question) (terminal.Answer, error) {
				return terminal.Answer{Text: strings.Repeat("x", 1<<20)}, nil
			})
			b.run().expectFrames("done", "message: bye")
		})
	}
}

func TestAFloodOfQuestionsIsBounded(t *testing.T) {
	script := `awk 'BEGIN { for (i = 0; i < 1000; i++) print "{\"type\":\"ask\",\"id\":\"" i "\",\"text\":\"x\"}" }'`
	open := make(chan struct{}, 1000)
	b := newInteractiveFixture(t, script, func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		open <- struct{}{}
		return neverAnswer(ctx, q)
	}).run()
	if n, w := len(open), b.warnings(); n > 64 || len(w) != 1000-64 || w[0] != `ask frame "64" ignored: 64 questions are open` {
		t.Errorf("%d questions, %d warnings: %s", n, len(w), w[0])
	}
}

func TestAQuestionOfANonInteractiveAgentIsLogged(t *testing.T) {
	for _, inject := range []chan terminal.Injection{nil, make(chan terminal.Injection)} {
		b := newInteractiveFixture(t, askFrame("q 1", "x")+frame(object{"type": "message", "text": "m"}), func(context.Context, terminal.Question) (terminal.Answer, error) {
			t.Error("somebody was asked")
			return terminal.Answer{}, nil
		})
		b.opts.Config.Interactive, b.chat.Inject = false, inject
		b.run().expectFrames("done", "message: m")
		if w := b.warnings(); !slices.Equal(w, []string{`ask frame "q 1" ignored: terminal.interactive is off`}) {
			t.Errorf("logged %q", w)
		}
	}
}
