package markdown

import (
	"strings"

	"nanobot/channels"
)

// Spoken returns what a voice says of a text: its words without markup, and without code blocks and
// tables, which nobody follows by ear.
func Spoken(source string, format channels.Format) string {
	var s spoken
	Walk(source, format, &s)
	return strings.TrimSpace(s.text.String())
}

// spoken is a Renderer that collects the text outside of code blocks and tables.
type spoken struct {
	text   strings.Builder
	inCode bool
}

func (s *spoken) Begin(e Element) {
	switch {
	case e.Kind == CodeBlock:
		s.inCode = true
	case e.Kind < Bold && e.Gap > 0 && s.text.Len() > 0:
		s.text.WriteString(strings.Repeat("\n", min(e.Gap, 2)))
	}
}

func (s *spoken) End(e Element) { s.inCode = s.inCode && e.Kind != CodeBlock }

func (s *spoken) Text(text string) {
	if !s.inCode {
		s.text.WriteString(text)
	}
}

func (s *spoken) Break(string) { s.text.WriteByte('\n') }

func (s *spoken) Table(Table) {}
