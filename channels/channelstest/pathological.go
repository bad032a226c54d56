package channelstest

import "strings"

// PathologicalMarkdown has texts of about n bytes for which a careless Markdown parser needs
// quadratic time.
var PathologicalMarkdown = map[string]func(n int) string{
	"asterisks":          repeated("*"),
	"open emphasis":      repeated("*a "),
	"mixed emphasis":     repeated("*a_ "),
	"emphasis in thirds": repeated("***a** "),
	"closers":            func(n int) string { return strings.Repeat("_a ", n/6) + strings.Repeat("b* ", n/6) },
	"deep emphasis":      func(n int) string { return strings.Repeat("*_", n/4) + "a" + strings.Repeat("_*", n/4) },
	"tildes":             repeated("~~a "),
	"bars":               repeated("||a "),
	"only bars":          repeated("|"),
	"tildes in a line":   func(n int) string { return "x" + strings.Repeat("~", n) },
	"brackets":           repeated("["),
	"closing brackets":   repeated("]"),
	"nested brackets":    func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"open links":         repeated("[a]("),
	"open angles":        repeated("[a](<b)"),
	"open references":    repeated("[a][b"),
	"open titles":        repeated("[a](b 'c"),
	"links":              repeated("[a](https://b.org) "),
	"nested links":       repeated("[[a](https://b.org)"),
	"images":             repeated("![a"),
	"backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + "a")
		}
		return b.String()
	},
	"code":            repeated("`a` "),
	"tags":            repeated("<a "),
	"tag values":      repeated("<a b='"),
	"comments":        repeated("a <!-- "),
	"declarations":    repeated("a <!A "),
	"quotes":          repeated(">"),
	"quotes in lists": repeated("> - "),
	"quote lines":     repeated(strings.Repeat("> ", 200) + "a\n"),
	"numbers":         repeated("1. "),
	"staircase": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("  ", i) + "- a\n")
		}
		return b.String()
	},
	"items":       repeated("- a\n"),
	"loose items": repeated("- a\n\n"),
	"definitions": repeated("[a]: https://b.org\n"),
	"headings":    repeated("a\n=\n"),
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
	"many tables":       repeated("|a|\n|-|\n\n"),
	"e-mails":           repeated("_a_"),
	"URLs":              repeated("(https://a.bc/"),
	"references":        repeated("&amp;"),
	"ampersands":        repeated("&"),
	"backslashes":       repeated("\\"),
	"empty lines":       func(n int) string { return "a" + strings.Repeat("\n", n) + "b" },
	"spaces":            func(n int) string { return "a\n" + strings.Repeat(" ", n) + "b" },
	"empty quotes":      repeated(">\n\n"),
	"combining marks":   func(n int) string { return "a" + strings.Repeat("\u0301", n/2) },
	"one word":          repeated("a"),
	"emoji":             repeated("👍🏽"),
	"short closers":     repeated(strings.Repeat("_a ", 499) + strings.Repeat("b* ", 499) + "\n\n"),
	"short brackets":    repeated(strings.Repeat("[", 299) + strings.Repeat("]", 299) + "\n\n"),
	"short links":       repeated(strings.Repeat("[a](", 299) + "\n\n"),
	"short angles":      repeated(strings.Repeat("[a](<b)", 299) + "\n\n"),
	"short images":      repeated(strings.Repeat("![*a", 299) + strings.Repeat("](b)", 299) + "\n\n"),
	"short definitions": repeated(strings.Repeat("[a]: https://b.org\n", 499) + "\n"),
	"prose":             repeated("Some **bold** words, a [link](https://example.org) and `code`.\n\n"),
}

func repeated(s string) func(int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)) }
}
