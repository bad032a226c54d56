package terminal_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// delta returns the line of a shell script that prints a delta.
func delta(text any) string { return frame(object{"type": "delta", "text": text}) }

// complete removes the frames that show an unfinished message, which depend on the time.
func (b *turnFixture) complete() *turnFixture {
	b.frames = slices.DeleteFunc(b.frames, func(f terminal.Frame) bool { return f.Kind == terminal.Partial })
	return b
}

func TestDeltasAreOneMessage(t *testing.T) {
	one := delta("Hel") + delta("lo, ") + delta("world")
	for _, tc := range []struct {
		name, script string
		status       terminal.Status
		want         []string
	}{
		{"until the end of the turn", one, "done", []string{"message: Hello, world"}},
		{"replaced by the text of a message", one + frame(object{"type": "message", "text": "Bye"}), "done", []string{"message: Bye"}},
		{"ended by a message without text", one + frame(object{"type": "message"}) + delta("More"), "done", []string{"message: Hello, world", "message: More"}},
		{"with the files of a message without text", "echo x > a.txt\n" + one + `printf '{"type":"message","media":["%s/a.txt"]}\n' "$PWD"` + "\n", "done", []string{"message: Hello, world [a.txt]"}},
		{"replaced, with files", "echo x > a.txt\n" + one + `printf '{"type":"message","text":"Bye","media":["%s/a.txt"]}\n' "$PWD"` + "\n", "done", []string{"message: Bye [a.txt]"}},
		{"with progress and logs between them", delta("a") + frame(object{"type": "progress", "text": "p"}) + frame(object{"type": "log", "text": "l"}) + delta("b"), "done", []string{"progress: p", "message: ab"}},
		{"before plain lines", delta("a") + "echo plain\n" + delta("b"), "done", []string{"message: ab", "message: plain"}},
		{"before an error", delta("a") + frame(object{"type": "error", "text": "bad", "code": "E"}) + delta("b") + "exit 2", "failed", []string{"message: ab", "error: Error (E): bad\nExit code: 2"}},
		{"of an agent that is killed", one + "kill -9 $$", "failed", []string{"message: Hello, world", "message: Killed by SIGKILL"}},
		{"of an agent that is killed within a line", one + `printf '{"type":"delta","te'; kill -9 $$`, "failed", []string{"message: Hello, world", "message: {\"type\":\"delta\",\"te\nKilled by SIGKILL"}},
		{"a last one without newline", one + `printf '{"type":"delta","text":"!"}'`, "done", []string{"message: Hello, world!"}},
		{"an escape sequence in two pieces", delta("a\x1b[3") + delta("1mred\x1b[") + delta("0m"), "done", []string{"message: ared"}},
		{"a letter and its accent", delta("e") + delta("\u0301"), "done", []string{"message: e\u0301"}},
		{"invalid UTF-8", `printf '{"type":"delta","text":"a\377"}\n'` + "\n" + delta("b"), "done", []string{"message: a\uFFFDb"}},
		{"numbers and missing texts", delta(12) + frame(object{"type": "delta"}) + delta(nil) + delta(true), "done", []string{"message: 12true"}},
		{"white space around it", delta("\n\n  a") + delta(" \n") + delta("b\n\n"), "done", []string{"message:   a \nb"}},
		{"white space alone is no answer", delta(" ") + delta("\n"), "silent", []string{"message: (no output)"}},
		{"white space alone is replaced, too", delta(" ") + frame(object{"type": "message", "text": "m"}), "done", []string{"message: m"}},
		{"two messages", one + frame(object{"type": "message", "text": "A"}) + delta("B") + frame(object{"type": "message", "text": "C"}), "done", []string{"message: A", "message: C"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			newTurnFixture(t, "rich", tc.script).run().complete().expectFrames(tc.status, tc.want...)
		})
	}
}

func TestTheLastMessageOfATurnNotifies(t *testing.T) {
	for script, want := range map[string]string{
		delta("a"): "a false",
		delta("a") + frame(object{"type": "message", "silent": true}):   "a true",
		delta("a") + frame(object{"type": "message"}):                   "a false",
		delta("a") + "echo plain":                                       "a true, plain false",
		delta("a") + frame(object{"type": "error", "text": "b"}):        "a true, Error: b false",
		delta("a") + frame(object{"type": "message"}) + "echo 1 >&2":    "a false, STDERR: 1 false",
		delta("a") + "echo oops >&2":                                    "a true, STDERR: oops false",
		frame(object{"type": "message", "text": "first"}) + delta("a"):  "first false, a false",
		frame(object{"type": "progress", "text": "first"}) + delta("a"): "first false, a false",
	} {
		b := newTurnFixture(t, "rich", script).run().complete()
		var got []string
		for _, f := range b.frames {
			got = append(got, fmt.Sprint(f.Text, " ", f.Silent))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\ngot  %s\nwant %s", script, strings.Join(got, ", "), want)
		}
	}
}

func TestAMessageIsShownWhileItIsWritten(t *testing.T) {
	b := newTurnFixture(t, "rich", delta("Hel")+delta("lo")+"while [ ! -e go ]; do sleep 0.01; done\n"+delta(", world"))
	b.emit = func(f terminal.Frame) error {
		if f.Kind == terminal.Partial && f.Text == "Hello" {
			return os.WriteFile(b.workspace+"/go", nil, 0o600) // without this the agent never ends
		}
		return nil
	}
	if b.run(); b.frames[0].Kind != terminal.Partial {
		t.Errorf("the first frame is %+v", b.frames[0])
	}
	b.complete().expectFrames("done", "message: Hello, world")
}

