package entities

import (
	"cmp"
	"slices"
	"strings"

	"nanobot/channels"
)

// unmask writes behind each link that shows another address than it leads to where it leads. Marks
// around the link grow with it, and quotes that end with it.
func unmask(s string, marks []mark) (string, []mark) {
	var links []mark
	for _, m := range marks {
		if m.Type == Link {
			links = append(links, m)
		}
	}
	if len(links) == 0 {
		return s, marks
	}
	slices.SortFunc(links, func(a, b mark) int { return cmp.Compare(a.start, b.start) })
	targets := make([]channels.Link, len(links))
	for i, l := range links {
		targets[i] = channels.Link{Start: l.start, End: l.end, Target: l.URL}
	}
	notes := channels.Disguises(s, targets)
	var b strings.Builder
	var ends, added []int // where notes were written, and how many bytes up to each
	last, sum := 0, 0
	for i, note := range notes {
		// A link over several lines, or with code in it, is several marks: the last of them has the
		// note.
		if note == "" || i+1 < len(links) && links[i+1].URL == links[i].URL && notes[i+1] == note && strings.TrimSpace(s[links[i].end:links[i+1].start]) == "" {
			continue
		}
		b.WriteString(s[last:links[i].end])
		b.WriteString(note)
		last, sum = links[i].end, sum+len(note)
		ends, added = append(ends, last), append(added, sum)
	}
	if len(ends) == 0 {
		return s, marks
	}
	b.WriteString(s[last:])
	return b.String(), shift(marks, ends, added)
}

// shift moves marks by what was written at some places.
func shift(marks []mark, ends, added []int) []mark {
	before := func(p int) int { // bytes that were written at places up to p
		i, found := slices.BinarySearch(ends, p)
		if found {
			i++
		}
		if i == 0 {
			return 0
		}
		return added[i-1]
	}
	moved := slices.Clone(marks)
	for i, m := range moved {
		moved[i].start = m.start + before(m.start)
		end := m.end - 1 // what is written at the end of a mark is not part of it
		if m.Type == Quote || m.Type == ExpandableQuote {
			end = m.end
		}
		moved[i].end = m.end + before(end)
	}
	return moved
}
