package entities_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

func TestALinkThatShowsAnotherAddressSaysWhereItLeads(t *testing.T) {
	const evil = "<text_link https://evil.example>"
	testGolden(t, []golden{
		{"an address", "go [https://bank.example](https://evil.example) now", "go " + evil + "https://bank.example</text_link> (leads to evil.example) now"},
		{"its own address", "[https://evil.example/x](https://evil.example)", evil + "https://evil.example/x</text_link>"},
		{"no address", "[here](https://evil.example)", evil + "here</text_link>"},
		{"bold within", "[**bank.example**](https://evil.example) x", evil + "<bold>bank.example</bold></text_link> (leads to evil.example) x"},
		{"bold around", "**a [bank.example](https://evil.example) b**", "<bold>a " + evil + "bank.example</text_link> (leads to evil.example) b</bold>"},
		{"bold up to the link", "**a [bank.example](https://evil.example)** b", "<bold>a " + evil + "bank.example</text_link> (leads to evil.example)</bold> b"},
		{"by reference", "[bank.example][1] x\n\n[1]: https://evil.example", evil + "bank.example</text_link> (leads to evil.example) x"},
		{"a picture", "![bank.example](https://evil.example)", evil + "bank.example</text_link> (leads to evil.example)"},
		{"written with references", "[bank&#46;example](https://evil.example)", evil + "bank.example</text_link> (leads to evil.example)"},
		{"a target with references", "[bank.example](https://bank.example&#64;evil.example)", "<text_link https://bank.example@evil.example>bank.example</text_link> (leads to evil.example)"},
		{"half of it outside", "[bank](https://evil.example).example", evil + "bank</text_link> (leads to evil.example).example"},
		{"in two links", "[bank](https://evil.example)[.example](https://evil.example/)", evil + "bank</text_link> (leads to evil.example)<text_link https://evil.example/>.example</text_link> (leads to evil.example)"},
		{"in a quote", "> [bank.example](https://evil.example)\n\nnext", "<blockquote>" + evil + "bank.example</text_link> (leads to evil.example)</blockquote>\n\nnext"},
		{"over two lines", "[https://bank.example\nand more](https://evil.example) x", evil + "https://bank.example\nand more</text_link> (leads to evil.example) x"},
		{"as code", "[`bank.example`](https://evil.example)", evil + "bank.example</text_link> (leads to evil.example)"},
		{"two of them", "[a.example](https://b.example) [c.example](https://d.example)", "<text_link https://b.example>a.example</text_link> (leads to b.example) <text_link https://d.example>c.example</text_link> (leads to d.example)"},
		{"behind wide characters", "👍🏽 [bank.example](https://evil.example) 👍🏽 **x**", "👍🏽 " + evil + "bank.example</text_link> (leads to evil.example) 👍🏽 <bold>x</bold>"},
	})
}

func TestReferencesBringBackNothingThatTurnsTheDirection(t *testing.T) {
	for _, markdown := range []string{"a &#x202e;b", "a &#8238;b", "a &#x2067;b", "[a&#x202E;b](https://a.example)", "a \\&#x202e;b"} {
		if got := read(channels.SanitizeBidiText(markdown)); strings.ContainsAny(got.Text, "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069") {
			t.Errorf("%q becomes %+q", markdown, got.Text)
		}
	}
}
