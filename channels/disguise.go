package channels

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Link is a stretch of a text that leads somewhere when it is tapped.
type Link struct {
	Start, End int // in bytes
	Target     string
}

const (
	// maxAround is how far the word goes on that is looked at on either side of a link: half of an
	// address may be outside of it.
	maxAround = 256
	// maxShown is how much of a host is shown. What counts is its end.
	maxShown = 60
)

// Disguises finds the links of a text that show another address than they lead to, such as
// https://bank.example for https://evil.example. For each link it returns what to write behind it,
// in plain ASCII, or "".
func Disguises(text string, links []Link) []string {
	notes := make([]string, len(links))
	for i, l := range links {
		from, to := wordAround(text, l.Start, l.End)
		if !strings.Contains(foldAddress(text[from:to]), ".") && !strings.Contains(text[from:to], "//") {
			continue
		}
		if real, ok := disguised(text[from:to], l.Start-from, l.End-from, l.Target); ok {
			notes[i] = " (leads to " + real + ")"
		}
	}
	return notes
}

// wordAround returns the bounds of the words that the stretch from start to end begins and ends in.
func wordAround(text string, start, end int) (from, to int) {
	from, to = start, end
	for from > 0 && start-from < maxAround {
		r, n := utf8.DecodeLastRuneInString(text[:from])
		if apart(r) {
			break
		}
		from -= n
	}
	for to < len(text) && to-end < maxAround {
		r, n := utf8.DecodeRuneInString(text[to:])
		if apart(r) {
			break
		}
		to += n
	}
	return from, to
}

// apart tells whether a character cannot be within an address, as people read one.
func apart(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>()[]{}\"'`|,;“”‘’«»…•→⟨⟩", r)
}

// disguised looks at the addresses in a text that touch the stretch from start to end, which leads
// to target. It returns the host that target leads to if one of them is another.
func disguised(text string, start, end int, target string) (real string, ok bool) {
	host, parsed := hostOf(target)
	for at := 0; at < len(text); {
		n := strings.IndexFunc(text[at:], apart)
		if n < 0 {
			n = len(text) - at
		}
		if at < end && at+n > start {
			if shown, is := shownHost(text[at : at+n]); is && (!parsed || !sameHost(shown, host)) {
				if !parsed {
					return showHead(target), true
				}
				return showHost(host), true
			}
		}
		_, size := utf8.DecodeRuneInString(text[at+n:])
		at += n + size
	}
	return "", false
}

// hostOf returns the host that a link leads to, without user, port and final dot. An address
// without a scheme is one of the web.
func hostOf(target string) (string, bool) {
	target = strings.TrimSpace(target)
	if mail, ok := cutPrefixFold(target, "mailto:"); ok {
		mail, _, _ = strings.Cut(mail, "?")
		at := strings.LastIndexByte(mail, '@')
		return asciiHost(mail[at+1:]), at >= 0
	}
	if !strings.Contains(target, "://") {
		target = "http://" + strings.TrimLeft(target, "/")
	}
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || strings.ContainsRune(target, '\\') || u.Scheme != "http" && u.Scheme != "https" { // browsers take a backslash for a slash
		return "", false
	}
	return asciiHost(u.Hostname()), true
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// foldAddress writes what looks like an address as an address: without invisible characters, and
// with plain dots, slashes, colons and letters for those that only look the same.
func foldAddress(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0':
			return -1
		case r >= '\uff01' && r <= '\uff5e': // full width
			return r - 0xfee0
		case strings.ContainsRune("\u3002\uff61\u2024\u0701\u0702\ua60e\u06d4", r):
			return '.'
		case strings.ContainsRune("\u2044\u2215\u29f8\u2571\u30ce", r):
			return '/'
		case strings.ContainsRune("\u2236\ua789\u02d0\u0589\u05c3", r):
			return ':'
		}
		return r
	}, s)
}

// profile maps hosts as browsers do, and refuses less: what is compared need not be a good name.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// asciiHost writes a host as the name that is looked up.
func asciiHost(host string) string {
	host = strings.TrimSuffix(foldAddress(host), ".")
	if ascii, err := profile.ToASCII(host); err == nil {
		return ascii
	}
	return strings.ToLower(host)
}

// sameHost tells whether a host that is shown is the real one. A www. makes no difference. A name
// in letters that look like Latin ones is shown as it is looked up, even if it is the real one:
// раураl.example is not paypal.example.
func sameHost(shown, real string) bool {
	name := asciiHost(shown)
	return strings.TrimPrefix(name, "www.") == strings.TrimPrefix(real, "www.") && !imitatesLatin(shown)
}

// imitatesLatin tells whether a host has letters of a script that looks like the Latin one, below a
// domain in Latin letters.
func imitatesLatin(host string) bool {
	tail := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	for _, r := range tail {
		if r >= utf8.RuneSelf {
			return false
		}
	}
	return strings.ContainsFunc(host, func(r rune) bool {
		return r >= utf8.RuneSelf && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
	})
}

// showHost is a host for people to read. Of a long one the end is shown, which says whose it is.
func showHost(host string) string {
	host = harmless(host)
	if len(host) > maxShown {
		return "..." + host[len(host)-maxShown:]
	}
	return host
}

// showHead is the begin of a target that is no address of the web.
func showHead(target string) string {
	target = harmless(target)
	if len(target) > maxShown {
		return target[:maxShown] + "..."
	}
	return target
}

// harmless leaves only characters that mean nothing to any network.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-:/%", r)) {
			return r
		}
		return '?'
	}, s)
}
