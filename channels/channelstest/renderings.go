package channelstest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

// rendering is a message whose plan is compared with a golden file.
type rendering struct {
	name    string
	message channels.Message
}

// renderings returns what every channel plans. The names are the names of the golden files.
func renderings() []rendering {
	return []rendering{
		{"plain", textMessage("Plain text, two lines.\nThe second one.")},
		{"paragraphs", textMessage("One.\n\nTwo.\n\n\n\nThree after more blank lines.  \nA hard break.")},
		{"bold-italic", textMessage("**bold** __bold__ *italic* _italic_ ***both*** **bold with *italic* in it** snake_case_name 2*3*4")},
		{"strike-spoiler", textMessage("~~gone~~ ~one~ ||hidden|| and || neither")},
		{"code-span", textMessage("`code` ``with ` tick`` `a | b` and an `unclosed one")},
		{"code-block", textMessage("Before.\n\n```go\nfunc main() {\n\tprintln(\"<&>\")\n}\n```\n\nAfter.\n\n```\nno language\n```")},
		{"code-indented", textMessage("Before.\n\n    indented code\n    second line\n\nAfter.\n\n~~~sh\ntildes\n~~~")},
		{"code-unclosed", textMessage("Before.\n\n```python\nprint(1)\nprint(2)")},
		{"headings", textMessage("# One\n\n## Two\n\n### Three\n\n#### Four\n\nSetext\n======\n\nText\n\n#no heading")},
		{"lists", textMessage("- one\n- two\n  - deep\n    - deeper\n\n1. first\n2. second\n   continued\n\n7) seven\n8) eight\n\n* star\n+ plus")},
		{"task-list", textMessage("- [ ] open\n- [x] done")},
		{"quote", textMessage("> quoted **bold**\n> second line\n>\n> > nested\n\nAfter.")},
		{"rule", textMessage("Above.\n\n---\n\nBelow.\n\n***")},
		{"table", textMessage("| name | count | note |\n| :--- | ---: | :---: |\n| apples | 10 | *fresh* |\n| `pears` | 2 | a \\| b |\n| wide 日本 | 3 | 👍 |\n\nAfter.")},
		{"table-wide", textMessage("| a | b |\n| --- | --- |\n| " + strings.Repeat("long cell ", 20) + " | " + strings.Repeat("another ", 20) + " |")},
		{"links", textMessage("[text](https://example.org/) <https://example.org/auto> https://example.org/bare [title](https://example.org/ \"Title\") [ref][r] ![picture](https://example.org/a.png)\n\n[r]: https://example.org/ref")},
		{"links-disguised", textMessage("[https://bank.example](https://evil.example/login) [bank.example](http://evil.example) [good.example](https://good.example/path)")},
		{"links-refused", textMessage("[run](javascript:alert(1)) [file](file:///etc/passwd) [mail](mailto:ada@example.org) [tg](tg://user?id=1)")},
		{"html", textMessage("<b>bold</b> &amp; &lt;tag&gt; <script>alert(1)</script> <!-- comment -->\n\n<div>block</div>")},
		{"escapes", textMessage(`\*not bold\* \_ \` + "`" + ` \[no link\](x) \# 1\. C:\path 5 \\ 6`)},
		{"mentions", textMessage("@everyone @here <@4200000000000000042> <#123> <@&456> @nano_test_bot /stop #tag :smile: <:name:789>")},
		{"markdown-broken", textMessage("**bold without end\n\n*a **b* c** [text](https://example.org\n\n``` fence on one line ```")},
		{"bidirectional", textMessage("abc \u202edcba\u202c \u2066isolated\u2069 \u200fmark\u200e \u202aleft unclosed")},
		{"invisible", textMessage("zero\u200bwidth so\u00adft nul\x00 bell\x07 \x1b[31mred\x1b[0m tab\tend \ufeff")},
		{"invalid-utf8", textMessage("before \xff\xfe after \xe2\x82")},
		{"emoji", textMessage("👨‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ 1️⃣ e\u0301 **👩‍💻 bold**")},
		{"blank", textMessage(" \n\t\n ")},
		{"split-paragraphs", textMessage(repeatNumbered(120, "Paragraph %d has some **bold** words and ends here.\n\n"))},
		{"split-code", textMessage("Before.\n\n```go\n" + repeatNumbered(300, "\tline%d()\n") + "```\n\nAfter.")},
		{"split-table", textMessage("| name | value |\n| --- | --- |\n" + repeatNumbered(180, "| row %d | *value* |\n"))},
		{"split-list", textMessage(repeatNumbered(200, "- item %d of a long list\n"))},
		{"split-unbroken", textMessage(strings.Repeat("0123456789abcdef", 320))},
		{"split-emoji", textMessage("x" + strings.Repeat("👨‍👩‍👧‍👦", 420))},
		{"split-link", textMessage(strings.Repeat("a", 1985) + " [a link over the seam](https://example.org/" + strings.Repeat("p", 40) + ") " + strings.Repeat("b ", 1100))},
		{"document", textMessage("# Report\n\n" + repeatNumbered(1600, "Line %d of an answer that is too long for a few messages.\n"))},
		{"document-plain", textMessage(repeatNumbered(1600, "line %d of plain text that is too long for a few messages.\n"))},
		{"image", mediaMessage("A *caption*.", "a.png")},
		{"album", mediaMessage("The album.", "a.png", "b.jpg", "c.mp4")},
		{"albums-in-tens", mediaMessage("Many.", numberedNames(23, "%02d.png")...)},
		{"files-of-every-kind", mediaMessage("All kinds.", "a.png", "notes.txt", "song.mp3", "voice.ogg", "b.gif", "film.mp4", "film.mkv", "c.webp", "sound.wav", "paper.pdf")},
		{"files-without-text", mediaMessage("", "a.png", "paper.pdf")},
		{"caption-too-long", mediaMessage(repeatNumbered(30, "Sentence %d of a caption that is too long. "), "a.png", "b.png")},
		{"document-with-files", mediaMessage(repeatNumbered(1600, "Line %d of an answer that is too long for a few messages.\n"), "a.png", "paper.pdf")},
		{"file-too-large", channels.Message{Kind: channels.Answer, Text: "See.", Media: []channels.File{
			{Path: "/files/huge.mkv", Name: "huge.mkv", Kind: channels.Video, Size: 3 << 30}, {Path: "/files/a.png", Name: "a.png", Kind: channels.Image, Size: 11 << 20},
		}}},
		{"file-names", mediaMessage("", "tab\there.txt", "quote\"d.txt", "\u202egnp.exe", "..png", "日本.png")},
		{"buttons", withButtons(textMessage("Choose."))},
		{"buttons-under-an-album", withButtons(mediaMessage("", "a.png", "b.png"))},
		{"buttons-under-a-captioned-album", withButtons(mediaMessage("Choose.", "a.png", "b.png"))},
		{"buttons-under-a-long-text", withButtons(textMessage(repeatNumbered(150, "Paragraph %d before the buttons.\n\n")))},
		{"reply", channels.Message{Kind: channels.Answer, Text: "An answer.", ReplyTo: "4200000000000000001"}},
		{"reply-that-must-show", channels.Message{Kind: channels.Failure, Text: "I was restarted.", ReplyTo: "4200000000000000001", Quote: "Deploy *it*"}},
		{"reply-to-nothing", channels.Message{Kind: channels.Failure, Text: "I was restarted.", ReplyTo: "hook:deploy", Quote: "Deploy *it*"}},
		{"reply-split", channels.Message{Kind: channels.Answer, Text: repeatNumbered(150, "Paragraph %d of an answer.\n\n"), ReplyTo: "77"}},
		{"progress", channels.Message{Kind: channels.Progress, Text: "⏳ working on *it* (15s)", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}}},
		{"draft", channels.Message{Kind: channels.Draft, Text: "The beginning of **an ans"}},
		{"screen", withScreen(channels.Message{Kind: channels.Answer, Text: "The *end*:"}, screenOf(20, "$ ls", "a.txt  ```  `b`", "", "  $ "))},
		{"screen-blank", withScreen(textMessage(""), screenOf(20, "", ""))},
		{"screen-progress", withScreen(channels.Message{Kind: channels.Progress, Text: "Looking (15s)", Buttons: []channels.Button{
			{Label: "Up", Data: "/key Up", Stays: true}, {Label: "Stop", Data: "/stop"},
		}}, screenOf(20, "$ top"))},
		{"screen-full", withScreen(channels.Message{Kind: channels.Progress, Text: repeatNumbered(300, "Step %d. ")}, fullScreen())},
		{"screen-below-a-long-text", withScreen(textMessage(repeatNumbered(300, "Sentence %d. ")), fullScreen())},
		{"screen-with-a-picture", withScreen(mediaMessage("", "screen.png"), screenOf(20, "$ ls"))},
		{"literal", inFormat(channels.Literal, literalText)},
		{"literal-spaces", inFormat(channels.Literal, "a  b\tc\n    indented\n\n\n  after two empty lines  \n\\*escaped\\*")},
		{"literal-split", inFormat(channels.Literal, repeatNumbered(120, "# Line %d has *stars*, __init__ and `ticks`.\n"))},
		{"literal-document", inFormat(channels.Literal, repeatNumbered(1600, "# line %d of a text that is too long for a few messages.\n"))},
		{"monospace", inFormat(channels.Code, "\n  a  **b**\n```\n````c```\n\n    <d> & @everyone\n ")},
		{"monospace-split", inFormat(channels.Code, repeatNumbered(200, "row %3d  | ``` *x*  | __y__\n"))},
		{"monospace-document", inFormat(channels.Code, repeatNumbered(1600, "row %5d  | # *x*  | a table that is too long for a few messages\n"))},
		{"monospace-file", inFormat(channels.Code, "a  b", "a.png")},
		{"failure", channels.Message{Kind: channels.Failure, Code: "E_OOPS", Text: "It *broke*: `exit 3`."}},
		{"failure-without-code", channels.Message{Kind: channels.Failure, Text: "It broke."}},
	}
}

// textMessage returns an answer without files.
func textMessage(text string) channels.Message {
	return channels.Message{Kind: channels.Answer, Text: text}
}

// literalText has what Markdown would interpret.
const literalText = "# x\n__init__ *a* **b** `c` ~~d~~ ||e||\n* item\n- item\n1. item\n> quote\n-# small\n---\n| a | b |\n|---|---|\n\n" +
	"<b>html</b> &amp; [text](https://example.org/) https://example.org/a_b_c(d)?e=*f*.\n```\nfence\n```\n\nTitle\n=====\n\\_ <@123> <#4> :smile: @everyone /stop"

// inFormat returns an answer in a format.
func inFormat(f channels.Format, text string, files ...string) channels.Message {
	m := mediaMessage(text, files...)
	m.Format = f
	return m
}

// mediaMessage returns an answer with files of 1000 bytes.
func mediaMessage(text string, files ...string) channels.Message {
	m := textMessage(text)
	for _, name := range files {
		m.Media = append(m.Media, channels.File{Path: "/files/" + name, Name: name, Kind: channels.KindOf(name), Size: 1000})
	}
	return m
}

func withButtons(m channels.Message) channels.Message {
	m.Buttons = []channels.Button{{Label: "Yes", Data: "answer:1:1"}, {Label: "No, *never*", Data: "answer:1:2"}}
	return m
}

// repeatNumbered repeats a format n times, with the numbers from 1.
func repeatNumbered(n int, format string) string { return strings.Join(numberedNames(n, format), "") }

// numberedNames returns n names made from a format, with the numbers from 1.
func numberedNames(n int, format string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return all
}

// goldenPart is one part of a plan in a golden file. Form is written as JSON, because it is JSON in
// every channel.
type goldenPart struct {
	channels.Outgoing
	Form  json.RawMessage `json:"form,omitempty"`
	Shown string          `json:"shown,omitempty"`
}

// RenderingOptions are the options of CheckRenderings.
type RenderingOptions struct {
	Channel channels.Channel
	Chat    channels.Chat
	// Shown returns the text that people see. It is for channels that render a part only when they
	// show it; nil for others.
	Shown func(o channels.Outgoing) string
	// Update rewrites the golden files.
	Update bool
}

// CheckRenderings plans fixed messages and compares the plans with the golden files
// testdata/renderings/*.json of the channel. It detects unintended changes of the messages that
// people see.
func CheckRenderings(t *testing.T, ro RenderingOptions) {
	t.Helper()
	dir := filepath.Join("testdata", "renderings")
	for _, r := range renderings() {
		got, err := ro.render(r.message)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		ro.compare(t, r.name, filepath.Join(dir, r.name+".json"), got)
	}
}

// compare compares the plan of a message, or of several, with a golden file.
func (ro RenderingOptions) compare(t *testing.T, name, path, got string) {
	t.Helper()
	if ro.Update {
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		musttest.Do(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want := musttest.Get(os.ReadFile(path))(t)
	if got != string(want) {
		t.Errorf("the plan of %s differs from %s (go test -run %s -update rewrites it):\n%s", name, path, t.Name(), firstDifference(string(want), got))
	}
}

// render returns the plan of a message in the form of a golden file.
func (ro RenderingOptions) render(m channels.Message) (string, error) {
	m.Chat = ro.Chat
	plan, err := ro.Channel.Plan(m)
	if err != nil {
		return "", err
	}
	parts := []goldenPart{}
	for _, o := range plan {
		p := goldenPart{Outgoing: o, Form: o.Form}
		p.Outgoing.Form = nil
		p.Text = shorten(p.Text)
		if ro.Shown != nil {
			p.Shown = shorten(ro.Shown(o))
		}
		p.Media = nil
		for _, f := range o.Media {
			f.Content = shorten(f.Content)
			p.Media = append(p.Media, f)
		}
		parts = append(parts, p)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(parts)
	return escapeInvisible(b.String()), err
}

// escapeInvisible escapes invisible characters in JSON, such as bidirectional controls.
func escapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.Is(unicode.Cf, r) && r <= 0xFFFF {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shorten replaces a text that is too long for one message of any network with its beginning and
// its checksum.
func shorten(text string) string {
	if len(text) <= 20_000 {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes, SHA-256 %x)", text[:200], len(text), sha256.Sum256([]byte(text)))
}

// firstDifference describes the first line in which two texts differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nand should be\n%s", i+1, b[i], a[i])
		}
	}
	return fmt.Sprintf("there are %d lines and should be %d", len(b), len(a))
}
