package cassette_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/fuzztest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

const (
	head   = `{"type":"cassette","version":1,"agent":"default","protocol":"rich","config":{"interactive":true,"pass_media":true},"nanobot":"dev"}` + "\n"
	letter = `{"at":0,"type":"envelope","envelope":{"version":1,"text":"hi","channel":"c","chat_id":"1"}}` + "\n"
)

func TestAMistakeInACassetteIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "a:1: it is empty",
		"hello\n":                  "a:1: it is no cassette: ",
		`{"type":"frame"}` + "\n":  `a:1: it is no cassette: the first line must have "type":"cassette"`,
		`{"type":"cassette","ver`:  "a:1: it is no cassette: ",
		`{"type":"cassette"}`:      "a:1: version 0 is unknown",
		head + "\n" + "{]\n":       "a:3: it is no line of a cassette: ",
		head + `{"type":"frame"}`:  `a:2: a line of type frame needs a "frame" with its content`,
		head + `{"type":"framed"}`: `a:2: type "framed" is unknown`,
		head + letter + `{"type":"inject","inject":{}}`:                                              "a:3: an inject needs a text or media",
		head + letter + `{"type":"answer","answer":{"number":1}}`:                                    "a:3: there is no question 1 before its answer",
		head + `{"type":"frame","frame":{"type":"message"},"files":[{"sha256":"../../etc/passwd"}]}`: "a:2: sha256 of",
		head + `{"type":"frame","frame":{"text":"x"}}`:                                               `a:2: a line of type frame needs a "frame"`,
		head + strings.Repeat("x", 64<<20+1):                                                         "a:2: the line is longer than 64 MiB",
	} {
		_, err := cassette.Parse("a", strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %s", text, err, want)
		}
	}
}

func TestACassetteThatWasCutOffIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	whole := head + letter + `{"at":7,"type":"frame","frame":{"type":"message","text":"a"}}` + "\n"
	for i := len(head + letter); i < len(whole); i++ {
		c, err := cassette.Parse("a", strings.NewReader(whole[:i]))
		if err != nil {
			t.Fatalf("%q: %v", whole[:i], err)
		}
		complete := i == len(whole)-1
		if lines := len(c.Lines); c.Cut == complete && i > len(head+letter) || (lines == 2) != complete {
			t.Fatalf("%q: cut %v, %d lines", whole[:i], c.Cut, lines)
		}
	}
}

func TestOnlyARegularFileIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	musttest.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, dir} {
		if _, err := cassette.Read(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFileOfACassetteIsCopiedOnlyIfItIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "photo.jpg")
	musttest.Do(t, os.WriteFile(path, []byte("photo"), 0o600))
	open := musttest.Get(os.Open(path))(t)
	defer open.Close()
	musttest.Get(open.Seek(3, 0))(t)
	tape := filepath.Join(dir, "a"+cassette.Suffix)
	var out bytes.Buffer
	w := cassette.NewWriter(cassette.WriterOptions{Out: &out, Header: &cassette.Header{}, FilesDir: cassette.FilesDir(tape)})
	w.Envelope(terminal.Envelope{Media: []string{path, filepath.Join(dir, "gone")}})
	w.Frame(terminal.Frame{Kind: terminal.Message, Checked: []terminal.File{{Path: path, Open: open}}})
	musttest.Do(t, w.Err())
	wanttest.Equal(t, "the offset of the file is", musttest.Get(open.Seek(0, 1))(t), 3)
	c := musttest.Get(cassette.Parse(tape, &out))(t)
	file := c.Lines[0].Files[0]
	if file != c.Lines[1].Files[0] || file.Size != 5 || c.Lines[0].Files[1].SHA256 != "" {
		t.Errorf("got %+v", c.Lines)
	}
	copied := musttest.Get(c.CopyFile(file, t.TempDir()))(t)
	if content := musttest.Get(os.ReadFile(copied))(t); string(content) != "photo" || filepath.Base(copied) != "photo.jpg" {
		t.Errorf("%s has %q", copied, content)
	}
	kept := filepath.Join(cassette.FilesDir(tape), file.SHA256)
	wanttest.Equal(t, "the mode is", musttest.Get(os.Stat(kept))(t).Mode().Perm(), 0o600)
	wanttest.Equal(t, "the mode of the folder is", musttest.Get(os.Stat(filepath.Dir(kept)))(t).Mode().Perm(), 0o700)
	musttest.Do(t, os.WriteFile(kept, []byte("another"), 0o600))
	if _, err := c.CopyFile(file, t.TempDir()); err == nil || !strings.Contains(err.Error(), "another hash") {
		t.Errorf("a changed file: %v", err)
	}
	musttest.Do(t, os.Remove(kept))
	if _, err := c.CopyFile(file, t.TempDir()); err == nil || !strings.Contains(err.Error(), "copy "+path+" from where the turn was recorded to "+kept) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := c.CopyFile(cassette.File{Path: "/x/..", SHA256: file.SHA256}, t.TempDir()); err == nil {
		t.Error("a file got a name that is a folder")
	}
}

// lineCounter accepts a number of lines, each by one Write.
type lineCounter struct {
	t    *testing.T
	left int
}

func (c *lineCounter) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
		c.t.Errorf("written at once: %q", p)
	}
	if c.left--; c.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestTheFirstErrorEndsTheRecordingAndIsReportedOnce(t *testing.T) {
	t.Parallel()
	var reported []string
	out := &lineCounter{t, 2}
	w := cassette.NewWriter(cassette.WriterOptions{
		Out: out, Header: &cassette.Header{}, OnError: func(err error) { reported = append(reported, err.Error()) },
	})
	for range 5 {
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "a\nb"})
	}
	w.Exit(terminal.Outcome{}, nil)
	wanttest.EqualSlices(t, "reported were", reported, []string{"record turn: disk full"})
	wanttest.Equal(t, "lines that were written or tried:", 2-out.left, 3)
}

func FuzzRead(f *testing.F) {
	seeds := []string{
		head, head + letter, head + letter + `{"at":1,"type":"frame","frame":{"type":"message","text":"a","media":["/x"]},"files":[{"path":"/x","size":1}]}`,
		head + letter + `{"type":"ask","ask":{"number":1,"text":"?","options":["a"]}}` + "\n" + `{"type":"answer","answer":{"number":1,"text":"a","option":1}}`,
		head + letter + `{"type":"inject","inject":{"text":"more"}}` + "\n" + `{"type":"exit","exit":{"status":"done","code":0,"stderr":"x"}}`,
		head + letter + `{"type":"frame","frame":{"type":"partial","text":"ab"}}` + "\n" + `{"type":"frame","frame":{"type":"error","text":"Error (E): x\ny","appended":"y"}}`,
	}
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 1500)...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := cassette.Parse("a", bytes.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "a:") {
				t.Errorf("the error has no line: %v", err)
			}
			return
		}
		var out, stderr bytes.Buffer
		p := cassette.Player{In: strings.NewReader("{}\n"), Out: &out, Err: &stderr}
		for _, l := range c.Lines {
			if len(l.Files) > 0 {
				return // they may be any path
			}
		}
		_, _ = p.Play(c)
		r := cassette.NewRedactor(nil, "secret", "a")
		if once := r.Text(string(text)); len(once) > 20*len(text)+100 {
			t.Errorf("%q became %q", text, once)
		}
	})
}
