package highlight_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels/web/highlight"
	"nanobot/internal/wanttest"
)

func TestPartsOfCodeHaveClasses(t *testing.T) {
	for name, c := range map[string]struct{ language, code, want string }{
		"keywords, names and numbers": {"go", "func f(n int) { return 0x1F }", "k:func f:f k:int k:return n:0x1F"},
		"a comment has no strings":    {"Python", "x = 'a#b' # it's", "s:'a#b' c:# it's"},
		"strings of several lines":    {"python", "\"\"\"a\n'b'\"\"\" + 1", "s:\"\"\"a\n'b'\"\"\" n:1"},
		"a block comment":             {"js", "a/* if\n1 */b", "c:/* if\n1 */"},
		"a string ends with its line": {"js", "'open\nlet x", "s:'open k:let"},
		"an open string at the end":   {"go", "`a\nb", "s:`a\nb"},
		"an escaped quote":            {"c", `"a\"b" c`, `s:"a\"b"`},
		"keys of JSON":                {"json", `{"a": "b", "c": true}`, `f:"a" s:"b" f:"c" n:true`},
		"keys of YAML":                {"yaml", "a-b: c\n- d: 'e' # f", "f:a-b f:- d s:'e' c:# f"},
		"keywords in capitals":        {"sql", "SELECT a FROM b -- c", "k:SELECT k:FROM c:-- c"},
		"a fragment is no comment":    {"sh", "cat a#b $HOME ${X}", "f:$HOME f:${X}"},
		"tags and attributes":         {"html", `<a href="x">1 if</a><!-- c -->`, `k:<a f:href s:"x" k:> k:</a k:> c:<!-- c -->`},
		"a field is no keyword":       {"js", "a.default if_ x", ""},
		"a decorator after lines":     {"python", "x\n\v\n@d.e f", "f:@d.e"}, // that no rule may read again and again
		"changed lines":               {"diff", "@@ 1 @@\n-a\n+b\n c", "k:@@ 1 @@ d:-a i:+b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := highlight.HTML(c.language, c.code)
			wanttest.Equal(t, "the text", textOf(got), c.code)
			var parts []string
			for _, m := range regexp.MustCompile(`<span class="(.)">([^<]*)</span>`).FindAllStringSubmatch(got, -1) {
				parts = append(parts, m[1]+":"+html.UnescapeString(m[2]))
			}
			wanttest.Equal(t, "the parts", strings.Join(parts, " "), c.want)
		})
	}
}

// textOf returns the text of HTML.
func textOf(marked string) string {
	return html.UnescapeString(regexp.MustCompile(`</?span[^>]*>`).ReplaceAllString(marked, ""))
}

func TestCodeThatIsNotMarkedIsEscaped(t *testing.T) {
	long := strings.Repeat("if\n", highlight.MaxCode)
	for _, c := range [][2]string{{"", "if <b>"}, {"brainfuck", "if <b>"}, {"go", long}} {
		wanttest.Equal(t, c[0], highlight.HTML(c[0], c[1]), html.EscapeString(c[1]))
	}
}

func FuzzHTML(f *testing.F) {
	for _, language := range []string{"go", "python", "html", "css", "yaml", "sh", "diff", "sql", "make"} {
		f.Add(language, "a \"b\\\" `c /* <!-- '''")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		code = strings.ToValidUTF8(code, "?")
		if got := textOf(highlight.HTML(language, code)); got != code {
			t.Errorf("%s: %q became %q", language, code, got)
		}
	})
}

func BenchmarkLongestCode(b *testing.B) {
	for name, line := range map[string]string{
		"go": "\tif err := f(\"text\", 17); err != nil { return /* why */ err }\n",
		// What rules may try again and again:
		"css": "a:", "html": "a", "rust": "#[", "sh": "${", "make": "$(", "json": "\"\\", "python": "\v\n", "yaml": "- ", "js": "'", "c": "/",
	} {
		code := strings.Repeat(line, highlight.MaxCode/len(line))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				highlight.HTML(name, code)
			}
		})
	}
}
