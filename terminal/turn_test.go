package terminal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

func TestPlainOutputIsOneMessageAtTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		status       terminal.Status
		want         string
	}{
		{"text", "echo one; echo two", "done", "message: one\ntwo"},
		{"blank lines inside stay", "printf '\\n\\n  a\\n\\n\\nb \\n\\n'", "done", "message:   a\n\n\nb"},
		{"nothing", "true", "silent", "message: (no output)"},
		{"only white space", "echo; echo ' '", "silent", "message: (no output)"},
		{"stderr is appended", "echo out; echo oops >&2", "done", "message: out\nSTDERR: oops"},
		{"stderr alone", "echo oops >&2", "done", "message: STDERR: oops"},
		{"exit code is appended", "echo out; exit 3", "failed", "message: out\nExit code: 3"},
		{"exit code alone", "exit 3", "failed", "message: The program printed nothing.\nExit code: 3"},
		{"a search without a hit", "grep needle /dev/null", "failed", "message: The program printed nothing.\nExit code: 1"},
		{"signal alone", "kill -TERM $$", "failed", "message: Killed by SIGTERM"},
		{"all of it", "echo out; echo oops >&2; exit 3", "failed", "message: out\nSTDERR: oops\nExit code: 3"},
		{"signal by name", "echo out; kill -TERM $$", "failed", "message: out\nKilled by SIGTERM"},
		{"no such command", "exec 2>/dev/null; no-such-command-here", "failed", "message: The program printed nothing.\nExit code: 127"},
		{"not executable", "exec 2>/dev/null; /etc/passwd", "failed", "message: The program printed nothing.\nExit code: 126"},
		{"an escape without an end", "printf 'before\\n\\033]oops\\nafter'", "done", "message: before\n\nafter"},
		{"a progress bar", "printf '10%%\\r50%%\\r100%%\\ndone'", "done", "message: 100%\ndone"},
		{"frames are just text", `echo '{"type":"message","text":"x"}'`, "done", `message: {"type":"message","text":"x"}`},
		{"CRLF and BOM", "printf '\\357\\273\\277a\\r\\nb\\r\\n'", "done", "message: a\nb"},
		{"invalid UTF-8 and NUL", "printf 'a\\377\\376b\\000c'", "done", "message: a\uFFFDb\uFFFDc"},
		{"terminal escapes", "printf '\\033[1;31mred\\033[0m \\033]0;title\\007x\\a\\302\\2331m £'", "done", "message: red x1m £"},
		{"no newline at the end", "printf abc", "done", "message: abc"},
	} {
		t.Run(tc.name, func(t *testing.T) { newTurnFixture(t, "plain", tc.script).run().expectFrames(tc.status, tc.want) })
	}
}

