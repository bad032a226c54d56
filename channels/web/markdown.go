package web

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// policy is what may be in a message, whatever made it.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+#.-]+$`)).OnElements("code")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

// render makes HTML of Markdown that is safe to show, whoever wrote it.
func render(text string) (out string) {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "\x00", "\uFFFD") // as HTML has it
	defer func() {
		if recover() != nil { // the text is shown as it is
			out = plain(text)
		}
	}()
	w := &htmlWriter{}
	markdown.Walk(text, w)
	if !w.visible { // nothing but Markdown's own signs, which had better be shown than lost
		return plain(text)
	}
	// A part of a text that was steady as a whole need not be.
	return strings.TrimSpace(policy().Sanitize(channels.SanitizeBidiText(string(w.out))))
}

// plain makes HTML of a text that is no Markdown.
func plain(text string) string {
	if text == "" {
		return ""
	}
	return "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n") + "</p>"
}
