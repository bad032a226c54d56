package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/web"
	"nanobot/internal/fuzztest"
)

// shown returns what the page is to show of a bot's words.
func (r *rig) shown(text string) string {
	r.t.Helper()
	tab := r.watch("operator", "")
	defer tab.cancel()
	r.bot(answerTo("web-markdown", text), "")
	return tab.next("message").data["html"].(string)
}

func TestMarkdownIsShownAsItIsMeant(t *testing.T) {
	r := newRig(t)
	for text, want := range map[string]string{
		"**bold** and *soft* and ~~gone~~":    "<p><strong>bold</strong> and <em>soft</em> and <del>gone</del></p>",
		"one\ntwo":                            "<p>one<br>\ntwo</p>",
		"# head":                              "<h1>head</h1>",
		"- [x] done\n- [ ] to do":             `<input checked="" disabled="" type="checkbox"> done`,
		"```go\nx := \"<b>\"\n```":            "<pre><code class=\"language-go\">x := &#34;&lt;b&gt;&#34;\n</code></pre>",
		"| a | b |\n| --- | --: |\n| 1 | 2 |": `<td align="right">2</td>`,
		"3. three":                            `<ol start="3">`,
		"see https://example.com/x?a=1":       `<a href="https://example.com/x?a=1" rel="nofollow noreferrer noopener" target="_blank">https://example.com/x?a=1</a>`,
		"[here](http://example.com)":          `<a href="http://example.com" rel="nofollow noreferrer noopener" target="_blank">here</a>`,
		"![a cat](https://example.com/cat)":   `<a href="https://example.com/cat" rel="nofollow noreferrer noopener" target="_blank">a cat</a>`,
		"write <b>bold</b> in HTML":           "<p>write &lt;b&gt;bold&lt;/b&gt; in HTML</p>",
		"<div>\n**x**\n</div>":                "&lt;div&gt;<br>\n<strong>x</strong>",
		"a < b && c > d":                      "<p>a &lt; b &amp;&amp; c &gt; d</p>",
		"[x](/api/chats)":                     "<p>x</p>", // nothing that the bot says leads into our own API
	} {
		if got := r.shown(text); !strings.Contains(got, want) {
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

// unsafe finds what a browser would take for more than text and formatting.
var unsafe = regexp.MustCompile(`(?i)<\s*/?(script|img|svg|iframe|style|form|base|meta|object|math|link|embed)|<[^>]+\s(on\w+|style|id|name|src)\s*=|(href|src)="\s*(javascript|data|vbscript)`)

func TestNoScriptOfTheAgentsIsShown(t *testing.T) {
	r := newRig(t)
	for _, text := range evil {
		if got := r.shown(text); unsafe.MatchString(got) {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

func TestWhatAUserWroteIsNeverHTML(t *testing.T) {
	r := newRig(t)
	tab := r.watch("ann", "")
	for _, text := range evil {
		r.say("ann", "web-a-known-to-nobody-else", text)
		if e := tab.next("message"); e.data["html"] != nil || e.data["text"] != text {
			t.Errorf("%q is told as %q", text, e.data)
		}
	}
}

func TestATextThatIsHardToReadIsShownPlain(t *testing.T) {
	for name, text := range map[string]string{
		"links": strings.Repeat("[a](", 16000), "stars": strings.Repeat("*a_", 21000), "quotes": strings.Repeat(">", 65000), "lists": strings.Repeat("1. ", 20000),
		"quotes on lines": strings.Repeat(">>>>>>>>\n", 7000), "deep lists": strings.Repeat("+ ", 51) + "a", "many items": strings.Repeat("+ + + + a\n", 3000), "far in": strings.Repeat(" ", 4) + "x\n" + strings.Repeat(" ", 201) + "- a",
		"links in paragraphs": strings.Repeat(strings.Repeat("[a](", 300)+"\n\n", 60), "stars in paragraphs": strings.Repeat(strings.Repeat("*a_", 1000)+"\n\n", 20),
		"a wide table": strings.Repeat("a|", 2000) + "\n" + strings.Repeat("-|", 2000) + "\n" + strings.Repeat("b|\n", 2000),
	} {
		if got := web.Render(text + "\n\n**b**"); !strings.HasPrefix(got, "<p>"+strings.ReplaceAll(text[:4], ">", "&gt;")) || !strings.HasSuffix(got, "**b**</p>") {
			t.Errorf("%s: shown as %.60q", name, got)
		}
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