func TestRichFramesComeInOrderAndPlainLinesAtTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		status       terminal.Status
		want         []string
	}{
		{
			"frames", frame(object{"type": "progress", "text": "p1"}) + frame(object{"type": "message", "text": "m1"}) + frame(object{"type": "progress", "text": "p2"}) + frame(object{"type": "message", "text": "m2"}),
			"done",
			[]string{"progress: p1", "message: m1", "progress: p2", "message: m2"},
		},
		{
			"plain lines with their blank lines, after the frames", "echo a; echo\n" + frame(object{"type": "message", "text": "m"}) + "echo b; echo '{\"no\":\"type\"}'",
			"done",
			[]string{"message: m", "message: a\n\nb\n{\"no\":\"type\"}"},
		},
		{
			"errors last and joined", frame(object{"type": "error", "text": "first", "code": "E1"}) + frame(object{"type": "error", "text": "second"}) + frame(object{"type": "message", "text": "m"}) + "exit 2",
			"failed",
			[]string{"message: m", "error: Error (E1): first\nError: second\nExit code: 2"},
		},
		{"an error frame alone is a failure", frame(object{"type": "error", "text": "bad"}), "failed", []string{"error: Error: bad"}},
		{
			"plain text, then the error with stderr", "echo plain; echo diag >&2\n" + frame(object{"type": "error", "text": "bad", "code": "X"}),
			"failed",
			[]string{"message: plain", "error: Error (X): bad\nSTDERR: diag"},
		},
		{"stderr after frames is a message of its own", frame(object{"type": "message", "text": "m"}) + "echo diag >&2", "done", []string{"message: m", "message: STDERR: diag"}},
		{"exit code after frames", frame(object{"type": "message", "text": "m"}) + "exit 9", "failed", []string{"message: m", "message: Exit code: 9"}},
		{"progress alone is no answer", frame(object{"type": "progress", "text": "p"}), "silent", []string{"progress: p", "message: (no output)"}},
		{"escapes alone are no answer", frame(object{"type": "message", "text": "\x1b[0m"}), "silent", []string{"message: (no output)"}},
		{"an empty progress is nothing", frame(object{"type": "progress", "text": " "}) + "echo x", "done", []string{"message: x"}},
		{"an empty message is no answer", frame(object{"type": "message", "text": " \n"}), "silent", []string{"message: (no output)"}},
		{"logs are not shown", frame(object{"type": "log", "text": "secret plan"}), "silent", []string{"message: (no output)"}},
		{"unknown types are ignored", frame(object{"type": "teleport", "text": "x"}) + frame(object{"type": "message", "text": "m"}), "done", []string{"message: m"}},
		{
			"wrong types", frame(object{"type": "message", "text": 12}) + frame(object{"type": "message", "text": false}) + frame(object{"type": "message", "text": nil}) + frame(object{"type": "message"}) + frame(object{"type": "error", "text": nil}),
			"failed",
			[]string{"message: 12", "message: false", "error: Error"},
		},
		{
			"half a frame", frame(object{"type": "message", "text": "m"}) + `printf '{"type":"message","te'; kill -9 $$`,
			"failed",
			[]string{"message: m", "message: {\"type\":\"message\",\"te\nKilled by SIGKILL"},
		},
		{"a last frame without newline", `printf '{"type":"message","text":"m"}'`, "done", []string{"message: m"}},
		{"CRLF and BOM", `printf '\357\273\277{"type":"message","text":"a"}\r\n{"type":"message","text":"b"}\r\n'`, "done", []string{"message: a", "message: b"}},
		{"NUL in a frame", frame(object{"type": "message", "text": "a\x00b"}), "done", []string{"message: a\uFFFDb"}},
	} {
		t.Run(tc.name, func(t *testing.T) { newTurnFixture(t, "rich", tc.script).run().expectFrames(tc.status, tc.want...) })
	}
}

type object = map[string]any

func TestLogFramesGoToTheLogAtTheirLevel(t *testing.T) {
	script := ""
	for _, level := range []any{"debug", "info", "warning", "error", "loud", nil} {
		script += frame(object{"type": "log", "text": fmt.Sprint(level), "level": level})
	}
	b := newTurnFixture(t, "rich", script).run()
	got := map[string]zapcore.Level{}
	for _, e := range b.logs.FilterMessage("agent").All() {
		got[e.ContextMap()["text"].(string)] = e.Level
	}
	want := map[string]zapcore.Level{"debug": -1, "info": 0, "warning": 1, "error": 2, "loud": 0, "<nil>": -1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// timeOutAfter runs the agent until its timeout, which must not expire before the agent has created
// a file. On a busy machine that takes some seconds.
func (b *turnFixture) timeOutAfter(file string) {
	b.t.Helper()
	for b.opts.Config.Timeout = 2; b.opts.Config.Timeout <= 512; b.opts.Config.Timeout *= 2 {
		b.run()
		if _, err := os.Stat(filepath.Join(b.workspace, file)); err == nil {
			return
		}
	}
	b.t.Fatalf("the agent did not make %s", file)
}

func TestATimeoutKillsTheAgentAndIsReportedAfterItsOutput(t *testing.T) {
	for name, script := range map[string]string{
		"sleeps":                      "echo before; sleep 300",
		"closes stdout and lives on":  "echo before; exec 1>&- 2>&-; sleep 300",
		"leaves a child on the pipe":  "echo before; sleep 300 & sleep 300",
		"ignores signals":             "trap '' TERM INT; echo before; while :; do sleep 0.05; done",
		"never reads its large input": "echo before; exec sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTurnFixture(t, "rich", strings.Replace(script, "echo before;", "echo before; touch printed;", 1))
			b.req.Text = strings.Repeat("x", 1<<20)
			b.timeOutAfter("printed")
			b.expectFrames("timeout", "message: before", fmt.Sprintf("error: Timed out after %d s.", b.opts.Config.Timeout))
			if f := b.frames[1]; f.Code != "TIMEOUT" {
				t.Errorf("code %q", f.Code)
			}
		})
	}
}

