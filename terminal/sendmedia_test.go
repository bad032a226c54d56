package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/fdtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestOpenMediaChecksFilesByTheSameRules(t *testing.T) {
	b := newTurnFixture(t, "plain", "true")
	outside, private := t.TempDir(), filepath.Join(b.workspace, "config.json")
	b.opts.Private, b.opts.Config.MediaRoots = []string{private}, []string{b.workspace}
	owner := terminal.Owner{Agent: "default", Channel: "cli", ChatID: "local"}
	own := filepath.Join(b.workspace, "users", "local")
	for _, path := range []string{
		filepath.Join(own, "a.png"), filepath.Join(own, "sub", "b.png"), filepath.Join(b.workspace, "c.png"), private,
		filepath.Join(b.workspace, "users", "other", "d.png"), filepath.Join(outside, "e.png"),
	} {
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	musttest.Do(t, os.Symlink(filepath.Join(outside, "e.png"), filepath.Join(own, "link.png")))
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	defer r.Close()
	for _, test := range []struct{ dir, path, want string }{
		{"", filepath.Join(own, "a.png"), ""},
		{"", "c.png", ""},
		{own, "a.png", ""},
		{own, "sub/b.png", ""},
		{"relative", "c.png", ""},
		{"", "a.png", "no such file"},
		{own, "../other/d.png", "belongs to another chat"},
		{"", private, "one of the gateway's own files"},
		{"", filepath.Join(outside, "e.png"), "outside the folders"},
		{own, "link.png", "outside the folders"},
		{own, "sub", "a folder, not a file"},
	} {
		files, err := r.OpenMedia(owner, test.dir, []string{filepath.Join(b.workspace, "c.png"), test.path})
		switch {
		case test.want == "" && (err != nil || len(files) != 2 || files[1].Size != 1):
			t.Errorf("%s in %q: %v, %v", test.path, test.dir, files, err)
		case test.want != "" && (err == nil || len(files) > 0 || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path)):
			t.Errorf("%s in %q: %v, %v", test.path, test.dir, files, err)
		}
		terminal.CloseMedia(files)
	}
	if n := fdtest.CountOpen(t, b.workspace); n > 0 {
		t.Errorf("%d files are open", n)
	}
	many := make([]string, 51)
	for i := range many {
		many[i] = "c.png"
	}
	if _, err := r.OpenMedia(owner, "", many); err == nil || !strings.Contains(err.Error(), "several messages") {
		t.Errorf("too many: %v", err)
	}
}

func TestTheErrorForAFileOutsideTheWorkspaceAsksForACopy(t *testing.T) {
	b := newTurnFixture(t, "plain", "true")
	r, err := terminal.NewRunner(b.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.OpenMedia(terminal.Owner{Channel: "cli", ChatID: "local"}, "", []string{"/etc/hostname"})
	if want := "copy it into " + filepath.Join(b.workspace, "users", "local"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %v, want %s", err, want)
	}
}

func TestParseOwnerReadsTheResultOfString(t *testing.T) {
	for _, o := range []terminal.Owner{{"default", "telegram", "-100:7"}, {"", "cli", ""}, {"coder", "web", "a b:c"}} {
		if got, ok := terminal.ParseOwner(o.String()); got != o || !ok {
			t.Errorf("%+v becomes %+v, %v", o, got, ok)
		}
	}
	for _, text := range []string{"", "default", "default telegram", fmt.Sprint(7)} {
		if o, ok := terminal.ParseOwner(text); ok {
			t.Errorf("%q is %+v", text, o)
		}
	}
}
