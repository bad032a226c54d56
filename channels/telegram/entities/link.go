package entities

import (
	"net/url"
	"strings"
)

// maxURL is the longest URL that becomes a link. Telegram has an undocumented limit near it.
const maxURL = 2048

// target returns the URL that Telegram accepts for a destination, or "". Telegram requires a known
// scheme and a host with a dot.
func target(destination string) string {
	if destination == "" || len(destination) > maxURL {
		return ""
	}
	s := strings.ReplaceAll(destination, " ", "%20")
	if strings.HasPrefix(s, "www.") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if !strings.Contains(strings.Trim(u.Hostname(), "."), ".") && !strings.Contains(u.Hostname(), ":") {
			return ""
		}
		return s
	case "tg", "ton", "tonsite":
		if u.Host == "" {
			return ""
		}
		return s
	}
	return ""
}
