package entities

import (
	"net/url"
	"strings"
)

// A URL beyond this is not made a link of: Telegram has a limit near it that it does not document.
const maxURL = 2048

// openLink is a link that is being written.
type openLink struct {
	destination string
	from        int  // where its text starts
	outermost   bool // and so the one that is marked
}

// openLink starts a link or image. A link within a link is text.
func (w *writer) openLink(destination []byte) {
	w.flush()
	l := openLink{destination: strings.TrimSpace(decode(string(destination))), from: len(w.out)}
	if len(w.links) == 0 {
		l.outermost = true
		w.url = target(l.destination)
	}
	w.links = append(w.links, l)
}

// closeLink ends a link. Where it leads is written behind it if that cannot be tapped.
func (w *writer) closeLink() {
	l := w.links[len(w.links)-1]
	w.links = w.links[:len(w.links)-1]
	if !l.outermost {
		return
	}
	said := strings.TrimSpace(string(w.out[l.from:]))
	switch {
	case !visible(said):
		w.write(l.destination)
	case w.url == "" && l.destination != "" && said != l.destination && !strings.HasPrefix(l.destination, "#"):
		w.write(" (" + l.destination + ")")
	}
	w.url = ""
}

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
