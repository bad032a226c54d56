package channels_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

const benchBytes = 4 << 20

// hardTexts are 4 MiB each, made to be slow for a splitter that looks at anything twice too often.
var hardTexts = []struct{ name, unit, before string }{
	{name: "prose", unit: "The quick brown fox jumps over the lazy dog. It was not amused.\n\n"},
	{name: "no space", unit: "x"},
	{name: "one fence", before: "```go\n", unit: "\tif err != nil { return err }\n"},
	{name: "one line in a fence", before: "```\n", unit: "x"},
	{name: "fences", unit: "```\nx\n```\n"},
	{name: "combining marks", before: "a", unit: "\u0301"},
	{name: "Chinese", unit: "敏捷的棕色狐狸跳过了懒狗。"},
	{name: "emoji", unit: "👩‍👩‍👧‍👦"},
	{name: "white space", before: "a", unit: " "},
	{name: "empty lines in a fence", before: "```\n", unit: "\n"},
	{name: "brackets", unit: "["},
	{name: "links", unit: "[a](b)"},
	{name: "targets without end", unit: "[](a"},
	{name: "backticks", unit: "`"},
	{name: "code spans", unit: "`a` "},
	{name: "backticks apart", unit: "``` "},
	{name: "angles", unit: "<a:"},
	{name: "URLs", unit: "http://a "},
	{name: "scheme without end", unit: "a://"},
	{name: "quotes", unit: "> "},
	{name: "list", unit: "- a\n"},
	{name: "bars", unit: "|"},
	{name: "table", before: "|a|b|\n|-|-|\n", unit: "|1|2|\n"},
	{name: "no UTF-8", unit: "\xff\xf0\x9f"},
}

func hardText(before, unit string) string {
	return before + strings.Repeat(unit, (benchBytes-len(before))/len(unit))
}

// nestedLinks are links around links, all but the innermost too long for a part.
func nestedLinks() string {
	n := benchBytes / len("[a ](b)")
	return strings.Repeat("[a ", n) + strings.Repeat("](b)", n)
}

// growingBackticks are runs of every length, none of which closes another.
func growingBackticks() string {
	var b strings.Builder
	for n := 1; b.Len() < benchBytes; n++ {
		b.WriteString(strings.Repeat("`", n) + " ")
	}
	return b.String()
}

func BenchmarkSplit(b *testing.B) {
	bench := func(name, text string) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				channels.Split(text, 4096, channels.UTF16)
			}
		})
	}
	for _, h := range hardTexts {
		bench(h.name, hardText(h.before, h.unit))
	}
	bench("nested links", nestedLinks())
	bench("growing backticks", growingBackticks())
}