func TestWhatWasWrittenBeforeAStopStays(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newTurnFixture(t, "rich", "exec 2>/dev/null; trap 'exit 0' TERM\n"+delta("half a")+"while :; do sleep 0.01; done")
	b.emit = func(terminal.Frame) error { cancel(); return nil } // when the text is shown
	b.runUntil(ctx).complete().expectFrames("stopped", "message: half a", "error: Stopped.")
	if !b.frames[0].Silent {
		t.Error("the message and the end notify")
	}
}

func TestAnErrorOfShowingAnUnfinishedMessageEndsTheTurn(t *testing.T) {
	b := newTurnFixture(t, "rich", "while :; do "+strings.TrimSpace(delta("a"))+"; sleep 0.01; done")
	b.emit = func(terminal.Frame) error { return syscall.ENOSPC }
	if b.run(); b.err == nil || !strings.Contains(b.err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("got %v", b.err)
	}
}

func TestAQuestionComesBelowWhatTheAgentHasWritten(t *testing.T) {
	var before []string
	var b *turnFixture
	b = newInteractiveFixture(t, delta("I found ")+delta("three.")+askFrame("q", "Delete?")+recordLine+delta("Deleted."), func(context.Context, terminal.Question) (terminal.Answer, error) {
		for _, f := range b.frames {
			if f.Kind == terminal.Message {
				before = append(before, fmt.Sprint(f.Text, " ", f.Silent))
			}
		}
		return terminal.Answer{Text: "yes"}, nil
	})
	b.run().complete().expectFrames("done", "message: I found three.", "message: Deleted.")
	if strings.Join(before, "|") != "I found three. true" {
		t.Errorf("before the question: %q", before)
	}
	off := newTurnFixture(t, "rich", delta("a")+askFrame("q", "Sure?")+delta("b"))
	off.run().complete().expectFrames("done", "message: ab")
}

func TestAFloodOfDeltasIsShownRarelyAndStaysBounded(t *testing.T) {
	const n = 100_000
	b := newTurnFixture(t, "rich", fmt.Sprintf(`yes '{"type":"delta","text":"0123456789é"}' | head -n %d`, n))
	b.opts.Config.MaxOutput = 1 << 20
	b.run()
	for _, f := range b.frames[:len(b.frames)-1] {
		if f.Kind != terminal.Partial || len(f.Text) > 256<<10 || strings.Contains(f.Text, "\uFFFD") {
			t.Fatalf("a %s of %d bytes", f.Kind, len(f.Text))
		}
	}
	// 256 KiB are some 20,000 deltas; nothing more is shown.
	if shown := len(b.frames) - 1; shown > n/100 {
		t.Errorf("%d deltas were shown %d times", n, shown)
	}
	text := b.frames[len(b.frames)-1].Text
	if len(text) > 1<<20+100 || !strings.HasPrefix(text, "0123456789é0123") || !strings.HasSuffix(text, "6789é") || !strings.Contains(text, "bytes left out") {
		t.Errorf("%d bytes: %s", len(text), shorten(text))
	}
}

func TestButtonsOfAMessage(t *testing.T) {
	long := strings.Repeat("x", 81)
	var many []any
	for i := range 30 {
		many = append(many, i)
	}
	for _, tc := range []struct {
		buttons  any
		want     string
		warnings int
	}{
		{[]any{"Yes", "No"}, "Yes|No", 0},
		{"OK", "OK", 0},
		{nil, "", 0},
		{[]any{" two\nlines ", "", "\x1b[1mbold\x1b[m", nil}, "two lines|bold", 2},
		{[]any{"a", "a", "b"}, "a|b", 1},
		{[]any{"\u200b", "\u3164", "\u2800 \u0301", "👍"}, "👍", 3},
		{[]any{long, long[:80]}, long[:80], 1},
		{many, "0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24", 1},
	} {
		b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "m", "buttons": tc.buttons})).run().expectFrames("done", "message: m")
		if got := strings.Join(b.frames[0].Choices, "|"); got != tc.want || len(b.warnings()) != tc.warnings {
			t.Errorf("%v: %q, %q", tc.buttons, got, b.warnings())
		}
	}
	b := newTurnFixture(t, "rich", delta("streamed")+frame(object{"type": "message", "buttons": []any{"More"}})).run().complete()
	b.expectFrames("done", "message: streamed")
	wanttest.EqualSlices(t, "buttons", b.frames[0].Choices, []string{"More"})
}

func TestADeltaWithAnotherKeyIsLoggedOnce(t *testing.T) {
	b := newTurnFixture(t, "rich", strings.Repeat(frame(object{"type": "delta", "content": "x"}), 3)+delta("a")+frame(object{"type": "message", "buttons": []any{"Yes"}})+
		delta("b")+frame(object{"type": "message"})).run().complete()
	b.expectFrames("done", "message: a", "message: b")
	wanttest.Equal(t, "the log says", strings.Join(b.warnings(), "|"), `delta frame without text: the frame has "content"; did you mean "text"?`)
}

func TestTheButtonsOfManyFilesAreUnderTheLast(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	var files []any
	for i := range 51 { // one more than a message may have
		files = append(files, b.putFile(fmt.Sprintf("%d.txt", i), "x"))
	}
	b.opts.Config.Command = frame(object{"type": "message", "text": "m", "media": files, "buttons": []any{"Yes"}})
	b.run()
	if len(b.frames) != 2 || b.frames[0].Choices != nil || !slices.Equal(b.frames[1].Choices, []string{"Yes"}) {
		t.Errorf("%d frames, the first with %q", len(b.frames), b.frames[0].Choices)
	}
}
