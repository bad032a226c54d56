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

	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/media"
)

// awaitNewerFileTime waits until files written from now on have a later time than earlier ones.
func (b *turnFixture) awaitNewerFileTime() {
	b.t.Helper()
	first := b.fileSystemTime()
	for b.fileSystemTime().Sub(first) < media.ClockGranularity+time.Millisecond {
	}
}

// fileSystemTime returns the time that a file written now gets.
func (b *turnFixture) fileSystemTime() time.Time {
	b.t.Helper()
	probe := b.putFile(".clock", "x")
	info, err := os.Stat(probe)
	if err != nil || os.Remove(probe) != nil {
		b.t.Fatal(err)
	}
	return info.ModTime()
}

// spellings returns texts that contain the path of a file, each in another spelling.
func spellings(t *testing.T, b *turnFixture, path string) map[string]string {
	t.Helper()
	link := filepath.Join(b.workspace, "link.png")
	musttest.Do(t, os.Symlink(path, link))
	musttest.Do(t, os.Symlink(filepath.Dir(path), filepath.Join(b.workspace, "way")))
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
	b := newTurnFixture(t, "plain", "")
	musttest.Do(t, os.Mkdir(filepath.Join(b.workspace, "sub"), 0o700))
	path := b.putFile("sub/old.png", "x")
	texts := spellings(t, b, path)
	b.awaitNewerFileTime()
	b.opts.Environ = append(b.opts.Environ, "HOME="+b.workspace)
	b.opts.Config.Command = "echo " + path
	b.req.Text = "hello"
	if b.run(); fileNames(b.frames[0].Checked) != "old.png" {
		t.Fatalf("not typed, and not found either: %+v", b.frames)
	}
	for name, text := range texts {
		b.req.Text, b.req.ReplyTo, b.req.History, b.chat.Texts = text, nil, nil, nil
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
	b.req.History, b.chat.Texts = nil, []string{path[:3], path[3:]}
	b.run().expectFrames("done", "message: "+path)
	for _, u := range []terminal.User{{Name: path}, {Username: path}, {ID: path}} {
		b.req.Text, b.chat.Texts, b.req.User = "hello", nil, &u
		b.run().expectFrames("done", "message: "+path)
	}
	b.req.User = nil
	b.chat.Texts = []string{"and " + path}
	b.run().expectFrames("done", "message: "+path)
}

func TestAnAnswerToAQuestionIsTheUsersOwnText(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	path := b.putFile("old.png", "x")
	b.awaitNewerFileTime()
	b.opts.Config.Interactive = true
	b.opts.Config.Command = `echo '{"type":"ask","id":"1","text":"which?"}'; read -r envelope; read -r answer; echo ` + path
	for _, c := range []struct{ answer, want string }{{"the newest", " [old.png]"}, {"that is " + path, ""}} {
		b.chat.OnAsk = func(context.Context, terminal.Question) (terminal.Answer, error) {
			return terminal.Answer{Text: c.answer}, nil
		}
		b.run().expectFrames("done", "message: "+path+c.want)
	}
}

func TestAFileWrittenDuringTheTurnIsFoundThoughItsPathWasTyped(t *testing.T) {
	b := newTurnFixture(t, "plain", "")
	path := b.putFile("out.png", "old")
	old := b.putFile("old.png", "x")
	b.awaitNewerFileTime()
	b.req.Text = fmt.Sprintf("draw it to %s, or from %s", path, old)
	for _, script := range []string{"echo new > %[1]s", "rm -f %[1]s; cp -p %[2]s %[1]s", "mv %[1]s x && mv x %[1]s"} {
		b.opts.Config.Command = fmt.Sprintf(script+"; echo made %[1]s of %[2]s", path, old)
		b.run().expectFrames("done", "message: made "+path+" of "+old+" [out.png]")
	}
}

// A file name alone is no path: a person who asks for a file by its name gets it.
func TestAFileThatWasAskedForByNameIsFound(t *testing.T) {
	b := newTurnFixture(t, "plain", "echo $PWD/report.pdf")
	b.putFile("report.pdf", "x")
	b.awaitNewerFileTime()
	b.req.Text = "send me report.pdf"
	b.run().expectFrames("done", "message: "+b.workspace+"/report.pdf [report.pdf]")
}

// An agent that names a file on purpose has decided to send it.
func TestAFileInAFrameIsSentThoughItsPathWasTyped(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	path := b.putFile("a.png", "x")
	b.awaitNewerFileTime()
	b.req.Text = path
	b.opts.Config.Command = frame(object{"type": "message", "text": "here", "media": []string{path}})
	b.run().expectFrames("done", "message: here [a.png]")
}

// With more paths in the texts than maxCandidates, every file from before the turn counts as only
// repeated, and the check stays fast.
func TestATextFullOfPathsHidesNoRepeatedPath(t *testing.T) {
	b := newTurnFixture(t, "plain", "")
	path := b.putFile("old.png", "x")
	link := filepath.Join(b.workspace, "link.png")
	musttest.Do(t, os.Symlink(path, link))
	b.awaitNewerFileTime()
	b.opts.Config.Command = "echo " + path
	for _, decoy := range []string{"/a/b/c.png ", "x/y ", "/a.png/", "/a.png\n"} {
		b.req.Text = strings.Repeat(decoy, 1<<18/len(decoy)) + " " + link
		b.run().expectFrames("done", "message: "+path)
	}
}

// An agent that normalizes its input may print a path in another Unicode form than the person
// wrote.
func TestAPathIsRecognizedInAnyUnicodeForm(t *testing.T) {
	b := newTurnFixture(t, "plain", "")
	path := b.putFile(norm.NFC.String("caf\u00e9.png"), "x")
	b.awaitNewerFileTime()
	b.opts.Config.Command = "echo " + path
	for _, text := range []string{norm.NFC.String(path), norm.NFD.String(path), strings.ReplaceAll(path, "\u00e9", "%C3%A9"), strings.ReplaceAll(path, "\u00e9", "&eacute;")} {
		b.req.Text = text
		b.run().expectFrames("done", "message: "+path)
	}
}

// Archives and wrong clocks produce files with modification times in the future.
func TestAFileFromTheFutureIsNotWrittenDuringTheTurn(t *testing.T) {
	b := newTurnFixture(t, "plain", "")
	path := b.putFile("old.png", "x")
	future := time.Now().Add(24 * time.Hour)
	musttest.Do(t, os.Chtimes(path, future, future))
	b.awaitNewerFileTime()
	b.req.Text = path
	b.opts.Config.Command = "echo " + path
	b.run().expectFrames("done", "message: "+path)
}
