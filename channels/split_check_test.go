package channels_test

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"nanobot/channels"
)

// checkParts tells what a split breaks of its promises, or "".
func checkParts(text string, limit int, measure channels.Measure, parts []string) string {
	if strings.TrimSpace(text) == "" {
		if len(parts) > 0 {
			return "parts of nothing"
		}
		return ""
	}
	for i, p := range parts {
		if strings.TrimSpace(p) == "" {
			return fmt.Sprintf("part %d is blank", i)
		}
		if n := measure(p); n > limit && utf8.RuneCountInString(p) > 1 {
			return fmt.Sprintf("part %d measures %d: %q", i, n, p)
		}
	}
	seams, ok := align(text, parts)
	if !ok {
		return "something was lost, added or moved"
	}
	if cut := cutCluster(text, seams, limit, measure); cut != "" {
		return fmt.Sprintf("the cluster %q is cut", cut)
	}
	state, plain := fences(text)
	if !plain || !fencesFit(text, limit, measure) {
		return ""
	}
	for i, p := range parts {
		open, _ := fences(p)
		if last := i == len(parts)-1; open != (last && state) {
			return fmt.Sprintf("part %d of %d has its fence open=%v: %q", i, len(parts), open, p)
		}
	}
	return ""
}

// align finds the places in text where the parts but the first begin, leaving white space out of
// account, and the lines that a splitter may put at both ends of a part.
func align(text string, parts []string) ([]int, bool) {
	bare, places := withoutSpace(text)
	failed := map[[2]int]bool{}
	var seams []int
	var walk func(i, at int) bool
	walk = func(i, at int) bool {
		if i == len(parts) {
			return at == len(bare)
		}
		if failed[[2]int{i, at}] {
			return false
		}
		for _, v := range variants(parts[i], i == 0, i == len(parts)-1) {
			own, _ := withoutSpace(v)
			if !strings.HasPrefix(bare[at:], own) {
				continue
			}
			if i+1 < len(parts) {
				seams = append(seams, places[at+len(own)])
			}
			if walk(i+1, at+len(own)) {
				return true
			}
			if i+1 < len(parts) {
				seams = seams[:len(seams)-1]
			}
		}
		failed[[2]int{i, at}] = true
		return false
	}
	return seams, walk(0, 0)
}

var (
	fenceLine = regexp.MustCompile("^[ \t>]*(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t][ \t>]*)*(```+|~~~+)(.*)$")
	shutLine  = regexp.MustCompile("^([ \t]*)(```+|~~~+)[ \t\r]*$")
	dashLine  = regexp.MustCompile(`^[-|: \t\r]*-[-|: \t\r]*$`)
)

// variants are what a part may have been before lines were put at its ends.
func variants(part string, first, last bool) []string {
	all := []string{part}
	if head, rest, ok := strings.Cut(part, "\n"); ok && !first {
		if m := fenceLine.FindStringSubmatchIndex(head); m != nil {
			all = append(all, rest, strings.TrimPrefix(rest, head[:m[2]]))
		}
		if dashes, rows, ok := strings.Cut(rest, "\n"); ok && dashLine.MatchString(dashes) {
			all = append(all, rows)
		}
	}
	if last {
		return all
	}
	for _, v := range all {
		i := strings.LastIndexByte(v, '\n')
		if shutLine.MatchString(strings.TrimLeft(v[i+1:], " \t>")) {
			all = append(all, v[:max(i, 0)])
		}
	}
	return all
}

// withoutSpace leaves out white space and says where each byte that is left stood.
func withoutSpace(s string) (string, []int) {
	var b strings.Builder
	var places []int
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsSpace(r) {
			b.WriteString(s[i : i+n])
			for j := range n {
				places = append(places, i+j)
			}
		}
		i += n
	}
	return b.String(), append(places, len(s))
}

// cutCluster returns a cluster with a seam inside that could have stayed whole.
func cutCluster(text string, seams []int, limit int, measure channels.Measure) string {
	if strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		limit /= 2 // what a fence must leave
	}
	cut := map[int]bool{}
	for _, s := range seams {
		cut[s] = true
	}
	g := uniseg.NewGraphemes(text)
	for g.Next() {
		from, to := g.Positions()
		for i := from + 1; i < to; i++ {
			if cut[i] && measure(g.Str()) <= limit && !strings.ContainsFunc(g.Str(), unicode.IsSpace) {
				return g.Str()
			}
		}
	}
	return ""
}

// fences reads a text line by line. It tells whether a fence is open at its end, and whether the
// marks of a fence appear nowhere else, nor in a quote, so that nobody can read it another way.
func fences(text string) (open, plain bool) {
	plain = true
	mark, lead := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		rest := line
		if m := shutLine.FindStringSubmatch(line); mark != "" && m != nil &&
			strings.HasPrefix(m[2], mark) && len(m[1]) <= lead+3 {
			mark, rest = "", ""
		} else if m := fenceLine.FindStringSubmatchIndex(line); mark == "" && m != nil &&
			(line[m[2]] != '`' || !strings.Contains(line[m[4]:], "`")) {
			mark, lead, rest = line[m[2]:m[3]], m[2], line[m[4]:]
			plain = plain && !strings.Contains(line[:m[2]], ">")
		}
		if strings.Contains(rest, "```") || strings.Contains(rest, "~~~") {
			plain = false
		}
	}
	return mark != "", plain
}

// fencesFit tells whether every line of a fence leaves half a part.
func fencesFit(text string, limit int, measure channels.Measure) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if m := fenceLine.FindStringSubmatchIndex(line); m != nil {
			rest := strings.TrimRight(line[m[4]:], " \t\r")
			if 2*measure(line[:m[4]])+2 > limit/2 || rest == "" && measure(line) > limit/2 {
				return false
			}
		}
	}
	return true
}
