package terminal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

func TestMediaNamedInPlainTextAreSentOnceAndBounded(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo \"made '$PWD/a b.png' and ($PWD/c.pdf), again $PWD/c.pdf; /tmp/not-there.png\"")
	b.putFile("a b.png", "x")
	b.putFile("c.pdf", "x")
	b.run()
	wanttest.Equal(t, "got", fileNames(b.frames[0].Checked), "a b.png c.pdf")
	if strings.Contains(b.frames[0].Text, "not sent") {
		t.Errorf("text that only looks like a path is no mistake: %s", b.frames[0].Text)
	}

	b = newTurnFixture(t, "plain", "for i in $(seq 100); do echo $PWD/$i.png; done")
	for i := range 100 {
		b.putFile(fmt.Sprintf("%d.png", i+1), "x")
	}
	b.run()
	if n := len(b.frames[0].Checked); n != 20 || !strings.HasSuffix(b.frames[0].Text, "⚠ 80 more files were not sent: of the files that a text names, 20 at most are sent.") {
		t.Errorf("%d files, %s", n, b.frames[0].Text)
	}
}

func TestMediaInPlainLinesOfARichAgentAreFound(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "m"})+"echo $PWD/a.png")
	path := b.putFile("a.png", "x")
	b.run().expectFrames("done", "message: m", "message: "+path+" [a.png]")
}

func fileNames(files []terminal.File) string {
	var out []string
	for _, f := range files {
		out = append(out, filepath.Base(f.Path))
	}
	return strings.Join(out, " ")
}

func TestRefusedMediaAreNamedWithTheReason(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	outside := t.TempDir() // neither the workspace nor the configured root
	b.opts.Config.MediaRoots = []string{b.workspace}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	good := b.putFile("good.png", "x")
	must(os.WriteFile(filepath.Join(outside, "o.png"), []byte("x"), 0o600))
	must(os.Symlink(filepath.Join(outside, "o.png"), filepath.Join(b.workspace, "link.png")))
	must(os.Symlink(good, filepath.Join(b.workspace, "inside.png")))
	must(os.Mkdir(filepath.Join(b.workspace, "dir.png"), 0o700))
	must(syscall.Mkfifo(filepath.Join(b.workspace, "fifo.png"), 0o600))
	b.putFile("empty.png", "")
	b.opts.Private = []string{b.putFile("config.json", "{}")}
	must(os.Link(b.opts.Private[0], filepath.Join(b.workspace, "hard.png")))
	if os.Getuid() == 0 {
		must(syscall.Mknod(filepath.Join(b.workspace, "device.png"), syscall.S_IFCHR|0o600, 1<<8|3))
	} else {
		must(syscall.Mkfifo(filepath.Join(b.workspace, "device.png"), 0o600))
	}
	const outsideWhy = "outside the folders that files may be sent from (mediaRoots)"
	for path, why := range map[string]string{
		filepath.Join(b.workspace, "none.png"):    "no such file",
		filepath.Join(b.workspace, "dir.png"):     "a folder, not a file",
		filepath.Join(b.workspace, "fifo.png"):    "not a regular file",
		filepath.Join(b.workspace, "empty.png"):   "the file is empty",
		filepath.Join(b.workspace, "link.png"):    outsideWhy,
		filepath.Join(outside, "o.png"):           outsideWhy,
		filepath.Join(b.workspace, "device.png"):  "not a regular file",
		filepath.Join(b.workspace, "hard.png"):    "one of the gateway's own files",
		filepath.Join(b.workspace, "config.json"): "one of the gateway's own files",
		"/dev/null":                outsideWhy,
		"":                         "not an absolute path",
		b.workspace + "/x\x00.png": "invalid argument",
		b.workspace + "/" + strings.Repeat("x", 300): "file name too long",
	} {
		b.opts.Config.Command = frame(object{"type": "message", "text": "look", "media": []string{path, good}})
		b.run().expectFrames("done", fmt.Sprintf("message: look\n⚠ %q was not sent: %s. [good.png]", path, why))
	}
	inside := filepath.Join(b.workspace, "inside.png")
	b.opts.Config.Command = frame(object{"type": "message", "text": "", "media": []string{inside}})
	b.run().expectFrames("done", "message:  [good.png]")
}

