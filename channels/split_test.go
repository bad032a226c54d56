package channels_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
)

func TestMeasuresCountAsTheNetworksDo(t *testing.T) {
	for _, tt := range []struct {
		text         string
		utf16, runes int
	}{
		{"", 0, 0}, {"abc", 3, 3}, {"é", 1, 1}, {"狐", 1, 1}, {"👍", 2, 1}, {"👍🏽", 4, 2}, {"\xff", 1, 1},
	} {
		if n := channels.UTF16(tt.text); n != tt.utf16 {
			t.Errorf("UTF16(%q) = %d, want %d", tt.text, n, tt.utf16)
		}
		if n := channels.Runes(tt.text); n != tt.runes {
			t.Errorf("Runes(%q) = %d, want %d", tt.text, n, tt.runes)
		}
	}
}

func TestSplitPrefersTheBestSeam(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"nothing", "", 10, nil},
		{"only white space", " \n\t ", 1, nil},
		{"what fits stays as it is", " a b \n", 6, []string{" a b \n"}},
		{"an empty line before a heading", "aaaa aaaa a\n\nbbbb\n# h\ncc dd", 22, []string{"aaaa aaaa a", "bbbb\n# h\ncc dd"}},
		{"a heading before the end of a line", "aaaa aaaa a\n# h\nbbbb\ncccc dddd", 21, []string{"aaaa aaaa a", "# h\nbbbb\ncccc dddd"}},
		{"a list item before the end of a line", "aaaa aaaa a\n- b\nbbbb\ncccc dddd", 21, []string{"aaaa aaaa a", "- b\nbbbb\ncccc dddd"}},
		{"the end of a line before that of a sentence", "aaaa aaaa\nbb. cccc cccc", 18, []string{"aaaa aaaa", "bb. cccc cccc"}},
		{"the end of a sentence before that of a word", "aaa aaa. bbbb cccc cccc", 15, []string{"aaa aaa.", "bbbb cccc cccc"}},
		{"a sentence in quotes", "aaa \"aaa.\" bbbb cccc cccc", 17, []string{"aaa \"aaa.\"", "bbbb cccc cccc"}},
		{"the end of a word before its middle", "aaaa aaaa bbbbbbbbbb", 14, []string{"aaaa aaaa", "bbbbbbbbbb"}},
		{"a character where there is no space", "aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		{"no seam in the first half", "a\n\nbbbb bbbb bbbb cccc", 18, []string{"a\n\nbbbb bbbb bbbb", "cccc"}},
		{"a heading keeps with its text", "aaaa aaaa aaaa\nbb\n## h\n\ncccc cccc cc", 26, []string{"aaaa aaaa aaaa\nbb", "## h\n\ncccc cccc cc"}},
		{"empty lines at the seam go, indentation stays", "aaaa aaaa\n\n\n  - bbbb bbb", 13, []string{"aaaa aaaa", "  - bbbb bbb"}},
		{"Chinese is cut behind its full stop", "敏捷的狐狸。跳过了懒狗", 9, []string{"敏捷的狐狸。", "跳过了懒狗"}},
		{"a no-break space holds words together", "aaaa aa\u00a0bb", 8, []string{"aaaa", "aa\u00a0bb"}},
		{"white space longer than a part is one seam", "a" + strings.Repeat(" ", 50) + "b", 5, []string{"a", "b"}},
		{"an indentation longer than a part", strings.Repeat(" ", 50) + "bb cc", 4, []string{"bb", "cc"}},
		{"one character a part", "a bc\n\nd", 1, []string{"a", "b", "c", "d"}},
		{"a limit of nothing counts as one", "ab", 0, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := channels.Split(tt.text, tt.limit, channels.Runes)
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSplitKeepsWhatBelongsTogether(t *testing.T) {
	family := "👩‍👩‍👧‍👦" // 11 UTF-16 units
	for _, tt := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"surrogate pairs weigh two", "👍👍👍", 5, []string{"👍👍", "👍"}},
		{"joined emoji", family + family, 21, []string{family, family}},
		{"a cluster too long for any part", family, 6, []string{"👩‍👩‍", "👧‍👦"}},
		{"flags", "🇩🇪🇫🇷", 7, []string{"🇩🇪", "🇫🇷"}},
		{"combining marks", "aae\u0301", 3, []string{"aa", "e\u0301"}},
		{"a mark on a space", "aaaa \u0301bbb", 5, []string{"aaaa", " \u0301bbb"}},
		{"a mark behind a link", "[a](b)\u0301", 6, []string{"[a](b", ")\u0301"}},
		{"words before a cluster too long for any part", "aa " + family, 6, []string{"aa", "👩‍👩‍", "👧‍👦"}},
		{"a rune too heavy for any part", "👍a", 1, []string{"👍", "a"}},
		{"a link", "aaaa [b b](c d", 8, []string{"aaaa [b", "b](c d"}},
		{"a whole link", "aaaa [b b](c)", 9, []string{"aaaa", "[b b](c)"}},
		{"a link behind an escaped bracket", `aaaa \[b b](c)`, 9, []string{`aaaa \[b`, "b](c)"}},
		{"an image", "aaaaa![b b](c)", 10, []string{"aaaaa", "![b b](c)"}},
		{"a link with parentheses", "xxx [a](b_(c)_dd)", 13, []string{"xxx", "[a](b_(c)_dd)"}},
		{"a URL in a link that is too long", "[aaaa aaaa aaaa](bbbbbb)", 12, []string{"[aaaa aaaa", "aaaa", "](bbbbbb)"}},
		{"a link too long for any part", "[aaaaaaaa](bbbbbbbb)", 6, []string{"[aaaaa", "aaa](b", "bbbbbb", "b)"}},
		{"a code span over two lines", "aaa `b\nb` cc", 8, []string{"aaa", "`b\nb` cc"}},
		{"a code span with other backticks", "xx `a ``b c` d", 9, []string{"xx", "`a ``b c`", "d"}},
		{"no code span over two paragraphs", "aaa `b\n\nb` cc", 9, []string{"aaa `b", "b` cc"}},
		{"a URL", "see https://a.b/c?d=e. Next", 20, []string{"see", "https://a.b/c?d=e.", "Next"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := channels.Split(tt.text, tt.limit, channels.UTF16)
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSplitClosesAndReopensFences(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{
			"with the info string", "```go\naaaa\n\n  bbbb\n```", 20,
			[]string{"```go\naaaa\n\n```", "```go\n  bbbb\n```"},
		},
		{
			"tildes and long fences", "~~~~ c\n~~~\naaaa\nbbbb\nccc\n~~~~\nend.", 26,
			[]string{"~~~~ c\n~~~\naaaa\nbbbb\n~~~~", "~~~~ c\nccc\n~~~~\nend."},
		},
		{
			"indented", "- x\n  ```\n  aaaaaa\n  bbbbbb\n  ```", 30,
			[]string{"- x\n  ```\n  aaaaaa\n  ```", "  ```\n  bbbbbb\n  ```"},
		},
		{
			"on the line of a list item", "- ```c\n  aaaaaa\n  bbbbbb\n  ```", 28,
			[]string{"- ```c\n  aaaaaa\n  ```", "  ```c\n  bbbbbb\n  ```"},
		},
		{
			"in a quote", "> ```\n> aaaaaaaa\n> bbbbbbbbbbbbbbbb\n> ```\nx", 32,
			[]string{"> ```\n> aaaaaaaa\n> ```", "> ```\n> bbbbbbbbbbbbbbbb\n> ```\nx"},
		},
		{
			"in the middle of a line of a quote", "> ```\n> aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> ```", 32,
			[]string{"> ```\n> aaaaaaaaaaaaaaaaaa\n> ```", "> ```\n> aaaaaaaaaa\n> ```"},
		},
		{
			"a quote that ends", "> ```\n> aaaaaaaaaaaa\nbbbb bbbb bbbb", 30,
			[]string{"> ```\n> aaaaaaaaaaaa", "bbbb bbbb bbbb"},
		},
		{
			"in the middle of a line", "```\naaaaaaaaaaaaaaaa\n```", 18,
			[]string{"```\naaaaaaaaaa\n```", "```\naaaaaa\n```"},
		},
		{
			"left open at the end", "```\naaaaaaaa\nbbbbbbbb\n", 18,
			[]string{"```\naaaaaaaa\n```", "```\nbbbbbbbb\n"},
		},
		{
			"a head too long to repeat", "```abcdefghijkl\naaaa\nbbbb\n```", 24,
			[]string{"```abcdefghijkl\naaaa\n```", "```\nbbbb\n```"},
		},
		{
			"a head too long for a part", "```abcdefghijklmnopqr\naaaa\n```", 16,
			[]string{"```abcdefghi\n```", "```\njklmnopq\n```", "```\nr\naaaa\n```"},
		},
		{
			"what is no closing fence", "```\n```x\n    ```\naa\nbb\n```", 24,
			[]string{"```\n```x\n    ```\naa\n```", "```\nbb\n```"},
		},
		{
			"marks inside a line do not start one", "```\naaaaaaaaa ```\n```", 17,
			[]string{"```\naaaaaaaa\n```", "```\na ```\n```"},
		},
		{
			"not right behind the head", "aaaaaa\n```go\nbbbbbbbbbbbb\n```", 24,
			[]string{"aaaaaa\n```go\nbbbbbbb\n```", "```go\nbbbbb\n```"},
		},
		{
			"not right before the closing line", "```\naaaaaa\nbbb\n``````", 20,
			[]string{"```\naaaaaa\n```", "```\nbbb\n``````"},
		},
		{
			"not inside the closing line", "```\n" + strings.Repeat("a", 22) + "\n```            \nb", 40,
			[]string{"```\n" + strings.Repeat("a", 21) + "\n```", "```\na\n```            \nb"},
		},
		{
			"a closing line too long for a part", "```\naa\n" + strings.Repeat("`", 20), 18,
			[]string{"```\naa\n```", "```\n``````````\n```", "```\n``````````"},
		},
		{
			"what is no opening fence", "```a```\nbbbb bbbb bbbb", 17,
			[]string{"```a```\nbbbb bbbb", "bbbb"},
		},
		{
			"marks inside a text do not start one", "aaaa aaaa ``` bbbb", 12,
			[]string{"aaaa", "aaaa ```", "bbbb"},
		},
		{
			"left open, but for a line break too many", "```\naaaaaaaa\nbbbbbbbbbbbbbb\n", 18,
			[]string{"```\naaaaaaaa\n```", "```\nbbbbbbbbbbbbbb"},
		},
		{
			"before it rather than inside", "aaaaaaaaaa\n```\nbbbb\nbbbbbbbb\n```", 24,
			[]string{"aaaaaaaaaa", "```\nbbbb\nbbbbbbbb\n```"},
		},
		{
			"with carriage returns", "```c\r\naaaaaaaa\r\nbb\r\n```\r\ncccc\r\ncc", 28,
			[]string{"```c\r\naaaaaaaa\r\nbb\r\n```", "cccc\r\ncc"},
		},
		{
			"cut with carriage returns", "```c\r\naaaaaaaa\r\nbbbbbb\r\n```", 24,
			[]string{"```c\r\naaaaaaaa\n```", "```c\nbbbbbb\r\n```"},
		},
		{
			"behind it rather than inside", "```\naaaa\n```\nbbbb\nbb", 18,
			[]string{"```\naaaa\n```", "bbbb\nbb"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := channels.Split(tt.text, tt.limit, channels.UTF16)
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSplitRepeatsTheHeadOfATable(t *testing.T) {
	const head = "|a|b|\n|-|-|\n"
	for _, tt := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"before the next rows", head + "|1|1|\n|2|2|\n|3|3|", 26, []string{head + "|1|1|\n|2|2|", head + "|3|3|"}},
		{"but not before what follows", head + "|1|1|\n|2|2|\nafter it", 26, []string{head + "|1|1|\n|2|2|", "after it"}},
		{"but not where it takes half a part", head + "|1|1|\n|2|2|", 22, []string{head + "|1|1|", "|2|2|"}},
		{
			"but not where a row needs the room", head + "|1|1|\n|222222|222222222|", 26,
			[]string{head + "|1|1|", "|222222|222222222|"},
		},
		{
			"but not inside a row", head + "|1|1|\n|2222 2222 2222|2222 2222 2222|", 26,
			[]string{head + "|1|1|", "|2222 2222 2222|2222 2222", "2222|"},
		},
		{
			"with carriage returns", "|a|b|\r\n|-|-|\r\n|1|1|\r\n|2|2|\r\n|3|3|", 28,
			[]string{"|a|b|\r\n|-|-|\r\n|1|1|\r\n|2|2|", "|a|b|\r\n|-|-|\r\n|3|3|"},
		},
		{"rows stay whole", "aaaa aaaa aaaa\n" + head + "|1 1|1 1|", 28, []string{"aaaa aaaa aaaa", head + "|1 1|1 1|"}},
		{
			"before it rather than inside", "aaaa aaaa aaaa aaaa\n" + head + "|1|1|\n|2|2|", 37,
			[]string{"aaaa aaaa aaaa aaaa", head + "|1|1|\n|2|2|"},
		},
		{
			"behind it rather than later", head + "|1|1|\naaaaaaaaaaaa\naaaa", 34,
			[]string{head + "|1|1|", "aaaaaaaaaaaa\naaaa"},
		},
		{
			"indented rows", "x\n  |a|b|\n  |-|-|\n  |1 1|1|\n  |2 2|2|", 33,
			[]string{"x\n  |a|b|\n  |-|-|\n  |1 1|1|", "  |a|b|\n  |-|-|\n  |2 2|2|"},
		},
		{
			"an indented row that is long", "  |a|b|\n  |-|-|\n  |1|1|\n  |2222 2222 2222 2222|2|", 47,
			[]string{"  |a|b|\n  |-|-|\n  |1|1|", "  |a|b|\n  |-|-|\n  |2222 2222 2222 2222|2|"},
		},
		{
			"a delimiter row too long", "xxxxx\n|aa aa|bb bb|\n|--------|--------|\n|1|2|", 16,
			[]string{"xxxxx", "|aa aa|bb bb|", "|--------|------", "--|\n|1|2|"},
		},
		{"where there is one", "|a|b|\n|-|\n|1 1|1|\n|2 2|2|", 22, []string{"|a|b|\n|-|\n|1 1|1|", "|2 2|2|"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := channels.Split(tt.text, tt.limit, channels.UTF16)
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}
