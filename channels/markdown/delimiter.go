package markdown

import (
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// span is inline text of one kind, between two delimiters.
type span struct {
	ast.BaseInline
	kind Kind
}

var kindSpan = ast.NewNodeKind("Span")

func (*span) Kind() ast.NodeKind { return kindSpan }

func (s *span) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

// delimiters parses *, _, ~~ and ||. It differs from CommonMark where that would mangle plain text,
// or would miss formatting in languages without spaces.
type delimiters struct{}

func (delimiters) Trigger() []byte { return []byte{'*', '_', '~', '|'} }

func (d delimiters) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	c := line[0]
	paired := c == '~' || c == '|'
	before := block.PrecendingCharacter()
	// within a longer run, which would be counted again for each character: quadratic time
	if paired && before == rune(c) {
		return nil
	}
	n := 1
	for n < len(line) && line[n] == c {
		n++
	}
	if paired && n != 2 || !effortIn(parent, pc).delimiter() {
		return nil
	}
	f := flanks{mark: c, length: n, before: before, after: ' ', rest: line[n:]}
	if n < len(line) {
		f.after, _ = utf8.DecodeRune(line[n:])
	}
	var processor parser.DelimiterProcessor = d
	switch c {
	case '~':
		processor = pairs{kind: Strike}
	case '|':
		processor = pairs{kind: Spoiler}
	}
	node := parser.NewDelimiter(f.canOpen(), f.canClose(), n, c, processor)
	node.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	pc.PushDelimiter(node)
	return node
}

func (delimiters) IsDelimiter(b byte) bool { return b == '*' || b == '_' || b == '~' || b == '|' }

// CanOpenCloser matches runs of one or two only with runs of the same length: in **2*3 = 6** the
// single asterisk is text.
func (delimiters) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char &&
		(opener.OriginalLength == closer.OriginalLength || opener.OriginalLength > 2 || closer.OriginalLength > 2)
}

func (d delimiters) OnMatch(consumes int) ast.Node {
	if consumes == 2 {
		return &span{kind: Bold}
	}
	return &span{kind: Italic}
}

// pairs parses delimiters that always have two characters.
type pairs struct {
	delimiters
	kind Kind
}

func (p pairs) OnMatch(int) ast.Node { return &span{kind: p.kind} }

// flanks is a run of delimiters and the characters around it.
type flanks struct {
	mark          byte
	length        int
	before, after rune
	rest          []byte // after the run
}

// left reports whether the run is left-flanking (CommonMark 6.2). Next to a script without spaces,
// a word may start and end anywhere.
func (f flanks) left() bool {
	return !util.IsSpaceRune(f.after) &&
		(!util.IsPunctRune(f.after) || util.IsSpaceRune(f.before) || util.IsPunctRune(f.before) || spaceless(f.before))
}

// right reports whether the run is right-flanking.
func (f flanks) right() bool {
	return !util.IsSpaceRune(f.before) &&
		(!util.IsPunctRune(f.before) || util.IsSpaceRune(f.after) || util.IsPunctRune(f.after) || spaceless(f.after))
}

func (f flanks) canOpen() bool {
	if !f.left() {
		return false
	}
	switch f.mark {
	case '_', '|':
		// Not in snake_case, a||b, /usr/_x/_y, key=_value.
		return (!f.right() || util.IsPunctRune(f.before)) && !isOneOf(f.before, `/\.=@:-`)
	case '*':
		// Not in 2*3*4, x**2 + y**2, src/*.go, *.go,*.md.
		return !alphanumeric(f.before) && f.before != '/' && (f.length > 1 || !isOneOf(f.after, "./"))
	}
	return true
}

func (f flanks) canClose() bool {
	if !f.right() {
		return false
	}
	switch f.mark {
	case '_':
		// Not in __init__.py.
		inPath := f.after == '/' || f.after == '.' && len(f.rest) > 1 && alphanumeric(rune(f.rest[1]))
		return (!f.left() || util.IsPunctRune(f.after)) && !inPath
	case '|':
		return !f.left() || util.IsPunctRune(f.after)
	}
	return true
}

func isOneOf(r rune, set string) bool {
	for _, s := range set {
		if r == s {
			return true
		}
	}
	return false
}

func alphanumeric(r rune) bool { return r < utf8.RuneSelf && util.IsAlphaNumeric(byte(r)) }

func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
