package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/internal/fuzztest"
	"nanobot/internal/lineartest"
)

// renderInChat returns the HTML of a message of the bot.
func (r *fixture) renderInChat(text string) string {
	r.t.Helper()
	tab := r.openStream("operator", "")
	defer tab.cancel()
	r.sendAsBot(answerTo("web-markdown", text), "")
	return tab.next("message").data["html"].(string)
}

func TestMarkdownIsRenderedAsHTML(t *testing.T) {
	r := newFixture(t)
	for text, want := range map[string]string{
		"**bold** and *soft* and ~~gone~~":     "<p><strong>bold</strong> and <em>soft</em> and <del>gone</del></p>",
		"one\ntwo":                             "<p>one<br>\ntwo</p>",
		"# head":                               "<h1>head</h1>",
		"- [x] done\n- [ ] to do":              `<input checked="" disabled="" type="checkbox"> done`,
		"```go\nx := \"<b>\"\n```":             "<pre><code class=\"language-go\">x := <span class=\"s\">&#34;&lt;b&gt;&#34;</span>\n</code></pre>",
		"| a | b |\n| --- | --: |\n| 1 | 2 |":  `<td align="right">2</td>`,
		"3. three":                             `<ol start="3">`,
		"see https://example.com/x?a=1":        `<a href="https://example.com/x?a=1" rel="nofollow noreferrer noopener" target="_blank">https://example.com/x?a=1</a>`,
		"[here](http://example.com)":           `<a href="http://example.com" rel="nofollow noreferrer noopener" target="_blank">here</a>`,
		"![a cat](https://example.com/cat)":    `<a href="https://example.com/cat" rel="nofollow noreferrer noopener" target="_blank">a cat</a>`,
		"write <b>bold</b> in HTML":            "<p>write &lt;b&gt;bold&lt;/b&gt; in HTML</p>",
		"<div>\n**x**\n</div>":                 "<p>&lt;div&gt;<br>\n**x**<br>\n&lt;/div&gt;</p>", // a block of HTML stands as it is
		"a<br>b":                               "<p>a<br>\nb</p>",
		"2*3*4 and ~5~ and ||hidden||":         "<p>2*3*4 and ~5~ and ||hidden||</p>",
		"- a\n\n  b\n- [x] c":                  "<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n<li>\n<p><input checked=\"\" disabled=\"\" type=\"checkbox\"> c</p>\n</li>\n</ul>",
		"- a\n  ```\n  b\n  ```\n  c":          "<ul>\n<li>a\n<pre><code>b\n</code></pre>\nc</li>\n</ul>",
		"+":                                    "<p>+</p>",
		"> -":                                  "<blockquote>\n<p>-</p>\n</blockquote>",
		"#":                                    "<p>#</p>",
		"a\r\nb":                               "<p>a<br>\nb</p>",
		"a < b && c > d":                       "<p>a &lt; b &amp;&amp; c &gt; d</p>",
		"www.example.com me@example.com":       `<a href="http://www.example.com" rel="nofollow noreferrer noopener" target="_blank">www.example.com</a> <a href="mailto:me@example.com" rel="nofollow noreferrer">me@example.com</a>`,
		"ftp://example.com <tel:1>":            "<p>ftp://example.com tel:1</p>",
		"[](https://example.com)":              `<a href="https://example.com" rel="nofollow noreferrer noopener" target="_blank">https://example.com</a>`,
		"[a b](<https://example.com/a b?c=ä>)": `<a href="https://example.com/a%20b?c=ä" rel="nofollow noreferrer noopener" target="_blank">a b</a>`,
		"[![a](b)](https://example.com)":       `<p><a href="https://example.com" rel="nofollow noreferrer noopener" target="_blank">a</a></p>`,
		"[x](/api/chats)":                      "<p>x (/api/chats)</p>", // nothing that the bot says leads into our own API
		"[x](#part) [y](tel:1)":                "<p>x y (tel:1)</p>",
		"![](data:image/png;base64," + strings.Repeat("A", 1000) + ")": "<p>data:image/png;base64," + strings.Repeat("A", 78) + "…</p>",
	} {
		if got := r.renderInChat(text); !strings.Contains(got, want) {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want)
		}
	}
}

var evil = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `<iframe src="javascript:alert(1)">`,
	`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, "[x](java\tscript:alert(1))", `[x](data:text/html;base64,PHNjcmlwdD4=)`, `[x](vbscript:x)`,
	`![x](javascript:alert(1))`, `![x" onerror="alert(1)](https://x)`, `[x](https://x"onmouseover="alert(1))`, `<javascript:alert(1)>`,
	"```\"><script>alert(1)</script>\nx\n```", "```go\" onclick=\"alert(1)\nx\n```", `<a href="javascript:alert(1)">x</a>`, `<style>*{}</style>`,
	`<form action=/api/chats method=post>`, `<base href=//evil>`, `<meta http-equiv=refresh content=0>`, `[a]: javascript:alert(1)` + "\n\n[a]",
	`<p style="position:fixed">x</p>`, `<a id=x class=y name=z>x</a>`, "`<script>`", "<!-- <script> -->", "<scr<script>ipt>", "&lt;script&gt;", "\x00<script>",
	`<object data=x>`, `<math><mtext></p><script>alert(1)</script>`, "| a |\n|---|\n| <script> |", "# <script>x", `<https://x/" onload="y>`,
}

// unsafe matches HTML that is more than text and formatting.
var unsafe = regexp.MustCompile(`(?i)<\s*/?(script|img|svg|iframe|style|form|base|meta|object|math|link|embed)|<[^>]+\s(on\w+|style|id|name|src)\s*=|(href|src)="\s*(javascript|data|vbscript)`)

func TestScriptsAndUnsafeLinksAreRemoved(t *testing.T) {
	r := newFixture(t)
	for _, text := range evil {
		if got := r.renderInChat(text); unsafe.MatchString(got) {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

func TestMessagesOfUsersHaveNoHTML(t *testing.T) {
	r := newFixture(t)
	tab := r.openStream("ann", "")
	for _, text := range evil {
		r.postText("ann", "web-a-known-to-nobody-else", text)
		if e := tab.next("message"); e.data["html"] != nil || e.data["text"] != text {
			t.Errorf("%q is told as %q", text, e.data)
		}
	}
}

func TestPathologicalMarkdownIsRenderedInLinearTime(t *testing.T) {
	// These become much HTML. That the others are read in linear time is a test of the reader.
	for _, name := range []string{
		"ampersands", "closers", "code", "deep emphasis", "headings", "items", "links", "long table", "loose items", "nested links",
		"quotes in lists", "staircase", "tags", "URLs",
	} {
		lineartest.Check(t, name, 32<<10, func(n int) { web.Render(channelstest.PathologicalMarkdown[name](n)) })
	}
}

func FuzzWhatIsShownIsSafe(f *testing.F) {
	for _, text := range append(slices.Clone(evil), fuzztest.Mutate(evil, 2000)...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := web.Render(text); unsafe.MatchString(got) {
			t.Errorf("%q is shown as %s", text, got)
		}
	})
}
