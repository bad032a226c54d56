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

// htmlPolicy lists the elements and attributes that a message may have, whatever produced it.
var htmlPolicy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre",
		"blockquote", "ul", "ol", "li",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+#.-]+$`)).OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[kscnfid]$`)).OnElements("span") // of package highlight
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^plain$`)).OnElements("p")
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

// renderText returns HTML that is safe to show, whoever wrote the text.
func renderText(text string, format channels.Format) (out string) {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "\x00", "\uFFFD") // as HTML requires
	defer func() {
		if recover() != nil { // the text is shown unformatted
			out = renderPlain(text)
		}
	}()
	w := &htmlWriter{}
	markdown.Walk(text, format, w)
	if !w.visible { // only Markdown delimiters, which are shown rather than lost
		return renderPlain(text)
	}
	// Parts of a text that is sanitized as a whole can still have unbalanced bidi controls.
	return strings.TrimSpace(htmlPolicy().Sanitize(channels.SanitizeBidiText(string(w.out))))
}

// plainText returns the text of Markdown without its formatting.
func plainText(text string) string {
	return strings.TrimSpace(html.UnescapeString(bluemonday.StrictPolicy().Sanitize(renderText(text, channels.Markdown))))
}

// renderPlain returns a text that is not Markdown as HTML.
func renderPlain(text string) string {
	if text == "" {
		return ""
	}
	return "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n") + "</p>"
}
