package channels

import "strings"

// The deepest parentheses in a link target, as in cmark. It bounds the search for the last of them.
const maxParens = 32

// targetLen returns the length of the link target that text starts with, as in (url), (<url>) and
// (url "title"), or 0.
func targetLen(text string) int {
	if !strings.HasPrefix(text, "(") {
		return 0
	}
	i := skipBlanks(text, 1)
	n := destinationLen(text[i:])
	if n < 0 {
		return 0
	}
	i += n
	j := skipBlanks(text, i)
	if j > i {
		j += titleLen(text[j:])
		j = skipBlanks(text, j)
	}
	if j < len(text) && text[j] == ')' {
		return j + 1
	}
	return 0
}

// destinationLen returns the length of the URL that text starts with, or -1. It may be empty.
func destinationLen(text string) int {
	if strings.HasPrefix(text, "<") {
		n := strings.IndexAny(text[1:], "<>\n")
		if n < 0 || text[1+n] != '>' {
			return -1
		}
		return n + 2
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c <= ' ':
			return i
		case c == '(':
			if depth++; depth > maxParens {
				return -1
			}
		case c == ')':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// titleLen returns the length of the quoted title that text starts with, or 0.
func titleLen(text string) int {
	if text == "" || strings.IndexByte(`"'(`, text[0]) < 0 {
		return 0
	}
	shut := text[0]
	if shut == '(' {
		shut = ')'
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case shut:
			return i + 1
		case '(':
			if shut == ')' {
				return 0
			}
		}
	}
	return 0
}

func skipBlanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	return i
}
