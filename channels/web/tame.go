package web

import "strings"

// What is read as Markdown is bounded: the time that takes grows with the square of the marks in a
// paragraph, of the links in a line, and of the depth of lists and quotes. 64 KiB of nothing but
// "[a](" or "+ " would take seconds.
const (
	mostMarks   = 6000     // in a paragraph; the squares of all paragraphs together are at most that of one
	mostLinks   = 16 << 20 // links of a line times its length, of all lines together
	longestLine = 16 << 10
	// mostCells bounds tables, whose every row is filled up to the width of the widest.
	mostCells = 50_000
	// deepest is how many lists' items and quotes may begin in a line, mostItems in all lines
	// together; furthest is how far in, by which they nest over several lines.
	deepest, mostItems, furthest = 50, 10_000, 200
)

// tame tells whether a text can be read as Markdown in a reasonable time.
func tame(text string) bool {
	marks, widest, cells, squares, links, items := 0, 0, 0, 0, 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			marks, widest = 0, 0
			continue
		}
		widest = max(widest, strings.Count(line, "|"))
		cells += widest
		links += strings.Count(line, "](") * len(line)
		before := marks
		for i := range len(line) {
			if strings.IndexByte("*_[]<>`!~", line[i]) >= 0 {
				marks++
			}
		}
		squares += marks*marks - before*before
		n, far := begins(line)
		items += n
		if squares > mostMarks*mostMarks || links > mostLinks || cells > mostCells || len(line) > longestLine {
			return false
		}
		if n > deepest || far > furthest || items > mostItems {
			return false
		}
	}
	return true
}

// begins counts the lists' items and quotes that begin in a line, and tells in which column the
// last of them does.
func begins(line string) (n, column int) {
	for at := 0; ; n++ {
		rest := strings.TrimLeft(line, " \t")
		space := line[:len(line)-len(rest)]
		at += len(space) + 3*strings.Count(space, "\t")
		marker := markerOf(rest)
		if marker == 0 {
			return n, column
		}
		column = at
		at += marker
		line = rest[marker:]
	}
}

// markerOf is how long the mark is by which a list's item or a quote begins here, or 0.
func markerOf(line string) int {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	switch {
	case strings.HasPrefix(line, ">"):
		return 1
	case digits+1 >= len(line) || !strings.ContainsRune(" \t\r\n", rune(line[digits+1])):
		return 0
	case digits == 0 && strings.IndexByte("-+*", line[0]) >= 0, digits > 0 && strings.IndexByte(".)", line[digits]) >= 0:
		return digits + 1
	}
	return 0
}
