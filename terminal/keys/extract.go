package keys

import "iter"

// findObject returns where the first JSON object of a text begins and ends, by its braces outside
// strings. Prose before the object is read by the same rules: a quotation mark opens a string, and
// a closing brace too many hides the next opening one.
func findObject(text string) (start, end int, ok bool) {
	depth, inString := 0, false
	start = -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // it hides the next character
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

// pieces returns the parts of a text from a { to its } with at most one level of braces between,
// from left to right, without those that are inside another. Strings are not heeded. Each byte is
// looked at once: only the two innermost open braces can still begin a piece.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var open []int     // at most two: an opening brace, and one inside of it
		var inner []string // closed inside of open[0]: pieces of their own if open[0] begins none
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
