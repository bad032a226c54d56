package web_test

import (
	"strings"
	"testing"
)

func TestALinkOnThePageThatShowsAnotherAddressSaysWhereItLeads(t *testing.T) {
	r := newFixture(t)
	const note = "</a> (leads to evil.example)"
	for text, marked := range map[string]bool{
		"[https://bank.example](https://evil.example)":                 true,
		"[**bank**.example](https://evil.example)":                     true,
		"[`bank.example`](https://evil.example)":                       true,
		"[bank.example][1]\n\n[1]: https://evil.example":               true,
		"![bank.example](https://evil.example)":                        true,
		"[bank&#46;example](https://evil.example)":                     true,
		"[bank.example](https://bank.example&#64;evil.example)":        true,
		"[bank.example](https://bank.example\\@evil.example)":          true,
		"[bank](https://evil.example).example":                         true,
		"[bank](https://evil.example)[.example](https://evil.example)": true,
		"| a |\n| --- |\n| [bank.example](https://evil.example) |":     true,
		"- > # [bank.example](https://evil.example)":                   true,
		"[bänk.example](https://evil.example)":                         true,
		"[evil.example](https://evil.example)":                         false,
		"[evil.example](https://EVIL.example./x)":                      false,
		"[here](https://evil.example)":                                 false,
		"[bänk.example](https://bänk.example)":                         false,
		"https://evil.example":                                         false,
		"`[bank.example](https://evil.example)`":                       false,
		"```\n[bank.example](https://evil.example)\n```":               false,
	} {
		if got := r.renderInChat(text); strings.Contains(got, note) != marked || !marked && strings.Contains(got, "leads to") {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

func TestBidiOverridesAreVisibleOnThePage(t *testing.T) {
	r := newFixture(t)
	for text, want := range map[string]string{
		"a\u202eb": "a⟨U+202E⟩b", "`a\u202eb`": "a⟨U+202E⟩b", // what is written as a reference is left out
		"a&#x202e;b": "ab", "a&#8238;b": "ab", "[a&#x202E;b](https://a.example)": "ab", "[a](x:&#x202e;b)": "a (x:b)",
	} {
		if got := r.renderInChat(text); !strings.Contains(got, want) || strings.ContainsRune(got, '\u202e') {
			t.Errorf("%+q is shown as %+q", text, got)
		}
	}
	if got := r.renderInChat("שלום \u2067אב\u2069 \u200f!"); !strings.Contains(got, "שלום \u2067אב\u2069 \u200f!") {
		t.Errorf("Hebrew is shown as %+q", got)
	}
}
