package markdown_test

import (
	"strings"
	"testing"

	"nanobot/channels/markdown"
)

func TestATextKeepsWhatItsMarksSay(t *testing.T) {
	const u = "https://a.org"
	for _, tt := range []struct{ name, source, want string }{
		{"headings", "# A\n\n#### B *c*\n\nD\n===", "<h1>A</h>\n\n<h4>B <i>c</i></h>\n\n<h1>D</h>"},
		{"bullets", "- a\n  - b\n- c", "<marker>• </marker>a\n  <marker>• </marker>b\n<marker>• </marker>c"},
		{"numbers", "3) a\n4) b", "<marker>3) </marker>a\n<marker>4) </marker>b"},
		{"tasks", "- [ ] a\n- [x] b", "<marker>☐ </marker>a\n<marker>☑ </marker>b"},
		{"a list in a quote", "> - a\n> - b", "<quote><marker>• </marker>a\n<marker>• </marker>b</quote>"},
		{"code in bold", "**a `b`**", "<b>a <code>b</code></b>"},
		{"code in a link", "[a `b`](" + u + ")", "<a " + u + ">a <code>b</code></a>"},
		{"bold in bold", "**a __b__ c**", "<b>a b c</b>"},
		{"bold next to bold", "**a**__b__", "<b>ab</b>"},
		{"styles in one another", "**a *b* c**", "<b>a <i>b</i> c</b>"},
		{"an asterisk in bold", "**2*3 = 6** **src/*.go** **f(*args)**", "<b>2*3 = 6</b> <b>src/*.go</b> <b>f(*args)</b>"},
		{"a pointer in bold", "**int* p** and *a* **b**", "<b>int* p</b> and <i>a</i> <b>b</b>"},
		{"bold and italics that end together", "**a *b*** *c **d***", "<b>a <i>b</i></b> <i>c <b>d</b></i>"},
		{"an address between brackets", "<" + u + "> " + u, "<address>" + u + "</address> " + u},
		{"a link that cannot be tapped", "[a](b.txt) [b.txt](b.txt)", "a (b.txt) b.txt"},
		{"a picture in a data URL", "![a](data:image/png;base64," + strings.Repeat("A", 1000) + ")", "a (data:image/png;base64," + strings.Repeat("A", 78) + "…)"},
		{"a long address", "[a](ftp:" + strings.Repeat("b", 1000) + ")", "a (ftp:" + strings.Repeat("b", 1000) + ")"},
		{"a link that shows another address", "[bank.example](https://evil.example) x", "<warned><a https://evil.example>bank.example</a> (leads to evil.example)</warned> x"},
		{"a Python session", ">>> print(1)\n1\n>>> x", ">>> print(1)\n1\n>>> x"},
		{"a quote in a quote", "> a\n> > b", "<quote>a\n> b</quote>"},
		{"a quote of more than one paragraph", "> a\n>\n> b\n\nc", "<quote>a\n\nb</quote>\n\nc"},
		{"code in a list", "- a\n  ```sh\n  ls\n  ```\n- b", "<marker>• </marker>a\n<pre sh>ls</pre>\n<marker>• </marker>b"},
		{"a table", "|a|b|\n|-|-:|\n|1|22|", "<pre>a |  b\n--+---\n1 | 22</pre>"},
		{"control characters", "a\x00b\x1b[0m\u009b1m\x7f\r\nc", "a b [0m 1m\nc"},
		{"nothing but signs", "***", "———"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := layout.Text(tt.source)
			if n := notate(got); n != tt.want {
				t.Errorf("%q became\n%s\nand should be\n%s", tt.source, n, tt.want)
			}
			if wrong := check(got); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

func TestALayoutHasItsOwnBulletAndWidth(t *testing.T) {
	l := markdown.Layout{Bullet: "- ", TableWidth: 5}
	got := notate(l.Text("- a\n\n|name|b|\n|-|-|\n|1|2|"))
	if want := "<marker>- </marker>a\n\n<b>1</b>\n<marker>- </marker>b: 2"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAWideTableHasAParagraphForEachRow(t *testing.T) {
	wide := strings.Repeat("long ", 12) + "text"
	got := notate(layout.Text("|Key|What|\n|-|-|\n|a|" + wide + "|\n|b|c|"))
	want := "<b>a</b>\n<marker>• </marker>What: " + wide + "\n\n<b>b</b>\n<marker>• </marker>What: c"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShortLinesInDeepListsDoNotGrow(t *testing.T) {
	source := strings.Repeat("1. ", 39) + "a\n" + strings.Repeat("b\n", 10_000)
	if got := layout.Text(source).Text; len(got) > 50*len(source)/2 {
		t.Errorf("%d bytes became %d", len(source), len(got))
	}
}
