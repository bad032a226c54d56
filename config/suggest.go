package config

import (
	"fmt"
	"strings"
)

// suggestKey, called on the root, returns a hint for an unknown key in the section at path, or "".
func (n typeNode) suggestKey(path []string, key string) string {
	section, found := n.descend(path)
	if !found || !section.isSection() {
		return ""
	}
	for _, candidate := range section.knownKeys() {
		if normalizeKey(candidate) == normalizeKey(key) {
			return didYouMean(candidate)
		}
	}
	var homes []string
	walkKeys(n, nil, func(below []string) {
		if normalizeKey(below[len(below)-1]) == normalizeKey(key) && len(homes) < 3 {
			homes = append(homes, n.formatPath(below[:len(below)-1]))
		}
	})
	if len(homes) > 0 && homes[0] != "" {
		return "belongs in " + strings.Join(homes, " or ")
	}
	return suggest(key, section.knownKeys())
}

// suggestVariable returns a hint for a variable whose segment is not a key of p, or "". The segment
// may be misspelt, or sections or underscores may be missing (NANOBOT_LEVEL).
func (n typeNode) suggestVariable(name string, root typeNode, segment string) string {
	if n.isSection() && strings.HasSuffix(name, variableSeparator+segment) {
		if near := ClosestMatch(segment, n.knownKeys()); near != "" {
			return "did you mean " + strings.TrimSuffix(name, segment) + strings.ToUpper(near) + "?"
		}
	}
	given := normalizeKey(strings.TrimPrefix(name, variablePrefix))
	var all, same, ending []string
	walkKeys(root, nil, func(path []string) {
		candidate := strings.ToUpper(strings.Join(path, variableSeparator))
		all = append(all, candidate)
		switch short := normalizeKey(strings.Join(path, "")); {
		case short == given:
			same = []string{candidate}
		case len(given) > 2 && strings.HasSuffix(short, given) && len(ending) < 3:
			ending = append(ending, candidate)
		}
	})
	if same == nil {
		same = ending
	}
	if near := ClosestMatch(strings.TrimPrefix(name, variablePrefix), all); same == nil && near != "" {
		same = []string{near}
	}
	if same == nil {
		return ""
	}
	return "did you mean " + variablePrefix + strings.Join(same, " or "+variablePrefix) + "?"
}

// walkKeys calls f with the path of every known key below p.
func walkKeys(p typeNode, path []string, f func(path []string)) {
	for _, key := range p.knownKeys() {
		below := joinPath(path, key)
		f(below)
		if child, _ := p.child(key); child.isSection() {
			walkKeys(child, below, f)
		}
	}
}

func didYouMean(s string) string { return fmt.Sprintf("did you mean %q?", s) }

// suggest returns a hint with the candidate that s is probably a misspelling of, or "".
func suggest(s string, candidates []string) string {
	if near := ClosestMatch(s, candidates); near != "" {
		return didYouMean(near)
	}
	return ""
}

// normalizeKey makes allow_from, allow-from and AllowFrom equal.
func normalizeKey(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// ClosestMatch returns the candidate that s is probably a misspelling of, or "".
func ClosestMatch(s string, candidates []string) string {
	if len(s) > 64 {
		return "" // no candidate is that long, and the distance takes quadratic time
	}
	best, least := "", 0
	for _, c := range candidates {
		d := editDistance(normalizeKey(s), normalizeKey(c))
		if len(c) > 2 && strings.HasPrefix(normalizeKey(s), normalizeKey(c)) {
			d = 1 // such as logging for log, polling for poll
		}
		if d <= max(1, len(c)/3) && (best == "" || d < least || d == least && len(c) > len(best)) {
			best, least = c, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbouring letters.
func editDistance(a, b string) int {
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