func TestATimeoutFiresWhileOutputFloodsIn(t *testing.T) {
	for _, protocol := range []string{"plain", "rich"} {
		b := newTurnFixture(t, protocol, "yes flood | head -c 60000; touch printed; exec yes flood")
		b.opts.Config.MaxOutput = 4096
		b.timeOutAfter("printed")
		if b.out.Status != terminal.TimedOut || len(b.frames) != 2 {
			t.Fatalf("%s: %s, %d frames", protocol, b.out.Status, len(b.frames))
		}
		if text := b.frames[0].Text; !strings.HasPrefix(text, "flood\nflood\n") || len(text) > 5000 || !strings.Contains(text, "bytes left out") {
			t.Errorf("%s: %s", protocol, shorten(text))
		}
	}
}

func TestAStopIsReportedAndTheOutputArrives(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newTurnFixture(t, "rich", "echo plain; exec 2>/dev/null; trap 'echo cleaned up; exit 0' TERM\n"+frame(object{"type": "message", "text": "ready"})+"while :; do sleep 0.01; done")
	b.emit = func(terminal.Frame) error { cancel(); return nil }
	b.runUntil(ctx).expectFrames("stopped", "message: ready", "message: plain\ncleaned up", "error: Stopped.")
}

func TestALongLineIsSkippedWholeAndNamed(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "before"})+
		"head -c 100000000 /dev/zero | tr '\\0' x; echo\n"+frame(object{"type": "message", "text": "after"}))
	b.run().expectFrames("done", "message: before", "message: after", "message: ⚠ a line of 100000000 bytes was skipped; the limit is 16777216 bytes.")
}

func TestALineOfExactlyTheLimitArrives(t *testing.T) {
	b := newTurnFixture(t, "plain", "head -c 2000 /dev/zero | tr '\\0' x; printf '\\r\\n'; head -c 2001 /dev/zero | tr '\\0' y; echo; echo end")
	b.opts.Config.MaxLine = 2000
	b.run().expectFrames("done", "message: "+strings.Repeat("x", 2000)+"\nend\n⚠ a line of 2001 bytes was skipped; the limit is 2000 bytes.")
}

func TestALongPlainTextKeepsItsBeginningAndEnd(t *testing.T) {
	b := newTurnFixture(t, "plain", "seq 1 100000")
	b.opts.Config.MaxOutput = 1024
	b.run()
	text := b.frames[0].Text
	if !strings.HasPrefix(text, "1\n2\n3\n") || !strings.HasSuffix(text, "\n99999\n100000") || !strings.Contains(text, "bytes left out") {
		t.Errorf("got %s", shorten(text))
	}
}

