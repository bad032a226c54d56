package channels_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/fuzztest"
)

var seedTexts = []string{
	"", " \n\t", "word", "two words", "One. Two! Three? Four.",
	"# Heading\n\npara\n\n- a\n- b\n  - c\n\n1. x\n2. y\n",
	"before\n\n```go\nfunc main() {\n\n\tprintln(1)\n}\n```\n\nafter",
	"~~~\ncode without end\n\n  more\n", "````md\n```go\nx\n```\n````\nafter",
	"- ```sh\n  ls -l\n  ```\n- next", "> ```\n> quoted\n> code\n> ```\nafter",
	"   ```py info string\n   x = 1\n   ```", "```" + strings.Repeat("i", 100) + "\nx\n```",
	"see [the text](https://example.org/a_(b)) and ![alt](<a b> \"title\") now",
	"<https://example.org/path> and <me@example.org> or https://example.org/a?b=c, ok. www.example.org",
	"`code` and ``code with ` in it`` and ` open", "[[[a](b)](c)](d)", "[[[[[[", "``````````", "](](](",
	"| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | `x|y` |\n\nafter", "a|b\n-|-\n1|2\nno row",
	"👩‍👩‍👧‍👦👍🏽🇩🇪🇫🇷 e\u0301a\u0301\u0302\u0303 \u0301x", "敏捷的棕色狐狸，跳过了懒狗。第二句！",
	"a\r\nb\r\n\r\n```\r\nc\r\n```\r\n", "\xff\xfe\xf0\x9f", "a\u00a0b\u2028c\u3000d", "\u0600[a](b)\u0301",
	strings.Repeat("a ", 50) + "```" + strings.Repeat(" b", 50), "```\n" + strings.Repeat("`", 60) + "x\n```",
}

func FuzzSplit(f *testing.F) {
	for i, s := range seedTexts {
		f.Add(s, uint16(i%40), i%2 == 0)
		f.Add(s, uint16(16+i), i%2 != 0)
	}
	for i, s := range fuzztest.Mutate(seedTexts, 2000) {
		f.Add(s, uint16(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16, utf16 bool) {
		measure := channels.Measure(channels.Runes)
		if utf16 {
			measure = channels.UTF16
		}
		// Short limits find more, and zero counts as one.
		most := max(1, int(limit%256))
		parts := channels.Split(text, int(limit%256), measure)
		if broken := checkParts(text, most, measure, parts); broken != "" {
			t.Errorf("%q cut at %d: %s\n%q", text, most, broken, parts)
		}
	})
}

// words are what random texts are put together from.
var words = []string{
	"a", "word", "longer-word", "Sentence.", "(see", "**bold**", "é", "e\u0301", "👩‍👩‍👧‍👦", "狐狸。", "[", "]", "(", ")", "`", "``",
	"[link](https://example.org)", "![i](j)", "`code`", "<http://a.b>", "https://example.org/x", "|", "\\", "*", "_",
	" ", " ", " ", " ", "\n", "\n", "\n\n", "\n# Heading\n", "\n- item ", "\n    deep ", "\n> quote ",
	"\n```\n", "\n```go\n", "\n~~~\n", "\n|a|b|\n|-|-|\n", "\n|1|2|\n", "\r\n", "\t", "\u00a0",
}

func TestSplitKeepsItsPromisesForRandomMarkdown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := 1000
	if os.Getenv("NANOBOT_LONG") == "1" {
		texts = 50_000
	}
	for range texts {
		var b strings.Builder
		for range r.IntN(80) {
			b.WriteString(words[r.IntN(len(words))])
		}
		text, limit := b.String(), 2+r.IntN(80)
		for name, measure := range map[string]channels.Measure{"UTF16": channels.UTF16, "Runes": channels.Runes} {
			parts := channels.Split(text, limit, measure)
			if broken := checkParts(text, limit, measure, parts); broken != "" {
				t.Fatalf("%q cut at %d by %s: %s\n%q", text, limit, name, broken, parts)
			}
		}
	}
}

func TestSplitKeepsWholeWhatFitsAPart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	forms := []string{
		"[link %d a b](https://example.org/%[1]d)", "![image %d](<a b>)", "[![both %d](x y)](https://example.org)",
		"<https://example.org/%d>", "https://example.org/a_(b)_%d?c=d&e", "www.example.org/%d", "`code %d  a b`",
		"``code %d ` b``", "[a `]( %d` b](c \"t i\")",
	}
	for range 2000 {
		var b strings.Builder
		var whole []string
		for i := range 30 {
			w := fmt.Sprintf(forms[r.IntN(len(forms))], i+100)
			whole = append(whole, w)
			b.WriteString(w + []string{" ", ", ", "\n", ". Then ", "\n\n", " \n", "x y z "}[r.IntN(7)])
		}
		limit := 50 + r.IntN(60)
		parts := channels.Split(b.String(), limit, channels.Runes)
		for _, w := range whole {
			if n := strings.Count(strings.Join(parts, "\x00"), w); n != 1 {
				t.Fatalf("%q is found %d times, cut at %d:\n%q", w, n, limit, parts)
			}
		}
	}
}

func TestSplitKeepsEveryRowOfATableUnderItsHead(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const head = "| a | b |\n|:--|--:|\n"
	for range 2000 {
		text := strings.Repeat("intro ", r.IntN(10)) + "\n" + head
		var rows []string
		for i := range 30 {
			rows = append(rows, fmt.Sprintf("| %d | %s |", i+100, strings.Repeat("b ", r.IntN(15))))
		}
		text += strings.Join(rows, "\n") + "\nafter"
		parts := channels.Split(text, 64+r.IntN(100), channels.Runes)
		for _, p := range parts {
			_, body, ok := strings.Cut(p, head)
			if strings.Contains(p, "|") && (!ok || !strings.Contains(body, "|")) {
				t.Fatalf("part without head or row: %q", p)
			}
		}
		for _, row := range rows {
			if n := strings.Count("\n"+strings.Join(parts, "\n")+"\n", "\n"+row+"\n"); n != 1 {
				t.Fatalf("row %q is found %d times in %q", row, n, parts)
			}
		}
	}
}

func TestSplitKeepsEveryLineOfCode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lines := []string{"", "", "  ", "x", "\tif x {", "    }", "# no heading", "- no item", "|a|b|", "|-|-|", "a. b. ", "[x](y", "`", "é👍"}
	for range 5000 {
		var code []string
		for range 1 + r.IntN(60) {
			code = append(code, lines[r.IntN(len(lines))])
		}
		mark := []string{"```", "~~~", "`````", "  ```", "      ~~~~"}[r.IntN(5)]
		head := mark + []string{"", "go", " c x=1"}[r.IntN(3)]
		body := strings.Join(code, "\n")
		limit := 64 + r.IntN(64)
		parts := channels.Split(head+"\n"+body+"\n"+mark, limit, channels.UTF16)
		var got []string
		for _, p := range parts {
			in, ok := strings.CutPrefix(p, head+"\n")
			in, ok2 := strings.CutSuffix(in, "\n"+mark)
			if !ok || !ok2 {
				t.Fatalf("part %q is not fenced by %q and %q", p, head, mark)
			}
			got = append(got, in)
		}
		if j := strings.Join(got, "\n"); j != body {
			t.Fatalf("code changed at limit %d\n got %q\nwant %q", limit, j, body)
		}
	}
}
