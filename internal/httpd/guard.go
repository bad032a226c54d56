package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
)

// Guard protects against attacks through a user's browser: a foreign domain name that resolves to
// our address (DNS rebinding), and a foreign page that posts to us (CSRF). It also sets the
// security headers of every response.
type Guard struct {
	// Listen is the address that the server listens on. Hosts are further host names of the
	// server.
	Listen string
	Hosts  []string
	// Words has the texts of refusals; nil means English.
	Words *words.Catalogue
}

// contentPolicy lets a page load only resources of this server.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src " +
	"'self' blob:; " +
	"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Wrap returns a handler that checks requests before next.
func (g Guard) Wrap(next http.Handler) http.Handler {
	hosts := []string{"localhost"}
	if host, _, err := net.SplitHostPort(g.Listen); err == nil && host != "" {
		hosts = append(hosts, normalizeHost(host))
	}
	for _, h := range g.Hosts {
		hosts = append(hosts, normalizeHost(h))
	}
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if !isOurHost(r, hosts) {
			texts := wordsFor(g.Words, r)
			writeRefusal(w, r, texts, refusal{
				status: http.StatusMisdirectedRequest,
				text:   texts.Text(words.RefusedHost, strconv.Quote(r.Host)),
			})
			return
		}
		if err := crossOrigin.Check(r); err != nil {
			texts := wordsFor(g.Words, r)
			writeRefusal(w, r, texts, refusal{status: http.StatusForbidden, text: texts.Text(words.RefusedOtherSite)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// isOurHost reports whether the Host header of a request names this server. Ports are ignored,
// since a proxy may have another one. An IP address is accepted if it is loopback or the local
// address of the connection: DNS cannot forge either.
func isOurHost(r *http.Request, names []string) bool {
	host := normalizeHost(r.Host)
	ip, err := netip.ParseAddr(host)
	if err != nil || slices.Contains(names, host) {
		return slices.Contains(names, host)
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip.Unmap().IsLoopback() || ok && local.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap()
}

// IsLocal reports whether a request to a server on loopback comes from this machine: its Host is a
// loopback address, and it has no forwarding header of a proxy. A proxy that changes the Host and
// adds no header is not detected.
func IsLocal(r *http.Request) bool {
	for _, name := range []string{
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip",
		"Via",
	} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	host := normalizeHost(r.Host)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// normalizeHost returns a host in lower case without port, brackets and final dot.
func normalizeHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