func TestHiddenInternalsBecomeOneFriendlyLine(t *testing.T) {
	friendly := "Something went wrong. The bot's log has the reason."
	for _, tc := range []struct {
		name, script string
		reveal       config.Selection
		status       terminal.Status
		want         string
	}{
		{"failure", "echo out; echo /etc/secret >&2; exit 3", config.Selection{}, "failed", "message: out\n" + friendly},
		{"success with stderr", "echo out; echo /etc/secret >&2", config.Selection{}, "done", "message: out"},
		{"the agent's own error is for the user", frame(object{"type": "error", "text": "quota used up"}) + "exit 1", config.Selection{}, "failed", "error: Error: quota used up"},
		{"listed chat", "exit 3", config.Selection{Names: []string{"local"}}, "failed", "message: The program printed nothing.\nExit code: 3"},
		{"listed by key", "exit 3", config.Selection{Names: []string{"cli:local"}}, "failed", "message: The program printed nothing.\nExit code: 3"},
		{"other chat listed", "exit 3", config.Selection{Names: []string{"cli:other"}}, "failed", "message: " + friendly},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTurnFixture(t, "rich", tc.script)
			b.opts.Config.RevealErrors = tc.reveal
			b.run().expectFrames(tc.status, tc.want)
			logged := b.logs.FilterField(zap.String("text", "STDERR: /etc/secret\nExit code: 3")).Len()
			if tc.name == "failure" && logged != 1 {
				t.Error("the operator was not told")
			}
		})
	}
}

func TestADisabledAgentRepliesThatItIsSwitchedOff(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo never")
	off := false
	b.opts.Config.Enabled = &off
	b.run().expectFrames("failed", "message: This bot is switched off at the moment.")
}

// TestManyTinyFramesArrive prints 200,000 frames, or a million with NANOBOT_LONG=1.
func TestManyTinyFramesArrive(t *testing.T) {
	frames := killtest.Rounds(t, 200_000, 1_000_000)
	b := newTurnFixture(t, "rich", `exec awk 'BEGIN { for (i = 0; i < `+strconv.Itoa(frames)+`; i++) print "{\"type\":\"progress\",\"text\":\"" i "\"}" }'`)
	n := 0
	r, err := terminal.NewRunner(b.opts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Turn(t.Context(), b.req, protocoltest.Frames(func(f terminal.Frame) error {
		if f.Kind == terminal.Progress {
			if f.Text != fmt.Sprint(n) {
				return fmt.Errorf("frame %d says %s", n, f.Text)
			}
			n++
		}
		return nil
	}))
	if err != nil || n != frames {
		t.Fatalf("%d frames, %v", n, err)
	}
}

func TestManyErrorFramesStayBounded(t *testing.T) {
	b := newTurnFixture(t, "rich", `exec awk 'BEGIN { for (i = 0; i < 100000; i++) print "{\"type\":\"error\",\"text\":\"" i "\"}" }'`)
	b.opts.Config.MaxOutput = 2048
	b.run()
	if text := b.frames[0].Text; len(text) > 3000 || !strings.HasPrefix(text, "Error: 0\n") || !strings.HasSuffix(text, "Error: 99999") {
		t.Errorf("got %s", shorten(text))
	}
}

func TestADescendantNeverHangsTheTurn(t *testing.T) {
	for name, left := range map[string]string{
		"silent": "sleep 900 &", "a daemon": "setsid sleep 900 &", "a flooding daemon": "setsid timeout 900 yes >&2 &", "chatty": "(while :; do echo x >&2; sleep 0.1; done) &",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			b := newTurnFixture(t, "rich", left+" echo $! > pid\n"+frame(object{"type": "message", "text": "m"}))
			t.Cleanup(func() {
				pid, _ := os.ReadFile(filepath.Join(b.workspace, "pid"))
				if n, err := strconv.Atoi(strings.TrimSpace(string(pid))); err == nil {
					_ = syscall.Kill(n, syscall.SIGKILL) // a daemon, which survives without a supervisor
				}
			})
			b.opts.Config.RevealErrors.All = false
			b.run().expectFrames("done", "message: m")
			if took := time.Since(began); took > 5*time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestAnAgentHasNoTerminalToWaitFor(t *testing.T) {
	newTurnFixture(t, "plain", "read x 2>/dev/null < /dev/tty || echo none").run().expectFrames("done", "message: none")
}

func TestUserTextThatIsNotUTF8IsRepairedInTheEnvelope(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	b.req.Text = "a\xff\xfeb"
	wanttest.Equal(t, "got", b.envelope()["text"], "a\uFFFD\uFFFDb")
}
