package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

var picture = channels.File{Path: "/tmp/a b.png", Name: "a b.png", Kind: channels.Image, Size: 1234}

func TestJSONIsOneExactLineAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		in   channels.Outgoing
		want string
	}{
		"empty media and code are left out": {
			channels.Outgoing{Chat: chat, Kind: channels.Answer, Text: "hi", ReplyTo: "3"},
			`{"kind":"message","text":"hi"}`,
		},
		"nothing is escaped for HTML": {
			channels.Outgoing{Kind: channels.Answer, Text: "<b> & 'c' ⏳"},
			`{"kind":"message","text":"<b> & 'c' ⏳"}`,
		},
		"line ends stay inside the string": {
			channels.Outgoing{Kind: channels.Progress, Text: "a\nb\r\n\"c\"\x1b[2J"},
			`{"kind":"progress","text":"a\nb\r\n\"c\"\u001b[2J"}`,
		},
		"a failure has its code": {
			channels.Outgoing{Kind: channels.Failure, Text: "Error (E1): no", Code: "E1"},
			`{"kind":"error","text":"Error (E1): no","code":"E1"}`,
		},
		"files are paths, and text is there even when empty": {
			channels.Outgoing{Kind: channels.Answer, Media: []channels.File{picture, {Path: "/tmp/c.pdf"}}},
			`{"kind":"message","text":"","media":["/tmp/a b.png","/tmp/c.pdf"]}`,
		},
		"a file without a path has its name": {
			channels.Outgoing{Kind: channels.Answer, Media: []channels.File{{Name: "answer.md", Content: "x"}}},
			`{"kind":"message","text":"","media":["answer.md"]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			musttest.Do(t, (cli.JSONPrinter{Out: &out}).Show(c.in))
			if out.String() != c.want+"\n" {
				t.Errorf("got  %s\nwant %s", out.String(), c.want)
			}
		})
	}
}

func TestTextIsPrintedAsLinesWithFilesBelow(t *testing.T) {
	for name, c := range map[string]struct {
		in   channels.Outgoing
		want string
	}{
		"a text is a line":                {channels.Outgoing{Text: "hi"}, "hi\n"},
		"line ends at the end become one": {channels.Outgoing{Text: "hi\n\n"}, "hi\n"},
		"inner lines stay":                {channels.Outgoing{Text: "\n a\n\nb"}, "\n a\n\nb\n"},
		"a file is a line of its own": {
			channels.Outgoing{Text: "look", Media: []channels.File{picture}}, "look\n📎 /tmp/a b.png (image, 1.2 kB)\n",
		},
		"files need no text": {channels.Outgoing{Media: []channels.File{picture}}, "📎 /tmp/a b.png (image, 1.2 kB)\n"},
		"a file without a path has its name": {
			channels.Outgoing{Media: []channels.File{{Name: "answer.md", Kind: channels.Document, Size: 3}}},
			"📎 answer.md (document, 3 bytes)\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, progress strings.Builder
			c.in.Kind = channels.Answer
			musttest.Do(t, (cli.TextPrinter{Out: &out, Progress: &progress}).Show(c.in))
			if out.String() != c.want || progress.String() != "" {
				t.Errorf("got %q and as progress %q, want %q", out.String(), progress.String(), c.want)
			}
		})
	}
}

func TestProgressHasAnOutputOfItsOwn(t *testing.T) {
	var out, progress strings.Builder
	p := cli.TextPrinter{Out: &out, Progress: &progress}
	for _, o := range []channels.Outgoing{
		{Kind: channels.Progress, Text: "⏳ step 1"}, {Kind: channels.Answer, Text: "done"}, {Kind: channels.Failure, Text: "no"},
	} {
		musttest.Do(t, p.Show(o))
	}
	if out.String() != "done\nno\n" || progress.String() != "⏳ step 1\n" {
		t.Errorf("got %q and as progress %q", out.String(), progress.String())
	}
}

func TestAFileNameCannotCommandTheTerminal(t *testing.T) {
	for _, name := range []string{
		"\x1b[2Jcleared.png", "two\nlines.png", "over\rwritten.png", "bell\a.png", "back\b.png", "delete\x7f.png",
		"c1\u009b2J.png", "raw c1 \x9b2J.png", "title\x1b]0;owned\a.png", "reversed \u202egnp.exe", "line\u2028separator.png",
	} {
		for _, f := range []channels.File{{Path: "/tmp/" + name}, {Name: name}} {
			o := channels.Outgoing{Kind: channels.Answer, Media: []channels.File{f}}
			var text, live strings.Builder
			musttest.Do(t, errors.Join(cli.TextPrinter{Out: &text}.Show(o), (&cli.TerminalPrinter{Out: &live}).Show(o)))
			for _, out := range []string{text.String(), live.String()} {
				line, ok := strings.CutSuffix(out, "\n")
				if !ok || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
					t.Errorf("%q is printed as %q", name, out)
				}
			}
		}
	}
}

func TestAnOrdinaryFileNameIsPrintedAsItIs(t *testing.T) {
	for _, path := range []string{"/tmp/a b.png", "/tmp/größe 日本.csv", `/tmp/it's "quoted".txt`, "/tmp/👍🏽.gif"} {
		var out strings.Builder
		o := channels.Outgoing{Kind: channels.Answer, Media: []channels.File{{Path: path, Kind: channels.Image}}}
		musttest.Do(t, (cli.TextPrinter{Out: &out}).Show(o))
		wanttest.Equal(t, "got", out.String(), "📎 "+path+" (image, 0 bytes)\n")
	}
}

