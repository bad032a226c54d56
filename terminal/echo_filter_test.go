package terminal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"nanobot/terminal"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settle waits until what is written from now on is clearly newer than all that was written before.
func (b *turnRig) settle() {
	b.t.Helper()
	first := b.clock()
	for b.clock().Sub(first) < terminal.ClockGranularity+time.Millisecond {
	}
}

// clock is the file system's.
func (b *turnRig) clock() time.Time {
	b.t.Helper()
	probe := b.write(".clock", "x")
	info, err := os.Stat(probe)
	if err != nil || os.Remove(probe) != nil {
		b.t.Fatal(err)
	}
	return info.ModTime()
}

// spellings are texts that have the path of a file in them.
func spellings(t *testing.T, b *turnRig, path string) map[string]string {
	t.Helper()
	link := filepath.Join(b.workspace, "link.png")
	must(t, os.Symlink(path, link))
	must(t, os.Symlink(filepath.Dir(path), filepath.Join(b.workspace, "way")))
	name := filepath.Base(path)
	return map[string]string{
		"bare":                  path,
		"in a sentence":         "please show " + path + ", would you?",
		"quoted":                `"` + path + `"`,
		"as a URL":              "file://" + path,
		"as a link of Markdown": "![x](" + path + ")",
		"with dots":             filepath.Dir(path) + "/./x/../" + name,
		"by a link":             link,
		"by a folder's link":    b.workspace + "/way/" + name,
		"behind a word":         "x" + path,
		"relative":              "sub/" + name,
		"relative with a dot":   "./sub/" + name,
		"in the home folder":    "~/sub/" + name,
		"in capitals":           strings.ToUpper(path),
		"with escapes":          strings.ReplaceAll(path, "old", `\old`),
		"encoded slashes":       strings.ReplaceAll(path, "/", "%2F"),
		"encoded references":    strings.ReplaceAll(path, "/", "&#47;"),
		"decomposed":            norm.NFD.String(path),
		"composed":              norm.NFC.String(path),
		"with dots at the end":  path + "...",
		"encoded":               "file://" + strings.ReplaceAll(path, "old", "%6Fld"),
		"in the second line":    "look\n" + path + "\nat it",
		"cut short":             strings.TrimSuffix(path, ".png") + ".PNG",
		"behind many others":    strings.Repeat("/a/b/c/d/e.png ", 3000) + path,
	}
}

func TestAPathInTheUsersOwnTextIsNotSent(t *testing.T) {
	b := newTurnRig(t, "plain", "")
	must(t, os.Mkdir(filepath.Join(b.workspace, "sub"), 0o700))
	path := b.write("sub/old.png", "x")
	texts := spellings(t, b, path)
	b.settle()
	b.opts.Environ = append(b.opts.Environ, "HOME="+b.workspace)
	b.opts.Config.Command = "echo " + path
	b.req.Text = "hello"
	if b.run(); names(b.frames[0].Checked) != "old.png" {
		t.Fatalf("not typed, and not found either: %+v", b.frames)
	}
	for name, text := range texts {
		b.req.Text, b.req.ReplyTo, b.req.History, b.req.PersonTexts = text, nil, nil, nil
		b.run().expectFrames("done", "message: "+path)
		if t.Failed() {
			t.Fatal("typed ", name)
		}
		b.req.Text, b.req.ReplyTo = "show it", &terminal.Quote{Text: text}
		if b.run(); len(b.frames[0].Checked) > 0 {
			t.Errorf("quoted %s: %+v", name, b.frames)
		}
	}
	b.req.Text, b.req.ReplyTo, b.req.History = "hello", nil, []terminal.HistoryEntry{{Role: "user", Text: path}}
	b.run().expectFrames("done", "message: "+path)
	b.req.History, b.req.PersonTexts = nil, func() []string { return []string{path[:3], path[3:]} }
	b.run().expectFrames("done", "message: "+path)
	for _, u := range []terminal.User{{Name: path}, {Username: path}, {ID: path}} {
		b.req.Text, b.req.PersonTexts, b.req.User = "hello", nil, &u
		b.run().expectFrames("done", "message: "+path)
	}
	b.req.User = nil
	b.req.PersonTexts = func() []string { return []string{"and " + path} }
	b.run().expectFrames("done", "message: "+path)
}

