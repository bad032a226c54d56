package channels

import (
	"strings"
	"unicode/utf8"
)

// bracket is a "[" that may turn out to open a link.
type bracket struct {
	start int // of the link; for an image, of the "!" before the bracket
	from  int // the measure of the text before start
}

// inline keeps whole what a paragraph holds of code spans, links, images, autolinks and bare URLs.
// Every byte is looked at a bounded number of times, whatever a text of brackets and backticks may
// try.
func (l *layouter) inline(start, end int) {
	l.brackets = l.brackets[:0]
	l.countTicks(start, end)
	for i := start; i < end; {
		switch l.text[i] {
		case '\\':
			i += 2
		case '`':
			i = l.codeSpan(i, end)
		case '<':
			i = l.autolink(i, end)
		case '[':
			l.openBracket(i, start)
			i++
		case ']':
			i = l.closeBracket(i, end)
		case ':', '.':
			i = l.bareURL(i, start, end)
		default:
			i++
		}
	}
}

// countTicks notes the last run of backticks of each length, so that a run that nothing closes is
// not searched for again and again.
func (l *layouter) countTicks(start, end int) {
	clear(l.ticks)
	for i := start; i < end; {
		n := strings.IndexByte(l.text[i:end], '`')
		if n < 0 {
			return
		}
		i += n
		n = runLen(l.text[i:end])
		l.ticks[n] = i
		i += n
	}
}

// codeSpan reads the backticks at i and, if they open a code span, the whole of it.
func (l *layouter) codeSpan(i, end int) int {
	n := runLen(l.text[i:end])
	if l.ticks[n] <= i {
		return i + n
	}
	from := l.to(i)
	for j := i + n; ; {
		j += strings.IndexByte(l.text[j:end], '`')
		m := runLen(l.text[j:end])
		j += m
		if m == n {
			l.keep(span{i, j}, from)
			return j
		}
	}
}

// autolink reads <https://example.org> or <me@example.org> at i.
func (l *layouter) autolink(i, end int) int {
	for j := i + 1; j < end; j++ {
		switch c := l.text[j]; {
		case c == '>':
			if strings.ContainsAny(l.text[i:j], ":@") {
				l.keep(span{i, j + 1}, l.to(i))
				return j + 1
			}
			return i + 1
		case c <= ' ' || c == '<':
			return i + 1
		}
	}
	return i + 1
}

func (l *layouter) openBracket(i, start int) {
	if i > start && l.text[i-1] == '!' {
		i--
	}
	// A bracket that more than max others follow is too far back for a link that fits a part.
	if len(l.brackets) > 2*l.max+2 {
		l.brackets = append(l.brackets[:0], l.brackets[l.max+1:]...)
	}
	l.brackets = append(l.brackets, bracket{start: i, from: l.to(i)})
}

// closeBracket reads the "]" at i and the target behind it, if it ends the text of a link.
func (l *layouter) closeBracket(i, end int) int {
	if len(l.brackets) == 0 {
		return i + 1
	}
	open := l.brackets[len(l.brackets)-1]
	l.brackets = l.brackets[:len(l.brackets)-1]
	n := targetLen(l.text[i+1 : end])
	if n == 0 {
		return i + 1
	}
	j := i + 1 + n
	l.keep(span{i, j}, l.to(i)) // stands if the link as a whole is too long
	l.keep(span{open.start, j}, open.from)
	return j
}

// bareURL reads the URL around the ":" or "." at i, as in https://example.org and www.example.org.
func (l *layouter) bareURL(i, start, end int) int {
	first := i
	if strings.HasPrefix(l.text[i:end], "://") {
		// The schemes in use are short; the bound keeps a text of nothing but letters cheap.
		for first > start && i-first < 32 && isSchemeByte(l.text[first-1]) {
			first--
		}
	} else if i-start >= 3 && strings.EqualFold(l.text[i-3:i], "www") {
		first = i - 3
	}
	if n := len(l.spans); n > 0 {
		first = max(first, l.spans[n-1].end)
	}
	if first >= i {
		return i + 1
	}
	j := urlEnd(l.text[:end], i)
	l.keep(span{first, j}, l.to(first))
	return max(j, i+1)
}

func isSchemeByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// urlEnd returns where the bare URL around i ends. As on GitHub, a closing parenthesis that nothing
// opened and the punctuation of the sentence around it are not part of it.
func urlEnd(text string, i int) int {
	depth := 0
	j := i
loop:
	for ; j < len(text); j++ {
		switch c := text[j]; {
		case c <= ' ' || strings.IndexByte("<>\"`]|", c) >= 0:
			break loop
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				break loop
			}
		case c >= utf8.RuneSelf:
			if r, _ := utf8.DecodeRuneInString(text[j:]); breakable(r) {
				break loop
			}
		}
	}
	return i + len(strings.TrimRight(text[i:j], ".,:;!?'*_~"))
}
