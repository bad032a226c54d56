package channels

import "strings"

// table is a table of GitHub's Markdown, from the start of its head row to the end of its last row.
type table struct {
	span
	rows int    // where the row behind the delimiter row starts
	head string // the head row and the delimiter row, each with its line break
}

// addTable reads the table whose head row is the line at p, if it is one. Rows stay whole, and the
// head keeps with the first of them.
func (l *layouter) addTable(p, end int) (int, bool) {
	if end >= len(l.text) || !isTableHead(l.text[p:end], l.text[end+1:lineEnd(l.text, end+1)]) {
		return 0, false
	}
	l.endParagraph(p)
	delimiter := lineEnd(l.text, end+1)
	from := l.to(p)
	t := table{span: span{p, beforeCR(l.text, delimiter)}, rows: delimiter + 1, head: l.text[p:delimiter] + "\n"}
	l.row(p, end)
	l.row(end+1, delimiter)
	l.keep(t.span, from)
	next := min(t.rows, len(l.text))
	for q := next; q < len(l.text); q = next {
		e := lineEnd(l.text, q)
		if _, ok := readFenceHead(l.text[q:]); ok || !strings.Contains(l.text[q:e], "|") {
			break
		}
		l.row(q, e)
		t.end = beforeCR(l.text, e)
		if q == t.rows {
			l.keep(t.span, from)
		}
		next = min(e+1, len(l.text))
	}
	l.tables = append(l.tables, t)
	return next, true
}

// row has a row stay whole, or what is in it when the row is too long.
func (l *layouter) row(p, end int) {
	from := l.to(p)
	l.inline(p, end)
	l.keep(span{p, beforeCR(l.text, end)}, from)
}

// isTableHead tells whether two lines begin a table: as many cells in both, and only dashes in the
// second.
func isTableHead(head, delimiter string) bool {
	if !strings.Contains(head, "|") || !strings.Contains(delimiter, "|") || strings.Trim(delimiter, "|-: \t\r") != "" {
		return false
	}
	cells := splitRow(delimiter)
	for _, c := range cells {
		c = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(c), ":"), ":")
		if c == "" || strings.Trim(c, "-") != "" {
			return false
		}
	}
	return len(splitRow(head)) == len(cells)
}

// splitRow cuts a table row at its bars. A bar behind a backslash is text.
func splitRow(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	if strings.HasSuffix(row, "|") && !strings.HasSuffix(row, `\|`) {
		row = row[:len(row)-1]
	}
	var cells []string
	start := 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, row[start:i])
			start = i + 1
		}
	}
	return append(cells, row[start:])
}