func TestAnAnswerToAQuestionIsTheUsersOwnText(t *testing.T) {
	b := newTurnRig(t, "rich", "")
	path := b.write("old.png", "x")
	b.settle()
	b.opts.Config.Interactive = true
	b.opts.Config.Command = `echo '{"type":"ask","id":"1","text":"which?"}'; read -r envelope; read -r answer; echo ` + path
	for _, c := range []struct{ answer, want string }{{"the newest", " [old.png]"}, {"that is " + path, ""}} {
		b.req.Ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
			return terminal.Answer{Text: c.answer}, nil
		}
		b.run().expectFrames("done", "message: "+path+c.want)
	}
}

func TestAFileWrittenDuringTheTurnIsFoundThoughItsPathWasTyped(t *testing.T) {
	b := newTurnRig(t, "plain", "")
	path := b.write("out.png", "old")
	old := b.write("old.png", "x")
	b.settle()
	b.req.Text = fmt.Sprintf("draw it to %s, or from %s", path, old)
	for _, script := range []string{"echo new > %[1]s", "rm -f %[1]s; cp -p %[2]s %[1]s", "mv %[1]s x && mv x %[1]s"} {
		b.opts.Config.Command = fmt.Sprintf(script+"; echo made %[1]s of %[2]s", path, old)
		b.run().expectFrames("done", "message: made "+path+" of "+old+" [out.png]")
	}
}

// A name alone is no path: who asks for a file by its name is to get it.
func TestAFileThatWasAskedForByNameIsFound(t *testing.T) {
	b := newTurnRig(t, "plain", "echo $PWD/report.pdf")
	b.write("report.pdf", "x")
	b.settle()
	b.req.Text = "send me report.pdf"
	b.run().expectFrames("done", "message: "+b.workspace+"/report.pdf [report.pdf]")
}

// An agent that names a file on purpose has decided to send it.
func TestAFileInAFrameIsSentThoughItsPathWasTyped(t *testing.T) {
	b := newTurnRig(t, "rich", "")
	path := b.write("a.png", "x")
	b.settle()
	b.req.Text = path
	b.opts.Config.Command = frame(m{"type": "message", "text": "here", "media": []string{path}})
	b.run().expectFrames("done", "message: here [a.png]")
}

// Somebody may write more paths than anybody looks at: then nothing that was there before counts as
// found, and it takes no time.
func TestATextFullOfPathsHidesNone(t *testing.T) {
	b := newTurnRig(t, "plain", "")
	path := b.write("old.png", "x")
	link := filepath.Join(b.workspace, "link.png")
	must(t, os.Symlink(path, link))
	b.settle()
	b.opts.Config.Command = "echo " + path
	for _, decoy := range []string{"/a/b/c.png ", "x/y ", "/a.png/", "/a.png\n"} {
		b.req.Text = strings.Repeat(decoy, 1<<18/len(decoy)) + " " + link
		b.run().expectFrames("done", "message: "+path)
	}
}

// A path with letters that Unicode writes in two ways is the same path to an agent that normalises
// its input.
func TestAPathIsRecognizedInAnyUnicodeForm(t *testing.T) {
	b := newTurnRig(t, "plain", "")
	path := b.write(norm.NFC.String("caf\u00e9.png"), "x")
	b.settle()
	b.opts.Config.Command = "echo " + path
	for _, text := range []string{norm.NFC.String(path), norm.NFD.String(path), strings.ReplaceAll(path, "\u00e9", "%C3%A9"), strings.ReplaceAll(path, "\u00e9", "&eacute;")} {
		b.req.Text = text
		b.run().expectFrames("done", "message: "+path)
	}
}

// Archives and clocks that were wrong leave files with times in the future.
func TestAFileFromTheFutureIsNotWrittenDuringTheTurn(t *testing.T) {
	b := newTurnRig(t, "plain", "")
	path := b.write("old.png", "x")
	future := time.Now().Add(24 * time.Hour)
	must(t, os.Chtimes(path, future, future))
	b.settle()
	b.req.Text = path
	b.opts.Config.Command = "echo " + path
	b.run().expectFrames("done", "message: "+path)
}