func TestRelativePathsInFramesStartInTheWorkingDirectory(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	b.putFile("good.png", "x")
	outside := t.TempDir()
	sub := filepath.Join(b.workspace, "sub")
	for _, err := range []error{
		os.Mkdir(sub, 0o700), os.WriteFile(filepath.Join(sub, "deep.png"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(outside, "o.png"), []byte("x"), 0o600), os.Symlink(outside, filepath.Join(sub, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.opts.Config.MediaRoots = []string{b.workspace}
	up := musttest.Get(filepath.Rel(b.workspace, filepath.Join(outside, "o.png")))(t)
	refused := func(path string) string {
		return fmt.Sprintf("⚠ %q was not sent: outside the folders that files may be sent from (mediaRoots).", path)
	}
	for _, tc := range []struct{ cwd, path, want string }{
		{"", "good.png", " [good.png]"},
		{"", "./sub/deep.png", " [deep.png]"},
		{"", "sub/../good.png", " [good.png]"},
		{sub, "deep.png", " [deep.png]"},
		{sub, "../good.png", " [good.png]"},
		{"", "deep.png", fmt.Sprintf("⚠ %q was not sent: no such file.", filepath.Join(b.workspace, "deep.png"))},
		{"", up, refused(filepath.Join(outside, "o.png"))},
		{sub, "link/o.png", refused(filepath.Join(sub, "link/o.png"))},
	} {
		b.opts.Config.Cwd = tc.cwd
		b.opts.Config.Command = frame(object{"type": "message", "text": "", "media": []string{tc.path}})
		b.run().expectFrames("done", "message: "+tc.want)
	}
}

func TestRefusalsHideFoldersIfInternalsAreHidden(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "", "media": []string{"/secret/place/x.png"}}))
	b.opts.Config.RevealErrors.All = false
	b.run().expectFrames("done", `message: ⚠ "x.png" was not sent: no such file.`)
}

func TestRefusalsOfFilesAreInTheLanguageOfTheChat(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "", "media": []string{"/none.png"}}))
	b.opts.Config.RevealErrors.All = false
	b.req.Words = (*words.Catalogue)(nil).For("de")
	b.run().expectFrames("done", `message: ⚠ "none.png" wurde nicht gesendet: die Datei gibt es nicht.`)
}

func TestManyRefusalsAreSummarized(t *testing.T) {
	var media []string
	for i := range 50 {
		media = append(media, fmt.Sprintf("/none/%d.png", i))
	}
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "", "media": media})).run()
	if text := b.frames[0].Text; !strings.HasSuffix(text, "⚠ and 45 more were not sent.") {
		t.Error(text)
	}
}

func TestMediaWithOddNamesArrive(t *testing.T) {
	for _, name := range []string{"a b.png", `quo"te's.png`, "new\nline.png", "日本.png", "-dash.png", "$(id).png", "no-extension"} {
		b := newTurnFixture(t, "rich", "")
		path := b.putFile(name, "x")
		b.opts.Config.Command = frame(object{"type": "message", "text": "t", "media": []string{path}})
		if b.run(); len(b.frames[0].Checked) != 1 || filepath.Base(b.frames[0].Checked[0].Path) != name || b.frames[0].Text != "t" {
			t.Errorf("%q: %+v", name, b.frames)
		}
	}
}

// TestUnreadableMediaAreRefused runs itself as the user nobody if it is root, since root may read
// every file.
func TestUnreadableMediaAreRefused(t *testing.T) {
	if os.Getuid() == 0 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnreadableMediaAreRefused$")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		tmp := musttest.Get(os.MkdirTemp("", "nobody"))(t)
		defer os.RemoveAll(tmp)
		self := filepath.Join(tmp, "test")
		if b, err := os.ReadFile(os.Args[0]); err != nil || os.WriteFile(self, b, 0o755) != nil || os.Chmod(tmp, 0o777) != nil {
			t.Fatal("copy the test binary to where nobody can run it")
		}
		cmd.Path, cmd.Dir, cmd.Env = self, tmp, append(os.Environ(), "TMPDIR="+tmp)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("as nobody: %v\n%s", err, out)
		}
		return
	}
	b := newTurnFixture(t, "rich", "")
	path := b.putFile("locked.png", "x")
	musttest.Do(t, os.Chmod(path, 0))
	b.opts.Config.Command = frame(object{"type": "message", "text": "t", "media": []string{path}})
	b.run().expectFrames("done", fmt.Sprintf("message: t\n⚠ %q was not sent: not readable.", path))
}
