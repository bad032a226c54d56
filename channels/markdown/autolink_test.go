package markdown_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/wanttest"
)

// autoLinks is a renderer that collects the addresses that are links by themselves.
type autoLinks struct{ urls []string }

func (a *autoLinks) Begin(e markdown.Element) {
	if e.Kind == markdown.AutoLink {
		a.urls = append(a.urls, e.URL)
	}
}
func (*autoLinks) End(markdown.Element) {}
func (*autoLinks) Text(string)          {}
func (*autoLinks) Break(string)         {}
func (*autoLinks) Table(markdown.Table) {}

func TestAddressesInATextAreLinksByThemselves(t *testing.T) {
	got := &autoLinks{}
	markdown.Walk("see https://a.example/x?y=1, <https://b.example> www.c.example me@d.example `https://e.example` [f](https://f.example)", channels.Markdown, got)
	want := []string{"https://a.example/x?y=1", "https://b.example", "http://www.c.example", "mailto:me@d.example"}
	wanttest.EqualSlices(t, "got", got.urls, want)
}

// shownText is a renderer that collects what a reader sees.
type shownText struct{ text string }

func (*shownText) Begin(markdown.Element) {}
func (*shownText) End(markdown.Element)   {}
func (s *shownText) Text(text string)     { s.text += text }
func (s *shownText) Break(indent string)  { s.text += "\n" + indent }
func (*shownText) Table(markdown.Table)   {}

func TestAnAddressInBracketsThatNamesAnotherHostGetsAWarning(t *testing.T) {
	for source, want := range map[string]string{
		"Open <https://bank.example@evil.example/x>.":   "Open https://bank.example@evil.example/x (leads to evil.example).",
		"<https://bank.example:443@evil.example>":       "https://bank.example:443@evil.example (leads to evil.example)",
		"<https://раураl.example>":                      "https://раураl.example (leads to xn--l-7sba6dbr.example)",
		"Open <https://bank.example/a_b?c=x@y.example>": "Open https://bank.example/a_b?c=x@y.example",
		"<http://localhost:8080/x> <me@bank.example>":   "http://localhost:8080/x me@bank.example",
	} {
		got := &shownText{}
		if markdown.Walk(source, channels.Markdown, got); got.text != want {
			t.Errorf("%s is shown as %q, want %q", source, got.text, want)
		}
	}
}
