package terminal_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/fdtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestFilesAreOpenWhileTheirFrameIsEmittedAndClosedOnEveryWayOut(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		protocol, script string
		private          string
		text             string // what the person wrote
		open             int
		err              error
	}{
		"named":         {protocol: "rich", script: `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/1.png\",\"$PWD/2.png\",\"$PWD/1.png\"]}"`, open: 3},
		"found":         {protocol: "plain", script: `echo "$PWD/1.png $PWD/2.png and $PWD/./1.png"`, open: 2},
		"too many":      {protocol: "plain", script: `for i in $(seq 30); do echo "$PWD/$i.png"; done`, open: 20},
		"only repeated": {protocol: "plain", script: `echo "$PWD/1.png $PWD/2.png"`, text: "/1.png", open: 1},
		"private":       {protocol: "rich", script: `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/1.png\",\"$PWD/2.png\"]}"`, private: "2.png", open: 1},
		"no files":      {protocol: "rich", script: `: > 1.png; mkfifo f; echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD\",\"$PWD/1.png\",\"$PWD/f\",\"$PWD/gone\"]}"`},
		"not taken":     {protocol: "rich", script: `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/1.png\"]}"`, open: 1, err: refused},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTurnFixture(t, c.protocol, c.script)
			for i := range 30 {
				b.putFile(fmt.Sprintf("%d.png", i+1), "x")
			}
			if c.private != "" {
				b.opts.Private = []string{filepath.Join(b.workspace, c.private)}
			}
			if c.text != "" {
				b.req.Text = b.workspace + c.text
				b.awaitNewerFileTime()
			}
			b.emit = func(f terminal.Frame) error {
				if n := fdtest.CountOpen(t, b.workspace); n != c.open || len(f.Checked) != c.open {
					t.Errorf("%d files are open of %d that are sent, want %d: %s", n, len(f.Checked), c.open, f.Text)
				}
				return c.err
			}
			if b.run(); !errors.Is(b.err, c.err) || len(b.frames) != 1 {
				t.Fatalf("%d frames, %v", len(b.frames), b.err)
			}
			wanttest.Equal(t, "files are open after the turn:", fdtest.CountOpen(t, b.workspace), 0)
		})
	}
}

func TestFilesAreClosedWhenTheirReceiverPanics(t *testing.T) {
	b := newTurnFixture(t, "rich", `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/a.png\"]}"`)
	b.putFile("a.png", "x")
	b.emit = func(terminal.Frame) error { panic("on purpose") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		b.run()
	}()
	wanttest.Equal(t, "files are open:", fdtest.CountOpen(t, b.workspace), 0)
}

// An agent may replace a file after the check.
func TestTheOpenFileIsTheOneThatWasChecked(t *testing.T) {
	b := newTurnFixture(t, "rich", `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/a.png\"]}"`)
	path, other := b.putFile("a.png", "checked"), b.putFile("other", "other")
	b.emit = func(f terminal.Frame) error {
		if err := os.Rename(other, path); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(f.Checked[0].Open); string(got) != "checked" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		return nil
	}
	b.run().expectFrames("done", "message: t [a.png]")
}

// An agent that names thousands of files must not exhaust the gateway's file descriptors.
func TestFilesOfOneFrameAreOpenFiftyAtATime(t *testing.T) {
	var media []string
	b := newTurnFixture(t, "rich", "")
	for i := range 123 {
		media = append(media, b.putFile(fmt.Sprintf("%d.png", i), "x"))
	}
	media = append(media, filepath.Join(b.workspace, "gone.png"))
	b.opts.Config.Command = frame(object{"type": "message", "text": "look", "media": media})
	var sent []string
	b.emit = func(f terminal.Frame) error {
		if n := fdtest.CountOpen(t, b.workspace); n != len(f.Checked) {
			t.Errorf("%d files are open of %d", n, len(f.Checked))
		}
		for _, file := range f.Checked {
			sent = append(sent, file.Path)
		}
		return nil
	}
	b.run()
	var got []string
	for _, f := range b.frames {
		got = append(got, fmt.Sprintf("%d files: %s", len(f.Checked), f.Text))
	}
	want := fmt.Sprintf("50 files: look|50 files: |23 files: ⚠ %q was not sent: no such file.", media[123])
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if real, err := filepath.EvalSymlinks(b.workspace); err != nil || strings.Join(sent, " ") != strings.ReplaceAll(strings.Join(media[:123], " "), b.workspace, real) {
		t.Errorf("sent %q, %v", sent, err)
	}
	wanttest.Equal(t, "files are open after the turn:", fdtest.CountOpen(t, b.workspace), 0)
	b.opts.Config.Command = frame(object{"type": "message", "text": "look", "media": media[:100]})
	if b.run(); len(b.frames) != 2 || len(b.frames[1].Checked) != 50 {
		t.Errorf("100 files are sent in %d frames", len(b.frames))
	}
	full := errors.New("full")
	b.emit = func(terminal.Frame) error { return full }
	if b.run(); !errors.Is(b.err, full) || len(b.frames) != 1 || fdtest.CountOpen(t, b.workspace) != 0 {
		t.Errorf("%d frames, %v, %d files are open", len(b.frames), b.err, fdtest.CountOpen(t, b.workspace))
	}
}

func TestAnAgentThatIsAnotherUserSendsOnlyWhatThatUserMayRead(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only root can work for another user", err)
	}
	gid := musttest.Get(strconv.Atoi(nobody.Gid))(t)
	b := newTurnFixture(t, "rich", `echo "{\"type\":\"message\",\"text\":\"t\",\"media\":[\"$PWD/open.png\",\"$PWD/secret.png\",\"$PWD/closed/open.png\"]}"`)
	b.opts.Config.User = "nobody"
	for _, at := range []string{b.workspace, filepath.Dir(b.workspace)} {
		musttest.Do(t, errors.Join(os.Chown(at, 0, gid), os.Chmod(at, 0o775|os.ModeSticky)))
	}
	musttest.Do(t, os.Mkdir(filepath.Join(b.workspace, "closed"), 0o700))
	for name, mode := range map[string]os.FileMode{"open.png": 0o644, "secret.png": 0o600, "closed/open.png": 0o644} {
		b.putFile(name, "x")
		musttest.Do(t, os.Chmod(filepath.Join(b.workspace, name), mode))
	}
	var sent []string
	b.emit = func(f terminal.Frame) error {
		for _, file := range f.Checked {
			sent = append(sent, filepath.Base(filepath.Dir(file.Path))+"/"+filepath.Base(file.Path))
		}
		return nil
	}
	b.run()
	if want := filepath.Base(b.workspace) + "/open.png"; b.err != nil || len(sent) != 1 || sent[0] != want {
		t.Errorf("sent %q, %v", sent, b.err)
	}
}
