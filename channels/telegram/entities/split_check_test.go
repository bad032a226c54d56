package entities_test

import (
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"nanobot/channels"
	"nanobot/channels/telegram/entities"
)

// checkParts says which promise of Split the parts of a text break, or "".
func checkParts(whole entities.Text, limit int, parts []entities.Text) string {
	if visible(whole.Text) != (len(parts) > 0) {
		return fmt.Sprintf("%d parts", len(parts))
	}
	styles := stylesOf(whole)
	clusters := clustersOf(whole.Text)
	pos, unit := 0, 0 // in the whole text
	for i, p := range parts {
		if wrong := check(p); wrong != "" {
			return fmt.Sprintf("part %d: %s", i, wrong)
		}
		if n := channels.UTF16(p.Text); n > limit && utf8.RuneCountInString(p.Text) > 1 || n == 0 {
			return fmt.Sprintf("part %d has %d units", i, n)
		}
		for !strings.HasPrefix(whole.Text[pos:], p.Text) {
			r, n := utf8.DecodeRuneInString(whole.Text[pos:])
			if n == 0 || visible(string(r)) {
				return fmt.Sprintf("part %d does not follow from %q", i, whole.Text[pos:])
			}
			pos, unit = pos+n, unit+channels.UTF16(string(r))
		}
		if i > 0 && inCluster(whole.Text, clusters, pos, limit) {
			return fmt.Sprintf("part %d starts inside a cluster", i)
		}
		if i < len(parts)-1 && inCluster(whole.Text, clusters, pos+len(p.Text), limit) {
			return fmt.Sprintf("part %d ends inside a cluster", i)
		}
		units := utf16.Encode([]rune(p.Text))
		for u, set := range stylesOf(p) {
			if !maps.Equal(set, styles[unit+u]) && len(p.Entities) < 100 && visible(string(rune(units[u]))) {
				return fmt.Sprintf("part %d has %v at unit %d, and the whole %v", i, set, u, styles[unit+u])
			}
		}
		pos, unit = pos+len(p.Text), unit+channels.UTF16(p.Text)
	}
	if visible(whole.Text[pos:]) {
		return fmt.Sprintf("%q is lost", whole.Text[pos:])
	}
	return ""
}

// stylesOf returns the entities at each unit of a text, without their places.
func stylesOf(t entities.Text) []map[entities.Entity]bool {
	all := make([]map[entities.Entity]bool, channels.UTF16(t.Text))
	for _, e := range t.Entities {
		kind := e
		kind.Offset, kind.Length = 0, 0
		for i := e.Offset; i < e.Offset+e.Length; i++ {
			if all[i] == nil {
				all[i] = map[entities.Entity]bool{}
			}
			all[i][kind] = true
		}
	}
	return all
}

// clustersOf returns the starts of the grapheme clusters of a text, with their ends.
func clustersOf(text string) map[int]int {
	starts := map[int]int{}
	for g := uniseg.NewGraphemes(text); g.Next(); {
		from, to := g.Positions()
		starts[from] = to
	}
	return starts
}

// inCluster reports whether p lies inside a cluster that would fit a part. A space may be taken off
// the mark before or behind it: Telegram trims it too.
func inCluster(text string, clusters map[int]int, p, limit int) bool {
	if _, ok := clusters[p]; ok || p == len(text) {
		return false
	}
	from := p
	for {
		from--
		if to, ok := clusters[from]; ok {
			r, _ := utf8.DecodeRuneInString(text[from:])
			return channels.UTF16(text[from:to]) <= limit && !unicode.IsSpace(r) && strings.TrimSpace(text[p:to]) != ""
		}
	}
}
