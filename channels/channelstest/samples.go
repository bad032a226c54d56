package channelstest

import (
	"fmt"
	"strings"
)

// numberedText returns a text of exactly size bytes whose words all differ, so that lost, repeated
// and moved words are detected.
func numberedText(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "word%06d", i)
		switch {
		case i%97 == 96:
			b.WriteString("\n\n")
		case i%11 == 10:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
	}
	text := strings.TrimRight(b.String()[:size], " \n") // trailing blanks would not count as text
	return text + strings.Repeat("z", size-len(text))
}

// unbrokenText returns a text of exactly size bytes without white space.
func unbrokenText(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%07dx", i)
	}
	return b.String()[:size]
}

// codeBlock returns a fenced code block between two sentences.
func codeBlock(lines int) string {
	var b strings.Builder
	b.WriteString("Here is the program:\n\n```go\n")
	for i := range lines {
		fmt.Fprintf(&b, "\tline%05d()\n", i)
		if i%20 == 19 {
			b.WriteByte('\n')
		}
	}
	b.WriteString("```\n\nThat was the program.")
	return b.String()
}

func markdownTable(rows int) string {
	var b strings.Builder
	b.WriteString("The numbers:\n\n| name | value |\n| --- | --- |\n")
	for i := range rows {
		fmt.Fprintf(&b, "| row%05d | value%05d |\n", i, i)
	}
	b.WriteString("\nThose were the numbers.")
	return b.String()
}

// graphemeClusters returns n characters, most of which consist of several runes. A sequence of 11
// has 27 runes and 37 UTF-16 units, which divide no network's limit, so that the cuts fall
// everywhere.
func graphemeClusters(n int) string {
	one := []string{"👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "e\u0301", "日", "한", "🏳️‍🌈", "x", "1️⃣", "a\u0303"}
	var b strings.Builder
	for i := range n {
		b.WriteString(one[i%len(one)])
	}
	return b.String()
}
