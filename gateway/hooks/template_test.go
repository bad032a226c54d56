package hooks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/gateway/hooks"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// text returns the text that a template makes of a body.
func text(t *testing.T, template, body string) string {
	t.Helper()
	h := newHook(hooks.Bearer, template)
	h.MaxBody = 10 << 20
	s := newServer(t, map[string]hooks.Hook{"a": h})
	s.call("/hooks/a?k=*q*", body, "Authorization", "Bearer "+secret, "X-Event", "*h*")
	if len(s.accepted) == 0 {
		return ""
	}
	if line := s.accepted[0].FailedLine; line != "" {
		return "failed in line " + line
	}
	return s.accepted[0].Text
}

func TestATemplateSeesTheCall(t *testing.T) {
	for _, c := range []struct{ template, body, want string }{
		{"{{.a.b}}", `{"a": {"b": "x"}}`, "x"},
		{"{{.}}", "no *JSON*", `no \*JSON\*`},
		{"{{.}}", `{"a": 1} {`, `\{"a"\: 1\} \{`},
		{"{{.}}", `["<&>"]`, `\["\<\&\>"\]`},
		{`{{header "x-event"}} {{query "k"}} {{query "none"}}`, "", `\*h\* \*q\* `},
		{"[{{.none}}{{.none.of}}{{.null}}]", `{"null": null, "none": {}}`, `[\{\}]`},
		{"{{.id}} {{.f}} {{.big}}", `{"id": 12345678901234567, "f": 1234567.5, "big": 123456789012345678901}`, `12345678901234567 1234567\.5 123456789012345680000`},
		{`{{if gt .n 5}}many{{end}}{{if .zero}}zero{{end}}{{if eq .s "x"}} x{{end}}{{printf " %03d" .n}}`, `{"n": 7, "zero": 0, "s": "x"}`, "many x 007"},
		{`{{index .l 9}}`, `{"l": []}`, "failed in line 1"},
		{"{{define \"t\"}}\n\n{{index . 9}}{{end}}{{template \"t\" .l}}", `{"l": []}`, "failed in line 3"},
	} {
		wanttest.Equal(t, c.template+" with "+c.body, text(t, c.template, c.body), c.want)
	}
}

func TestEveryInsertedValueIsEscapedUnlessItIsRaw(t *testing.T) {
	const body = `{"v": "*v*", "l": ["*a*", "*b*"], "m": {"k": "*m*"}}`
	for template, want := range map[string]string{
		"*x* {{.v}}":                                    `*x* \*v\*`,
		"{{raw .v}} {{.v | raw}}":                       `*v* *v*`,
		`{{raw .v | printf "%s!"}}`:                     `\*v\*\!`,
		`{{printf "%s!" .v | raw}}`:                     `*v*!`,
		"{{(raw .v)}}":                                  `\*v\*`,
		"{{$x := raw .v}}{{$x}}":                        `\*v\*`,
		"{{$x := 1}}{{$x = .v}}{{$x}}":                  `\*v\*`,
		"{{range .l}}{{.}},{{else}}{{.}}{{end}}":        `\*a\*,\*b\*,`,
		"{{range $i, $v := .l}}{{$v}}{{end}}":           `\*a\*\*b\*`,
		"{{with .m}}{{.k}}{{end}}":                      `\*m\*`,
		"{{with .n}}{{else}}{{.v}}{{end}}":              `\*v\*`,
		"{{if .n}}{{else if .v}}{{.v}}{{end}}":          `\*v\*`,
		`{{define "t"}}{{.}}{{end}}{{template "t" .v}}`: `\*v\*`,
		`{{block "b" .m}}{{.k}}{{end}}`:                 `\*m\*`,
		`{{html .v}}{{.v | print}}`:                     `\*v\*\*v\*`,
		`{{len .l}}{{"*"}}`:                             `2\*`,
	} {
		wanttest.Equal(t, template, text(t, template, body), want)
	}
}

func TestATemplateThatDoesNotParseNamesItsLine(t *testing.T) {
	for template, want := range map[string]string{
		"a\n{{if}}": "line 2: missing value for if", "{{nope .}}": `line 1: function "nope" not defined`, "{{": "line 1: unclosed action",
		"{{_escape .}}": "",
	} {
		_, err := hooks.ParseTemplate(template)
		if want == "" {
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %s", template, err, want)
		}
	}
}

func TestALongTextIsCutAndEndsTheExecution(t *testing.T) {
	body := musttest.Get(json.Marshal(strings.Split(strings.Repeat("ü", 200_000), "")))(t)
	got := text(t, "{{range .}}{{.}}{{end}}", string(body))
	if len(got) > 64<<10+len("…") || len(got) < 64<<10-4 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("%d bytes, which end in %q", len(got), got[max(0, len(got)-10):])
	}
}

func TestAnEscapedValueIsNoMentionAndNoCommand(t *testing.T) {
	for value, want := range map[string]string{
		"@everyone": "@|everyone", "<@123>": "<@|123>", "hi @ann_b": "hi @|ann_b", "ann@example.com": "ann@example.com", "x@everyone": "x@|everyone",
		"@@ann": "@|@|ann", "/stop": "/|stop", "do /stop@bot": "do /|stop@bot", "(/stop)": "(/|stop)", "./stop": "./|stop", "/usr/bin": "/usr/bin",
		"a/b": "a/b", "https://x.example/a": "https://x.example/a", "/": "/|", "\n/stop all": "\n/|stop all",
	} {
		got := strings.ReplaceAll(strings.ReplaceAll(hooks.Escape(value), `\`, ""), "\u200b", "|")
		wanttest.Equal(t, value, got, want)
	}
}

// normalized returns a text without what cannot be seen: the marks of Escape, kinds and numbers of
// blanks, and blank lines.
func normalized(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\u200b' || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(text), " ")
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{
		"a *b* _c_ `d`", "# x\n===\n- y", "    code", "a\n\n\tb", "[x](http://y) <b>&amp;", "@everyone /stop", "1. a\n2) b", "|a|b|\n|-|-|\n|c|d|", "~~~\nx\n~~~",
		"a  \nb\\\nc", "$x$ ^y^ ==z==", "[^1]: x", "[a]: http://b", "* * *", "www.x.example ftp://y a@b.example", "\r\n=\n>x", "a\n:   b", ":smile: ||x||", "<!-- x -->", "\u2028# x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !markdown.Visible(value) {
			return
		}
		got := markdown.Layout{Bullet: "•"}.As(channels.Markdown).Text(hooks.Escape(value))
		if normalized(got.Text) != normalized(value) || len(got.Marks) > 0 {
			t.Errorf("%q is escaped as %q and shown as %q with %v", value, hooks.Escape(value), got.Text, got.Marks)
		}
	})
}
