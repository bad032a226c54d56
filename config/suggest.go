package config

import (
	"fmt"
	"strings"
)

// suggestKey, of the root, says what an unknown key in the section at path was probably meant to
// be.
func (p place) suggestKey(path []string, key string) string {
	section, found := p.at(path)
	if !found || !section.section() {
		return ""
	}
	for _, candidate := range section.keys() {
		if fold(candidate) == fold(key) {
			return didYouMean(candidate)
		}
	}
	var homes []string
	walk(p, nil, func(below []string) {
		if fold(below[len(below)-1]) == fold(key) && len(homes) < 3 {
			homes = append(homes, p.dotted(below[:len(below)-1]))
		}
	})
	if len(homes) > 0 && homes[0] != "" {
		return "belongs in " + strings.Join(homes, " or ")
	}
	if near := ClosestMatch(key, section.keys()); near != "" {
		return didYouMean(near)
	}
	return ""
}

// suggestVariable says which variable was probably meant by one whose segment names no key of p:
// either the segment is misspelt, or sections or halves of separators are left out
// (NANOBOT_LEVEL).
func (p place) suggestVariable(name string, root place, segment string) string {
	if p.section() && strings.HasSuffix(name, separator+segment) {
		if near := ClosestMatch(segment, p.keys()); near != "" {
			return "did you mean " + strings.TrimSuffix(name, segment) + strings.ToUpper(near) + "?"
		}
	}
	given := fold(strings.TrimPrefix(name, prefix))
	var all, same, ending []string
	walk(root, nil, func(path []string) {
		candidate := strings.ToUpper(strings.Join(path, separator))
		all = append(all, candidate)
		switch short := fold(strings.Join(path, "")); {
		case short == given:
			same = []string{candidate}
		case len(given) > 2 && strings.HasSuffix(short, given) && len(ending) < 3:
			ending = append(ending, candidate)
		}
	})
	if same == nil {
		same = ending
	}
	if near := ClosestMatch(strings.TrimPrefix(name, prefix), all); same == nil && near != "" {
		same = []string{near}
	}
	if same == nil {
		return ""
	}
	return "did you mean " + prefix + strings.Join(same, " or "+prefix) + "?"
}

// walk calls f for every key of ours below p.
func walk(p place, path []string, f func(path []string)) {
	for _, key := range p.keys() {
		below := join(path, key)
		f(below)
		if child, _ := p.child(key); child.section() {
			walk(child, below, f)
		}
	}
}

func didYouMean(s string) string { return fmt.Sprintf("did you mean %q?", s) }

// fold makes allow_from, allow-from and AllowFrom the same.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// ClosestMatch returns the candidate that is a slip of the keyboard away from s, or "".
func ClosestMatch(s string, candidates []string) string {
	if len(s) > 64 {
		return "" // no candidate is that long, and the distance costs its square
	}
	best, least := "", 0
	for _, c := range candidates {
		d := distance(fold(s), fold(c))
		if len(c) > 2 && strings.HasPrefix(fold(s), fold(c)) {
			d = 1 // logging for log, polling for poll
		}
		if d <= max(1, len(c)/3) && (best == "" || d < least || d == least && len(c) > len(best)) {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters to put in, take out, change or swap with their neighbour.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