func TestEveryPrinterReportsThatItCannotWrite(t *testing.T) {
	width := func() int { return 80 }
	for name, p := range map[string]cli.Printer{
		"JSON": cli.JSONPrinter{Out: broken{}},
		"Text": cli.TextPrinter{Out: broken{}, Progress: broken{}},
		"Live": &cli.TerminalPrinter{Out: broken{}, Width: width},
	} {
		for _, kind := range []channels.Kind{channels.Progress, channels.Answer} {
			if err := p.Show(channels.Outgoing{Kind: kind, Text: "hello"}); !errors.Is(err, errBroken) {
				t.Errorf("%s shows %s: got %v", name, kind, err)
			}
		}
	}
}

func TestATerminalShowsBidiOverrides(t *testing.T) {
	o := channels.Outgoing{
		Kind: channels.Answer, Text: "run photo\u202egnp.exe\n\u2067open",
		Media: []channels.File{{Path: "/tmp/a\u202egnp.exe", Name: "agnp.exe", Kind: channels.Document, Size: 3}},
	}
	const want = "run photo⟨U+202E⟩gnp.exe\n\u2067open\u2069\n📎 \"/tmp/a\\u202egnp.exe\" (document, 3 bytes)\n"
	var text, live bytes.Buffer
	if err := (cli.TextPrinter{Out: &text, Progress: &text}).Show(o); err != nil || text.String() != want {
		t.Errorf("as text it is %+q, %v", text.String(), err)
	}
	screen := &cli.TerminalPrinter{Out: &live, Width: func() int { return 80 }}
	if err := screen.Show(o); err != nil || live.String() != want {
		t.Errorf("on a terminal it is %+q, %v", live.String(), err)
	}
	live.Reset()
	o.Kind = channels.Progress
	if err := screen.Show(o); err != nil || strings.ContainsRune(live.String(), '\u202e') {
		t.Errorf("progress is %+q, %v", live.String(), err)
	}
}

func TestATerminalShowsWhereALinkLeads(t *testing.T) {
	var out bytes.Buffer
	o := channels.Outgoing{Kind: channels.Answer, Text: "[https://bank.example](https://evil.example)"}
	if err := (cli.TextPrinter{Out: &out, Progress: &out}).Show(o); err != nil || out.String() != o.Text+"\n" {
		t.Errorf("it is %q, %v", out.String(), err)
	}
}

func TestDetailsAreNotPrinted(t *testing.T) {
	var out strings.Builder
	ch := cli.New(cli.Options{ChatID: "local", Printer: cli.TextPrinter{Out: &out, Progress: &out}})
	plan, err := ch.Plan(channels.Message{
		Chat: channels.Chat{Channel: cli.Name, ID: "local"}, Kind: channels.Progress, Text: "✓ 20 steps", Details: "- ls\n- make", DetailsPress: "/details 1",
	})
	if err != nil || len(plan) != 1 {
		t.Fatalf("planned is %+v, %v", plan, err)
	}
	if _, err := ch.Send(t.Context(), plan[0]); err != nil || out.String() != "✓ 20 steps\n" {
		t.Errorf("printed is %q, %v", out.String(), err)
	}
}

func TestKindsOfFilesAreInThePersonsLanguage(t *testing.T) {
	german := (*words.Catalogue)(nil).For("de")
	var out strings.Builder
	file := channels.Outgoing{Kind: channels.Answer, Media: []channels.File{picture}}
	musttest.Do(t, (cli.TextPrinter{Out: &out, Words: german}).Show(file))
	const want = "📎 /tmp/a b.png (Bild, 1.2 kB)\n"
	if onTerminal := printAll(t, &cli.TerminalPrinter{Words: german}, file); out.String() != want || onTerminal != want {
		t.Errorf("got %q, and on a terminal %q", out.String(), onTerminal)
	}
}
