package markdown_test

import (
	"slices"
	"testing"

	"nanobot/channels"
	"nanobot/channels/markdown"
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
	if !slices.Equal(got.urls, want) {
		t.Errorf("got %q, want %q", got.urls, want)
	}
}
