package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"nanobot/internal/lazyregexp"
)

// minTokenLength is the shortest http.token, because anybody who reaches the server can guess.
const minTokenLength = 16

const shortTokenText = "must have at least 16 characters, so that nobody can guess it"

// hostNamePattern matches a host name without scheme, port and path.
var hostNamePattern = lazyregexp.New(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

func checkHTTP(c *Config) []Problem {
	all := checkListen(c)
	for i, host := range c.HTTP.Hosts {
		if _, err := netip.ParseAddr(host); err != nil && !hostNamePattern().MatchString(host) {
			all = append(all, Problem{
				Path:      joinPath(splitKey("http.hosts"), strconv.Itoa(i)),
				Text:      `must be a host name such as "bot.example.com", without https:// and without a port`,
				HideValue: LooksLikeSecret(host),
			})
		}
	}
	for i, proxy := range c.HTTP.Proxies {
		if _, err := parsePrefix(proxy); err != nil {
			all = append(all, Problem{
				Path:      joinPath(splitKey("http.proxies"), strconv.Itoa(i)),
				Text:      `must be an IP address or a network, such as "172.18.0.2" or "172.18.0.0/16"`,
				HideValue: LooksLikeSecret(proxy),
			})
		}
	}
	all = append(all, checkMetrics(c)...)
	if kind, _ := c.HTTP.Token.reference(); kind == "" && c.HTTP.Token != "" && len(c.HTTP.Token) < minTokenLength {
		all = append(all, Problem{Path: splitKey("http.token"), Text: shortTokenText})
	}
	return all
}

// checkMetrics requires a loopback address for http.metricsListen, which needs no token.
func checkMetrics(c *Config) []Problem {
	path := splitKey("http.metricsListen")
	switch address := c.HTTP.MetricsListen; {
	case address == "":
		return nil
	case !isListenAddress(address) || !isLoopback(address):
		return []Problem{{
			Path: path,
			Text: `must be an address that only this machine can reach, such as "127.0.0.1:9464"; other machines can read /metrics at http.listen with http.token`,
		}}
	case c.HTTP.Listen == "":
		return []Problem{{Path: splitKey("http.listen"), Cause: path, Text: "must be set, because http.metricsListen is set"}}
	}
	return nil
}

// ProxyNetworks returns http.proxies as networks.
func (h HTTP) ProxyNetworks() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range h.Proxies {
		if p, err := parsePrefix(s); err == nil { // invalid entries were reported by checkHTTP
			all = append(all, p)
		}
	}
	return all
}

func parsePrefix(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().WithZone("").Prefix(ip.Unmap().BitLen())
	}
	return netip.ParsePrefix(s)
}

// RevealToken returns the token, or "" if there is none. The length of a referenced token is
// checked here and not in Load, because a config may be checked on a machine without the secret.
func (h HTTP) RevealToken() (string, error) {
	at := splitKey("http.token")
	token, err := h.Token.RevealAt(at...)
	if err == nil && h.Token != "" && len(token) < minTokenLength {
		return "", Problem{Path: at, Text: shortTokenText}
	}
	return token, err
}

func checkListen(c *Config) []Problem {
	listen := splitKey("http.listen")
	if c.HTTP.Listen != "" {
		if !isListenAddress(c.HTTP.Listen) {
			return []Problem{{Path: listen, Text: `must be an address such as "127.0.0.1:8080"`}}
		}
		return checkTokenRequired(c)
	}
	var all []Problem
	c.eachChannel(func(at Scope, s ChannelSettings) {
		if need := httpNeed(s); need != nil {
			all = append(all, Problem{
				Path: listen, Cause: joinPath(at.path, need.Key),
				Text: fmt.Sprintf("must be set, because %s is %s", at.Key(need.Key), need.Value),
			})
		}
	})
	return all
}

// checkTokenRequired requires http.token if other machines can reach the server and people use it.
func checkTokenRequired(c *Config) []Problem {
	var all []Problem
	c.eachChannel(func(at Scope, s ChannelSettings) {
		if need := httpNeed(s); need != nil && need.ServesPeople && !c.HTTP.LoopbackOnly() && c.HTTP.Token == "" {
			all = append(all, Problem{
				Path: splitKey("http.token"), Cause: splitKey("http.listen"),
				Text: fmt.Sprintf("must be set, because other machines can reach http.listen and %s is %s", at.Key(need.Key),
					need.Value),
			})
		}
	})
	return all
}

// httpNeed returns why an enabled channel needs the HTTP server, or nil.
func httpNeed(s ChannelSettings) *HTTPNeed {
	if u, ok := s.(HTTPUser); ok && s.On() {
		return u.NeedsHTTP()
	}
	return nil
}

// ValidListen reports whether the server can listen on the address.
func (h HTTP) ValidListen() bool { return isListenAddress(h.Listen) }

// LoopbackOnly reports whether only this machine can reach the server.
func (h HTTP) LoopbackOnly() bool { return isLoopback(h.Listen) }

func isListenAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	_, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
