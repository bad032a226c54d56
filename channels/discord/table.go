package discord

import (
	"strings"

	"github.com/rivo/uniseg"
)

// table is a table of Markdown.
type table struct {
	rows   [][]string // the first is the head
	right  []bool     // columns that are aligned to the right
	widths []int
}

// readTable reads the table whose head is at a line, and returns the line behind it. Nil is none.
func readTable(lines []string, i int) (*table, int) {
	if i+1 >= len(lines) || !strings.Contains(lines[i], "|") {
		return nil, i
	}
	head, rule := cells(lines[i]), cells(lines[i+1])
	if len(head) != len(rule) || !strings.Contains(lines[i+1], "|") {
		return nil, i
	}
	t := &table{widths: make([]int, len(head))}
	for _, r := range rule {
		dashes := strings.TrimSuffix(strings.TrimPrefix(r, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil, i
		}
		t.right = append(t.right, strings.HasSuffix(r, ":") && !strings.HasPrefix(r, ":"))
	}
	t.add(head)
	for i += 2; i < len(lines) && strings.Contains(lines[i], "|") && strings.TrimSpace(lines[i]) != ""; i++ {
		if _, ok := openFence(lines[i]); ok {
			break
		}
		t.add(cells(lines[i]))
	}
	return t, i
}

// add adds a row. Cells that the head has no column for are none of the table in Markdown; nothing
// is lost here.
func (t *table) add(row []string) {
	for i, c := range row {
		row[i] = plain(c)
		if i == len(t.widths) {
			t.widths, t.right = append(t.widths, 0), append(t.right, false)
		}
		t.widths[i] = max(t.widths[i], uniseg.StringWidth(row[i]))
	}
	t.rows = append(t.rows, row)
}

// plain is the text of a cell without what would only clutter code.
func plain(cell string) string {
	return strings.NewReplacer("**", "", "`", "", "\t", " ").Replace(cell)
}

// render writes the table as code, its columns below each other.
func (t *table) render() []string {
	out := []string{"```"}
	for i, row := range t.rows {
		var b strings.Builder
		for j, c := range row {
			if j > 0 {
				b.WriteString("  ")
			}
			gap := strings.Repeat(" ", t.widths[j]-uniseg.StringWidth(c))
			if t.right[j] {
				b.WriteString(gap + c)
			} else {
				b.WriteString(c + gap)
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
		if i == 0 {
			out = append(out, t.rule())
		}
	}
	return append(out, "```")
}

// rule is the line below the head.
func (t *table) rule() string {
	var parts []string
	for _, w := range t.widths {
		parts = append(parts, strings.Repeat("─", max(w, 1)))
	}
	return strings.Join(parts, "  ")
}

// cells cuts a row at its bars. A bar behind a backslash is text.
func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	if strings.HasSuffix(row, "|") && !strings.HasSuffix(row, `\|`) {
		row = row[:len(row)-1]
	}
	var out []string
	var cell strings.Builder
	for i := 0; i < len(row); i++ {
		switch {
		case row[i] == '\\' && i+1 < len(row) && row[i+1] == '|':
			cell.WriteByte('|')
			i++
		case row[i] == '|':
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(row[i])
		}
	}
	return append(out, strings.TrimSpace(cell.String()))
}
