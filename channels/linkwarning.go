package channels

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Link is a range of a text that opens a target when it is tapped.
type Link struct {
	Start, End int // in bytes
	Target     string
}

const (
	// maxWordAround is how many bytes before and after a link are examined, since part of an
	// address may be outside of the link.
	maxWordAround = 256
	// maxShownHost is how many bytes of a host are shown. The end of a host identifies its owner.
	maxShownHost = 60
)

// LinkWarnings finds links whose text shows another host than their target has, such as
// https://bank.example for https://evil.example. It returns for each link a warning in ASCII to be
// written after it, or "".
func LinkWarnings(text string, links []Link) []string {
	warnings := make([]string, len(links))
	for i, l := range links {
		from, to := wordAround(text, l.Start, l.End)
		if !strings.Contains(foldAddress(text[from:to]), ".") && !strings.Contains(text[from:to], "//") {
			continue
		}
		if real, ok := misleadingHost(text[from:to], l.Start-from, l.End-from, l.Target); ok {
			warnings[i] = " (leads to " + real + ")"
		}
	}
	return warnings
}

// wordAround extends the range from start to end to whole words.
func wordAround(text string, start, end int) (from, to int) {
	from, to = start, end
	for from > 0 && start-from < maxWordAround {
		r, n := utf8.DecodeLastRuneInString(text[:from])
		if isAddressBoundary(r) {
			break
		}
		from -= n
	}
	for to < len(text) && to-end < maxWordAround {
		r, n := utf8.DecodeRuneInString(text[to:])
		if isAddressBoundary(r) {
			break
		}
		to += n
	}
	return from, to
}

// isAddressBoundary reports whether a character cannot be part of an address as people read it.
func isAddressBoundary(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>()[]{}\"'`|,;“”‘’«»…•→⟨⟩", r)
}

// misleadingHost examines the addresses in a text that overlap the range of a link. It returns the
// host of the target if one of the addresses shows another host.
func misleadingHost(text string, start, end int, target string) (real string, ok bool) {
	host, parsed := targetHost(target)
	for at := 0; at < len(text); {
		n := strings.IndexFunc(text[at:], isAddressBoundary)
		if n < 0 {
			n = len(text) - at
		}
		if at < end && at+n > start {
			if shown, is := shownHost(text[at : at+n]); is && (!parsed || !sameHost(shown, host)) {
				if !parsed {
					return shortenTarget(target), true
				}
				return shortenHost(host), true
			}
		}
		_, size := utf8.DecodeRuneInString(text[at+n:])
		at += n + size
	}
	return "", false
}

// targetHost returns the host of a link's target, without user, port and final dot. A target
// without a scheme is an address of the web.
func targetHost(target string) (string, bool) {
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
	// browsers take a backslash for a slash
	if err != nil || u.Hostname() == "" || strings.ContainsRune(target, '\\') || u.Scheme != "http" &&
		u.Scheme != "https" {
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

// foldAddress replaces look-alikes of the characters of an address: full-width letters, and dots,
// slashes and colons of other scripts. It removes invisible characters.
func foldAddress(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == '\u034f' || r == '\u115f' || r == '\u1160' ||
			r == '\u3164' || r == '\uffa0':
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

// idnaProfile maps hosts as browsers do. It also accepts invalid names, since they are only
// compared.
var idnaProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// asciiHost returns the ASCII name of a host that a resolver would look up.
func asciiHost(host string) string {
	host = strings.TrimSuffix(foldAddress(host), ".")
	if ascii, err := idnaProfile.ToASCII(host); err == nil {
		return ascii
	}
	return strings.ToLower(host)
}

// sameHost reports whether a shown host is the real one, ignoring a www. prefix. It is false for a
// host that imitates Latin letters, so that its ASCII name is shown: раураl.example is not
// paypal.example.
func sameHost(shown, real string) bool {
	name := asciiHost(shown)
	return strings.TrimPrefix(name, "www.") == strings.TrimPrefix(real, "www.") && !imitatesLatin(shown)
}

// imitatesLatin reports whether a host has letters of a script that resembles Latin, below a
// top-level domain in Latin letters.
func imitatesLatin(host string) bool {
	tail := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	for _, r := range tail {
		if r >= utf8.RuneSelf {
			return false
		}
	}
	return strings.ContainsFunc(host, func(r rune) bool {
		return r >= utf8.RuneSelf && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee,
			unicode.Coptic, unicode.Lisu)
	})
}

// shortenHost returns the end of a long host, which identifies its owner.
func shortenHost(host string) string {
	host = printableASCII(host)
	if len(host) > maxShownHost {
		return "..." + host[len(host)-maxShownHost:]
	}
	return host
}

// shortenTarget returns the start of a target that is not an address of the web.
func shortenTarget(target string) string {
	target = printableASCII(target)
	if len(target) > maxShownHost {
		return target[:maxShownHost] + "..."
	}
	return target
}

// printableASCII replaces all characters that could be markup on some network.
func printableASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-:/%", r)) {
			return r
		}
		return '?'
	}, s)
}
