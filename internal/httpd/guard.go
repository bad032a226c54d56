package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard keeps browsers from being used against us: a page of somebody else's that has our address
// under its own name (DNS rebinding), and one that posts to us (CSRF). It also tells browsers to be
// strict with what we serve.
type Guard struct {
	// Listen is the address that is listened on, Hosts are the names by which we are known
	// elsewhere.
	Listen string
	Hosts  []string
}

// policy lets a page use what we serve and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Wrap puts the guard before a handler.
func (g Guard) Wrap(next http.Handler) http.Handler {
	ours := []string{"localhost"}
	if host, _, err := net.SplitHostPort(g.Listen); err == nil && host != "" {
		ours = append(ours, plainHost(host))
	}
	for _, h := range g.Hosts {
		ours = append(ours, plainHost(h))
	}
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strict(w.Header())
		if !isOurs(r, ours) {
			refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("This is not %q. If it should be, add that name to http.hosts in the config.", r.Host))
			return
		}
		if err := foreign.Check(r); err != nil {
			refuse(w, r, http.StatusForbidden, "This request came from another site's page.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func strict(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// isOurs tells whether a request asks for us. Ports are not looked at, since a proxy may have
// another one; an address is ours when it is loopback or the one that the request has reached: no
// name server can lie about it.
func isOurs(r *http.Request, names []string) bool {
	host := plainHost(r.Host)
	ip, err := netip.ParseAddr(host)
	if err != nil || slices.Contains(names, host) {
		return slices.Contains(names, host)
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip.Unmap().IsLoopback() || ok && local.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap()
}

// Direct tells whether a request to a server that only this machine can reach was made on this
// machine: it asks for a loopback address, and no proxy says whom it speaks for. A proxy that hides
// both is believed.
func Direct(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	host := plainHost(r.Host)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// plainHost is a host without its port, brackets and final dot, in lower case.
func plainHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
