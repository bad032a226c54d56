package channels

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// shownHost returns the host that a word shows to its reader, if people take the word for an
// address. For a URL with a user name it returns user and host, which equals no host: people may
// take either part of https://bank.example@evil.example for the host.
func shownHost(word string) (host string, ok bool) {
	word = strings.Trim(foldAddress(word), ".:!?*_~-/")
	scheme, rest, full := strings.Cut(word, "://")
	if !full {
		rest = word
	} else if strings.ContainsAny(scheme, "./") { // bank.example/?to=https://…
		rest, full = word, false
	}
	path := false
	if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
		path = rest[end] == '/' || rest[end] == '\\'
		rest = rest[:end]
	}
	mail := false
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if full {
			return rest, true // equals no host
		}
		if mail = at > 0 && strings.Contains(rest[at:], "."); mail || at == 0 {
			rest = rest[at+1:]
		}
	}
	if !full {
		rest = hostPart(rest)
	}
	if colon := strings.LastIndexByte(rest, ':'); colon >= 0 && strings.Trim(rest[colon+1:], "0123456789") == "" {
		rest = rest[:colon]
	}
	rest = strings.Trim(rest, ".*_~-")
	if rest == "" || full {
		return rest, rest != ""
	}
	www, _ := cutPrefixFold(rest, "www.")
	switch {
	case isIP(rest):
		return rest, true
	case !hasHostLabels(rest):
		return "", false
	case mail, www != rest:
		return rest, true
	}
	return rest, hasPublicSuffix(rest) && (path || !isFileOrCode(rest))
}

// hostPart removes what follows the top-level domain: bank.example&login and bank.example-login
// show bank.example.
func hostPart(name string) string {
	if isIP(name) {
		return name
	}
	if end := strings.IndexFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(".-_:", r)
	}); end > 0 {
		name = name[:end]
	}
	last := strings.LastIndexByte(name, '.') + 1
	if strings.HasPrefix(strings.ToLower(name[last:]), "xn--") {
		return name
	}
	if end := strings.IndexAny(name[last:], "-_:"); end > 0 {
		name = name[:last+end]
	}
	return name
}

func isIP(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

func lastLabel(name string) string {
	return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
}

// hasHostLabels reports whether a name has at least two labels and ends in letters, as hosts do.
func hasHostLabels(name string) bool {
	labels := strings.Split(name, ".")
	last := lastLabel(name)
	if len(labels) < 2 || slices.Contains(labels, "") || utf8.RuneCountInString(last) < 2 {
		return false
	}
	return strings.HasPrefix(last, "xn--") ||
		!strings.ContainsFunc(last, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// hasPublicSuffix reports whether a name ends in a top-level domain, or in letters of another
// script, which may imitate one and never end the name of a file or of code.
func hasPublicSuffix(name string) bool {
	last := lastLabel(name)
	if last == "example" || last == "onion" ||
		strings.ContainsFunc(last, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return true
	}
	_, icann := publicsuffix.PublicSuffix("x." + last)
	return icann
}

// isFileOrCode reports whether people take a name with a public suffix for a file (README.md), for
// code (errors.Is) or for a product (ASP.NET). Names below a suffix of two labels, such as
// bank.com.py, are hosts.
func isFileOrCode(name string) bool {
	labels := strings.Split(name, ".")
	last := lastLabel(name)
	suffix, icann := publicsuffix.PublicSuffix(strings.ToLower(name))
	switch {
	case icann && strings.Contains(suffix, "."):
		return false
	case fileEndings[last], codeEndings[last], productNames[name]:
		return true
	case last == "so":
		return strings.HasPrefix(labels[0], "lib")
	case len(last) > 3 && startsUpper(labels[len(labels)-1]) && !startsUpper(labels[0]): // errgroup.Group
		return last != "info"
	}
	return len(labels) == 2 && codeRoots[strings.ToLower(labels[0])] &&
		!slices.Contains([]string{"com", "net", "org"}, last)
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

func wordSet(words string) map[string]bool {
	all := map[string]bool{}
	for _, s := range strings.Fields(words) {
		all[s] = true
	}
	return all
}

var (
	// fileEndings are top-level domains that are better known as file extensions.
	fileEndings = wordSet(`cc md mk ml mov ps py rs sh tf zip`)
	// codeEndings are top-level domains that are better known from code: strings.map, time.now.
	codeEndings = wordSet(`are call case data date events final got here how int join like map name
		new next now open page parts read save search select show style target watch zone`)
	// codeRoots are first words of code that may end like a country: errors.Is, user.id.
	codeRoots = wordSet(`array bytes console context cursor document err error errors fmt http json log
		math np obj object os path pd process promise query req request res response self slices
		sort str strings super sync sys testing this time torch user window`)
	// productNames are well-known names of products.
	productNames = wordSet(`ASP.NET ADO.NET ML.NET VB.NET`)
)
