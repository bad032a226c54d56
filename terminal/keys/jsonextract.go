package keys

import "iter"

// findObject returns the position of the first JSON object in a text, by counting braces outside
// strings. Text before the object follows the same rules: a quotation mark starts a string, and an
// extra closing brace hides the next opening one.
func findObject(text string) (start, end int, ok bool) {
	depth, inString := 0, false
	start = -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // skips the escaped character
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			if depth == 0 {
				start = i
			}
			depth++
		case c == '}':
			depth--
			if depth == 0 && start >= 0 {
				return start, i + 1, true
			}
		}
	}
	return 0, 0, false
}

// findPieces returns the substrings from a { to its } with at most one level of braces between,
// from left to right and without nested ones. Strings are ignored. Each byte is read once: only the
// two innermost open braces can start a piece.
func findPieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var open []int     // at most two: an opening brace and one inside it
		var inner []string // closed inside open[0]; pieces themselves if open[0] is never closed
		flush := func() bool {
			for _, p := range inner {
				if !yield(p) {
					return false
				}
			}
			inner = inner[:0]
			return true
		}
		for i := range len(text) {
			switch c := text[i]; {
			case c == '{' && len(open) == 2:
				if !flush() {
					return
				}
				open[0], open[1] = open[1], i
			case c == '{':
				open = append(open, i)
			case c == '}' && len(open) == 2:
				inner = append(inner, text[open[1]:i+1])
				open = open[:1]
			case c == '}' && len(open) == 1:
				inner = inner[:0]
				if !yield(text[open[0] : i+1]) {
					return
				}
				open = open[:0]
			}
		}
		flush()
	}
}
