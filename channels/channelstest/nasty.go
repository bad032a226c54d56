package channelstest

import "strings"

// PathologicalMarkdown are texts of about n bytes that a careless reader of Markdown takes the square of their
// length for.
var PathologicalMarkdown = map[string]func(n int) string{
	"asterisks":          unit("*"),
	"open emphasis":      unit("*a "),
	"mixed emphasis":     unit("*a_ "),
	"emphasis in thirds": unit("***a** "),
	"closers":            func(n int) string { return strings.Repeat("_a ", n/6) + strings.Repeat("b* ", n/6) },
	"deep emphasis":      func(n int) string { return strings.Repeat("*_", n/4) + "a" + strings.Repeat("_*", n/4) },
	"tildes":             unit("~~a "),
	"bars":               unit("||a "),
	"only bars":          unit("|"),
	"tildes in a line":   func(n int) string { return "x" + strings.Repeat("~", n) },
	"brackets":           unit("["),
	"closing brackets":   unit("]"),
	"nested brackets":    func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"open links":         unit("[a]("),
	"open angles":        unit("[a](<b)"),
	"open references":    unit("[a][b"),
	"open titles":        unit("[a](b 'c"),
	"links":              unit("[a](https://b.org) "),
	"nested links":       unit("[[a](https://b.org)"),
	"images":             unit("![a"),
	"backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + "a")
		}
		return b.String()
	},
	"code":            unit("`a` "),
	"tags":            unit("<a "),
	"tag values":      unit("<a b='"),
	"comments":        unit("a <!-- "),
	"declarations":    unit("a <!A "),
	"quotes":          unit(">"),
	"quotes in lists": unit("> - "),
	"quote lines":     unit(strings.Repeat("> ", 200) + "a\n"),
	"numbers":         unit("1. "),
	"staircase": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("  ", i) + "- a\n")
		}
		return b.String()
	},
	"items":       unit("- a\n"),
	"loose items": unit("- a\n\n"),
	"definitions": unit("[a]: https://b.org\n"),
	"headings":    unit("a\n=\n"),
	"long table":  func(n int) string { return "|a|b|\n|-|-|\n" + strings.Repeat("|1|2|\n", n/6) },
	"wide table":  func(n int) string { return strings.Repeat("|a", n/4) + "\n" + strings.Repeat("|-", n/4) + "\n" },
	"ragged table": func(n int) string {
		return strings.Repeat("|a", n/8) + "\n" + strings.Repeat("|-", n/8) + "\n" + strings.Repeat("a\n", n/4)
	},
	"64 columns": func(n int) string {
		return strings.Repeat("|a", 64) + "\n" + strings.Repeat("|-", 64) + "\n" + strings.Repeat("|a\n", n/3)
	},
	"one long cell": func(n int) string {
		return "|a|b|\n|-|-|\n|" + strings.Repeat("c", n/2) + "|d|\n" + strings.Repeat("|1|2|\n", n/12)
	},
	"escaped bars":      func(n int) string { return "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", n/7) },
	"many tables":       unit("|a|\n|-|\n\n"),
	"e-mails":           unit("_a_"),
	"URLs":              unit("(https://a.bc/"),
	"references":        unit("&amp;"),
	"ampersands":        unit("&"),
	"backslashes":       unit("\\"),
	"empty lines":       func(n int) string { return "a" + strings.Repeat("\n", n) + "b" },
	"spaces":            func(n int) string { return "a\n" + strings.Repeat(" ", n) + "b" },
	"empty quotes":      unit(">\n\n"),
	"combining marks":   func(n int) string { return "a" + strings.Repeat("\u0301", n/2) },
	"one word":          unit("a"),
	"emoji":             unit("👍🏽"),
	"short closers":     unit(strings.Repeat("_a ", 499) + strings.Repeat("b* ", 499) + "\n\n"),
	"short brackets":    unit(strings.Repeat("[", 299) + strings.Repeat("]", 299) + "\n\n"),
	"short links":       unit(strings.Repeat("[a](", 299) + "\n\n"),
	"short angles":      unit(strings.Repeat("[a](<b)", 299) + "\n\n"),
	"short images":      unit(strings.Repeat("![*a", 299) + strings.Repeat("](b)", 299) + "\n\n"),
	"short definitions": unit(strings.Repeat("[a]: https://b.org\n", 499) + "\n"),
	"prose":             unit("Some **bold** words, a [link](https://example.org) and `code`.\n\n"),
}

func unit(s string) func(int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)) }
}
