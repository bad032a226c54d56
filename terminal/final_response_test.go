package terminal_test

import (
	"slices"
	"testing"

	"go.uber.org/zap/zapcore"

	"nanobot/terminal"
)

func TestTextIsShownInTheConfiguredFormat(t *testing.T) {
	const traceback = "printf 'Traceback:\\n  File \"x\", line 1\\n' >&2"
	for _, tc := range []struct {
		name, protocol, format, script string
		want                           []terminal.Format
	}{
		{"plain output is examined", "plain", "", "echo '# x'", []terminal.Format{terminal.FormatText}},
		{"columns", "plain", "", "echo 'a  b'", []terminal.Format{terminal.FormatCode}},
		{"a list", "plain", "auto", "echo '- a'; echo '- b'", []terminal.Format{terminal.FormatMarkdown}},
		{"always Markdown", "plain", "markdown", "echo 'a  b'", []terminal.Format{terminal.FormatMarkdown}},
		{"always text", "plain", "text", "echo '- a'; echo '- b  c'", []terminal.Format{terminal.FormatText}},
		{"always code", "plain", "code", "echo a", []terminal.Format{terminal.FormatCode}},
		{"our own words are not code", "plain", "code", "true", []terminal.Format{terminal.FormatMarkdown}},
		{"nor is an exit code", "plain", "code", "exit 1", []terminal.Format{terminal.FormatMarkdown}},
		{"stderr with columns", "plain", "", "echo fine; " + traceback, []terminal.Format{terminal.FormatCode}},
		{"stderr alone", "plain", "", traceback + "; exit 1", []terminal.Format{terminal.FormatCode}},
		{"stderr is never Markdown", "plain", "", "printf -- '- a\\n- b\\n' >&2", []terminal.Format{terminal.FormatText}},
		{"Markdown with stderr", "plain", "", "printf -- '- a\\n- b\\n'; " + traceback, []terminal.Format{terminal.FormatMarkdown}},
		{"frames are Markdown", "rich", "", frame(object{"type": "message", "text": "a  b"}) + "echo 'c  d'", []terminal.Format{terminal.FormatMarkdown, terminal.FormatMarkdown}},
		{"unless it is configured", "rich", "auto", frame(object{"type": "message", "text": "a  b"}) + "echo c", []terminal.Format{terminal.FormatCode, terminal.FormatText}},
		{"deltas", "rich", "code", frame(object{"type": "delta", "text": "a"}) + frame(object{"type": "delta", "text": "b"}), []terminal.Format{terminal.FormatCode}},
		{"errors", "rich", "text", frame(object{"type": "error", "text": "__init__"}), []terminal.Format{terminal.FormatText}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTurnFixture(t, tc.protocol, tc.script)
			b.opts.Config.Format = tc.format
			b.run()
			frames := slices.DeleteFunc(b.frames, func(f terminal.Frame) bool { return f.Kind == terminal.Partial })
			if len(frames) != len(tc.want) {
				t.Fatalf("got frames %+v", frames)
			}
			for i, f := range frames {
				if f.Format != tc.want[i] {
					t.Errorf("%q is shown as %q, want %q", f.Text, f.Format, tc.want[i])
				}
			}
		})
	}
}

func TestFilesAreFoundInPlainOutputOfAnyFormat(t *testing.T) {
	for _, format := range []string{"auto", "text", "code"} {
		b := newTurnFixture(t, "plain", "echo \"saved:  $PWD/a.png\"")
		b.opts.Config.Format = format
		path := b.putFile("a.png", "x")
		b.run().expectFrames("done", "message: saved:  "+path+" [a.png]")
	}
}

func TestStderrIsShownAsConfigured(t *testing.T) {
	const good, bad = "echo out; echo oops >&2", "echo out; echo oops >&2; exit 3"
	for _, tc := range []struct {
		setting, script string
		status          terminal.Status
		want            string
	}{
		{"always", good, "done", "message: out\nSTDERR: oops"},
		{"always", bad, "failed", "message: out\nSTDERR: oops\nExit code: 3"},
		{"onError", good, "done", "message: out"},
		{"onError", bad, "failed", "message: out\nSTDERR: oops\nExit code: 3"},
		{"onError", "echo oops >&2", "silent", "message: (no output)"},
		{"never", good, "done", "message: out"},
		{"never", bad, "failed", "message: out\nExit code: 3"},
		{"never", "echo oops >&2; exit 3", "failed", "message: Exit code: 3"},
	} {
		t.Run(tc.setting+" "+tc.want, func(t *testing.T) {
			b := newTurnFixture(t, "plain", tc.script)
			b.opts.Config.Stderr = tc.setting
			b.run().expectFrames(tc.status, tc.want)
			if b.out.Stderr != "oops\n" {
				t.Errorf("the outcome has %q", b.out.Stderr)
			}
		})
	}
}

func TestStderrThatIsNotShownIsLogged(t *testing.T) {
	for script, level := range map[string]zapcore.Level{"echo oops >&2": zapcore.DebugLevel, "echo oops >&2; exit 3": zapcore.WarnLevel} {
		b := newTurnFixture(t, "plain", script)
		b.opts.Config.Stderr = "never"
		b.run()
		logged := b.logs.FilterMessage("agent").All()
		if len(logged) != 1 || logged[0].Level != level || logged[0].ContextMap()["text"] != "oops" {
			t.Errorf("%s: logged %v", script, logged)
		}
	}
}
