package channelstest

import (
	"fmt"
	"strings"
)

// numbered is text of exactly size bytes, in which each word is different, so that whatever is
// lost, doubled or moved shows.
func numbered(size int) string {
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
	text := strings.TrimRight(b.String()[:size], " \n") // a blank at the end would not count as text
	return text + strings.Repeat("z", size-len(text))
}

// unbroken is text of exactly size bytes without a place to cut.
func unbroken(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%07dx", i)
	}
	return b.String()[:size]
}

// code is a fenced block of some lines between two sentences.
func code(lines int) string {
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

func table(rows int) string {
	var b strings.Builder
	b.WriteString("The numbers:\n\n| name | value |\n| --- | --- |\n")
	for i := range rows {
		fmt.Fprintf(&b, "| row%05d | value%05d |\n", i, i)
	}
	b.WriteString("\nThose were the numbers.")
	return b.String()
}

// clusters are what a reader sees as one character and a computer as several. A round of them is 27
// runes and 37 UTF-16 units long, which divide no network's limit, so that cuts fall everywhere.
func clusters(n int) string {
	one := []string{"👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "e\u0301", "日", "한", "🏳️‍🌈", "x", "1️⃣", "a\u0303"}
	var b strings.Builder
	for i := range n {
		b.WriteString(one[i%len(one)])
	}
	return b.String()
}
