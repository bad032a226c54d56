package entities

import (
	"net/url"
	"strings"
)

// A URL beyond this is not made a link of: Telegram has a limit near it that it does not document.
const maxURL = 2048

// target returns the URL that Telegram takes for a destination, or "". It wants a scheme that it
// knows, and a host with a dot in it.
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
