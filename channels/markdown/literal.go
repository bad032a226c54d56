package markdown

import (
	"strings"

	"nanobot/internal/lazyregexp"
)

// walkCode reports a text as one block of code.
func walkCode(source string, r Renderer) {
	content := strings.TrimRight(source, " \t\n")
	for { // blank lines before the code
		line, rest, found := strings.Cut(content, "\n")
		if !found || strings.Trim(line, " \t") != "" {
			break
		}
		content = rest
	}
	e := Element{Kind: CodeBlock}
	r.Begin(e)
	r.Text(content)
	r.End(e)
}

// walkLiteral reports a text that is not Markdown as paragraphs, which empty lines separate. Only
// addresses have a meaning: networks make links of them in any text.
func walkLiteral(source string, r Renderer) {
	e := Element{Kind: Paragraph, Literal: true}
	open, empty := false, 0
	for _, line := range strings.Split(strings.TrimRight(source, " \t\n"), "\n") {
		content := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(content)]
		switch {
		case content == "" && open:
			r.End(e)
			open, empty = false, 1
			continue
		case content == "":
			empty++
			continue
		case open:
			r.Break(indent)
		default:
			e.Gap, e.Indent = 0, indent
			if empty > 0 {
				e.Gap = 1 + empty
			}
			r.Begin(e)
			open = true
		}
		literalLine(content, r)
	}
	if open {
		r.End(e)
	}
}

// address matches an address in a text. What ends a sentence or a parenthesis is not a part of it.
var address = lazyregexp.New(`\bhttps?://[^\s<>"]*[^\s<>"'.,:;!?*_~|)\]}]`)

// literalLine reports a line and the addresses in it.
func literalLine(line string, r Renderer) {
	for {
		at := address().FindStringIndex(line)
		if at == nil {
			break
		}
		url := line[at[0]:at[1]]
		r.Text(line[:at[0]])
		e := Element{Kind: AutoLink, URL: url}
		r.Begin(e)
		r.Text(url)
		r.End(e)
		line = line[at[1]:]
	}
	r.Text(line)
}
