package entities_test

import (
	"encoding/json"
	"strings"
	"testing"
)

type golden struct{ name, markdown, want string }

func testGolden(t *testing.T, table []golden) {
	t.Helper()
	for _, tt := range table {
		t.Run(tt.name, func(t *testing.T) {
			got := read(tt.markdown)
			if n := notate(got); n != tt.want {
				t.Errorf("got\n%s\nwant\n%s", n, tt.want)
			}
			if wrong := check(got); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

func TestStylesBecomeEntities(t *testing.T) {
	testGolden(t, []golden{
		{"bold", "a **b** c", "a <bold>b</bold> c"},
		{"bold by underscores", "a __b__ c", "a <bold>b</bold> c"},
		{"italic", "*a* _b_", "<italic>a</italic> <italic>b</italic>"},
		{"both", "***a***", "<bold><italic>a</italic></bold>"},
		{"strikethrough", "~~a~~", "<strikethrough>a</strikethrough>"},
		{"spoiler", "who? ||the butler||!", "who? <spoiler>the butler</spoiler>!"},
		{"nested", "**a *b* ~~c~~**", "<bold>a <italic>b</italic> <strikethrough>c</strikethrough></bold>"},
		{"bold within bold is one", "**a __b__ c**", "<bold>a b c</bold>"},
		{"bold over two lines", "**a\nb**", "<bold>a\nb</bold>"},
		{"bold over two lines of a list", "- **a\n  b**", "• <bold>a\n  b</bold>"},
		{"neighbours are one", "**a**__b__", "<bold>ab</bold>"},
		{"letters of an acronym", "**T**ransmission **C**ontrol", "<bold>T</bold>ransmission <bold>C</bold>ontrol"},
		{"in Chinese", "这是**“粗体”。**文字", "这是<bold>“粗体”。</bold>文字"},
		{"behind an emoji", "👍🏽 **b**", "👍🏽 <bold>b</bold>"},
		{"code", "run `go  vet` now", "run <code>go  vet</code> now"},
		{"code over two lines", "`a\nb`", "<code>a b</code>"},
		{"code with a backtick", "`` a`b ``", "<code>a`b</code>"},
		{"blank code", "a` `b", "a b"},
		{"code is not bold", "**use `x` now**", "<bold>use</bold> <code>x</code> <bold>now</bold>"},
		{"all bold code is code", "**`x`**", "<code>x</code>"},
		{"hidden code stays hidden", "||`x` y||", "<spoiler>x y</spoiler>"},
		{"nothing in between", "a ** ** b", "a ** ** b"},
	})
}

func TestLinksCanBeTapped(t *testing.T) {
	const u = "https://example.org/a"
	testGolden(t, []golden{
		{"a link", "see [this](" + u + ")", "see <text_link " + u + ">this</text_link>"},
		{"with a title", "[a](" + u + ` "title")`, "<text_link " + u + ">a</text_link>"},
		{"bold inside", "[a **b**](" + u + ")", "<text_link " + u + ">a <bold>b</bold></text_link>"},
		{"bold around", "**[a](" + u + ")**", "<text_link " + u + "><bold>a</bold></text_link>"},
		{"code inside gives way", "[`x`](" + u + ")", "<text_link " + u + ">x</text_link>"},
		{"an image", "![a cat](" + u + ")", "<text_link " + u + ">a cat</text_link>"},
		{"an image without a text", "![](" + u + ")", "<text_link " + u + ">" + u + "</text_link>"},
		{"an image in a link", "[![badge](https://b.org/i.png)](" + u + ")", "<text_link " + u + ">badge</text_link>"},
		{"without text", "[](" + u + ")", "<text_link " + u + ">" + u + "</text_link>"},
		{"a bare URL is left to Telegram", "see " + u + "_b_c.", "see " + u + "_b_c."},
		{"an autolink too", "see <" + u + ">", "see " + u},
		{"an e-mail address", "to <me@example.org>", "to me@example.org"},
		{"a reference", "[a][1] b\n\n[1]: " + u, "<text_link " + u + ">a</text_link> b"},
		{"a definition nobody refers to", "a\n\n[1]: " + u, "a\n\n[1]: " + u},
		{"what only looks like a definition", "[INFO]: starting\n[INFO] done", "[INFO]: starting\n[INFO] done"},
		{"a path cannot be tapped", "[report](./out/r.pdf)", "report (./out/r.pdf)"},
		{"nor localhost", "[page](http://localhost:8080/x)", "page (http://localhost:8080/x)"},
		{"nor an anchor", "[below](#below)", "below"},
		{"a path that says so itself", "[r.pdf](r.pdf)", "r.pdf"},
		{"a user", "[Ann](tg://user?id=1)", "<text_link tg://user?id=1>Ann</text_link>"},
		{"spaces and escapes", `[a](<https://example.org/a b\_&amp;c>)`, "<text_link https://example.org/a%20b_&c>a</text_link>"},
		{"no link at all", "[a] (b) [c]", "[a] (b) [c]"},
	})
}

func TestBlocksStandApart(t *testing.T) {
	testGolden(t, []golden{
		{"headings", "# A\n\ntext\n\n## B *c*\ntext", "<bold>A</bold>\n\ntext\n\n<bold>B <italic>c</italic></bold>\ntext"},
		{"underlined heading", "a\n\nA\n===\n\ntext", "a\n\n<bold>A</bold>\n\ntext"},
		{"bold heading", "# **A**", "<bold>A</bold>"},
		{"heading with code", "# The `x` flag", "<bold>The</bold> <code>x</code> <bold>flag</bold>"},
		{"paragraphs", "a\n\nb\n\n\nc", "a\n\nb\n\n\nc"},
		{"soft and hard breaks", "a\nb  \nc\\\nd", "a\nb\nc\nd"},
		{"rule", "a\n\n---\n\nb", "a\n\n———\n\nb"},
		{"fence", "a\n```go\nfunc x() {\n\n\treturn\n}\n```\nb", "a\n<pre go>func x() {\n\n\treturn\n}</pre>\nb"},
		{"fence with more than a language", "```Python title=\"x\"\na\n```", "<pre python>a</pre>"},
		{"fence without a language", "~~~\n*a* &amp; `b`\n~~~", "<pre>*a* &amp; `b`</pre>"},
		{"open fence", "```sh\nls", "<pre sh>ls</pre>"},
		{"empty fence", "a\n\n```\n```\n\nb", "a\n\nb"},
		{"indented code keeps its indentation", "    a\n      b", "<pre>a\n  b</pre>"},
		{"indented first line", "```\n  a\nb\n```", "<pre>  a\nb</pre>"},
		{"HTML is text", "<div>\n*a*\n</div>\n\na <b>c</b><br>d", "<div>\n*a*\n</div>\n\na <b>c</b>\nd"},
		{"entities and escapes", `&lt;b&gt; &copy; &#x1F600; \*a\* \&amp; &nope; AT&T`, "<b> © 😀 *a* &amp; &nope; AT&T"},
	})
}

func TestQuotesDoNotNest(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("> line\n", 20), "\n")
	testGolden(t, []golden{
		{"a quote", "a\n\n> b\n> **c**\n\nd", "a\n\n<blockquote>b\n<bold>c</bold></blockquote>\n\nd"},
		{"two paragraphs", "> a\n>\n> b", "<blockquote>a\n\nb</blockquote>"},
		{"two quotes", "> a\n\n> b", "<blockquote>a</blockquote>\n\n<blockquote>b</blockquote>"},
		{"one in another", "> a\n> > b\n> > c\n>\n> d", "<blockquote>a\n> b\n> c\n\nd</blockquote>"},
		{"code in it", "> a\n> ```go\n> b\n> ```", "<blockquote>a\n<pre go>b</pre></blockquote>"},
		{"a list in it", "> - a\n> - b", "<blockquote>• a\n• b</blockquote>"},
		{"in a list", "- a\n  > b\n- c", "• a\n<blockquote>b</blockquote>\n• c"},
		{"a long one is folded", long, "<expandable_blockquote>" + strings.ReplaceAll(long, "> ", "") + "</expandable_blockquote>"},
		{"an empty one", "a\n\n>\n\nb", "a\n\nb"},
	})
}

func TestListsKeepTheirShape(t *testing.T) {
	testGolden(t, []golden{
		{"bullets", "- a\n- b\n\n* c", "• a\n• b\n\n• c"},
		{"numbers", "1. a\n2. b", "1. a\n2. b"},
		{"numbers of their own", "3) a\n5) b", "3) a\n5) b"},
		{"the same number", "1. a\n1. b\n1. c", "1. a\n2. b\n3. c"},
		{"below a line", "list:\n- a", "list:\n• a"},
		{"apart", "- a\n\n- b", "• a\n\n• b"},
		{"nested", "- a\n  - b\n    1. c\n       more\n- d", "• a\n  • b\n    1. c\n       more\n• d"},
		{"two paragraphs", "1. a\n\n   b\n2. c", "1. a\n\n   b\n2. c"},
		{"bold", "- **a**: b\n- **c**: d", "• <bold>a</bold>: b\n• <bold>c</bold>: d"},
		{"tasks", "- [ ] a\n- [x] b\n  - [X] c", "☐ a\n☑ b\n  ☑ c"},
		{"numbered tasks", "1. [ ] a\n2. [x] b", "1. ☐ a\n2. ☑ b"},
		{"code", "- a\n  ```sh\n  ls\n    x\n  ```\n- b", "• a\n<pre sh>ls\n  x</pre>\n• b"},
		{"code first", "- ```\n  a\n  ```", "•\n<pre>a</pre>"},
		{"list first", "- - a\n  - b", "• • a\n  • b"},
		{"an empty item", "- a\n-\n- b", "• a\n•\n• b"},
		{"nothing but an empty item", "a\n\n-", "a\n\n-"},
		{"a heading in it", "- # a\n- b", "• <bold>a</bold>\n• b"},
		{"a link first", "- [a](https://b.org)", "• <text_link https://b.org>a</text_link>"},
	})
}

func TestTablesAreAligned(t *testing.T) {
	wide := strings.Repeat("long ", 12) + "text"
	testGolden(t, []golden{
		{
			"columns", "| Name | Size |\n|:--|--:|\n| `a` | 1 |\n| **bcdefg** | 200 |",
			"<pre>Name   | Size\n-------+-----\na      |    1\nbcdefg |  200</pre>",
		},
		{
			"wide characters", "|a|b|\n|-|:-:|\n|狐狸|1|\n|👍|x\\|y|",
			"<pre>a    |  b\n-----+----\n狐狸 |  1\n👍   | x|y</pre>",
		},
		{"a row with too few cells", "|a|b|\n|-|-|\n|1|\n|1|2|", "<pre>a | b\n--+--\n1 |\n1 | 2</pre>"},
		{"a row with too many cells", "|a|b|\n|-|-|\n|1|2|3|", "|a|b|\n|-|-|\n|1|2|3|"},
		{"bars in code", "|a|\n|-|\n|`x\\|y`|", "<pre>a\n---\nx|y</pre>"},
		{"right below a line", "text\n|a|\n|-|\n|b|\n\nmore", "text\n<pre>a\n-\nb</pre>\n\nmore"},
		{
			"too wide", "|Key|What|Link|\n|-|-|-|\n|a|" + wide + "|[x](https://x.org)|\n|b|c||",
			"<bold>a</bold>\n• What: " + wide + "\n• Link: <text_link https://x.org>x</text_link>\n\n<bold>b</bold>\n• What: c",
		},
		{"too wide, without rows", "|a|" + wide + "|\n|-|-|", "<bold>a | " + wide + "</bold>"},
	})
}

func TestALongAndWideTableHasALineForEachRow(t *testing.T) {
	row := "|" + strings.Repeat("a **cell**|", 20) + "\n"
	got := read(row + "|" + strings.Repeat("-|", 20) + "\n" + strings.Repeat(row, 30))
	lines := strings.Split(got.Text, "\n")
	if len(lines) != 31 || lines[30] != strings.TrimSuffix(strings.Repeat("a cell | ", 20), " | ") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if wrong := check(got); wrong != "" {
		t.Error(wrong)
	}
}

func TestPlainTextPassesUnchanged(t *testing.T) {
	for _, text := range []string{
		"snake_case_name and __init__.py and /usr/_a/_b",
		"2*3*4 = 24, x**2 + y**2",
		"#hashtag #1 and a # b",
		"a || b || c, a||b||c",
		"src/*.go test/*.go *.md,*.txt",
		`C:\Users\me\file.txt`,
		"STDERR: one\nSTDERR: two\n  at line 3\n\tat line 4\nExit code: 1",
		"Traceback:\n  File \"x.py\", line 1\n    foo()",
		"~5 and ~/home and ~/else",
		"a < b > c & d",
		"[x] done [ ] not (really)",
		"5. is a number\n\n\n\nand this is far below",
		"/start @user #tag $USD https://example.org/~a/~b?x=_y_",
		"👩‍👩‍👧‍👦 é 狐狸",
		"it's 5 * 3 * 2",
		"key=_value_ and a:_b_",
		"!", "1)", "+", "-", "[", "]", "`", "*", "_", "\\",
	} {
		if got := read(text); got.Text != text || len(got.Entities) > 0 {
			t.Errorf("%q became %q", text, notate(got))
		}
	}
}

func TestMarkdownWithNothingInItIsShownAsItStands(t *testing.T) {
	for _, markdown := range []string{"#", "> ", "```\n```", "-", "[]()", "[a]: https://example.org", "```go", "&nbsp;"} {
		if got := read(markdown); !visible(got.Text) {
			t.Errorf("%q became %q", markdown, got.Text)
		}
	}
	for _, blank := range []string{"", " \n\t", "\u200b", "\x00\x01", "\u202e"} {
		if got := read(blank); got.Text != "" || got.Entities != nil {
			t.Errorf("%q became %q", blank, got.Text)
		}
	}
}

func TestCharactersThatTelegramDropsAreDroppedBeforeTheyAreCounted(t *testing.T) {
	got := read("a\r\nb\rc\u202e \x1b**d**\xff")
	if n := notate(got); n != "a\nb\nc  <bold>d</bold>\uFFFD" {
		t.Errorf("got %q", n)
	}
}

func TestEntitiesAreJSONAsTelegramWantsIt(t *testing.T) {
	got, err := json.Marshal(read("👍 [a](https://b.org)\n```go\nx\n```"))
	want := `{"text":"👍 a\nx","entities":[{"type":"text_link","offset":3,"length":1,"url":"https://b.org"},` +
		`{"type":"pre","offset":5,"length":1,"language":"go"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestPlainIsTheTextAlone(t *testing.T) {
	if got := read("**a** b").Plain(); got.Text != "a b" || got.Entities != nil {
		t.Errorf("got %+v", got)
	}
}
