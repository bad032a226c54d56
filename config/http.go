package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
)

// leastToken is how many characters a token must have that anybody may try to guess.
const leastToken = 16

const shortToken = "must have at least 16 characters, or others could guess it"

// hostName is a name without scheme, port and path.
var hostName = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

func checkHTTP(c *Config) []fault {
	all := checkListen(c)
	for i, host := range c.HTTP.Hosts {
		if _, err := netip.ParseAddr(host); err != nil && !hostName.MatchString(host) {
			all = append(all, fault{
				path: join(key("http.hosts"), strconv.Itoa(i)), text: `must be a name such as "bot.example.com", without https:// and port`, hideValue: LooksLikeSecret(host),
			})
		}
	}
	for i, proxy := range c.HTTP.Proxies {
		if _, err := parsePrefix(proxy); err != nil {
			all = append(all, fault{
				path: join(key("http.proxies"), strconv.Itoa(i)), text: `must be an address such as "172.18.0.2" or "172.18.0.0/16"`, hideValue: LooksLikeSecret(proxy),
			})
		}
	}
	all = append(all, checkMetrics(c)...)
	if kind, _ := c.HTTP.Token.reference(); kind == "" && c.HTTP.Token != "" && len(c.HTTP.Token) < leastToken {
		all = append(all, fault{path: key("http.token"), text: shortToken})
	}
	return all
}

// checkMetrics looks at the address that needs no token: what others can reach does.
func checkMetrics(c *Config) []fault {
	path := key("http.metricsListen")
	switch address := c.HTTP.MetricsListen; {
	case address == "":
		return nil
	case !validListen(address) || !local(address):
		return []fault{{path: path, text: `must be an address that only this machine can reach, such as "127.0.0.1:9464"; other machines read /metrics at http.listen with http.token`}}
	case c.HTTP.Listen == "":
		return []fault{{path: key("http.listen"), cause: path, text: "must be set, because http.metricsListen is set"}}
	}
	return nil
}

// ProxyNetworks returns http.proxies as networks.
func (h HTTP) ProxyNetworks() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range h.Proxies {
		if p, err := parsePrefix(s); err == nil { // which the check has seen to
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

// RevealToken returns the token, "" if there is none. What a reference leads to is looked at here,
// where it is needed: a config is also checked where the reference leads nowhere.
func (h HTTP) RevealToken() (string, error) {
	token, err := h.Token.Reveal()
	if err == nil && h.Token != "" && len(token) < leastToken {
		err = errors.New(shortToken)
	}
	if err != nil {
		return "", fmt.Errorf("http.token: %w", err)
	}
	return token, nil
}

func checkListen(c *Config) []fault {
	listen := key("http.listen")
	if c.HTTP.Listen != "" {
		if !validListen(c.HTTP.Listen) {
			return []fault{{path: listen, text: `must be an address such as "127.0.0.1:8080"`}}
		}
		return checkOpenListen(c)
	}
	var all []fault
	c.eachChannel(func(at Scope, s ChannelSettings) {
		if need := httpNeed(s); need != nil {
			all = append(all, fault{
				path: listen, cause: join(at.path, need.Key),
				text: fmt.Sprintf("must be set, because %s is %s", at.Key(need.Key), need.Value),
			})
		}
	})
	return all
}

// checkOpenListen refuses to let people in without a token where others can reach the server.
func checkOpenListen(c *Config) []fault {
	var all []fault
	c.eachChannel(func(at Scope, s ChannelSettings) {
		if need := httpNeed(s); need != nil && need.ServesPeople && !c.HTTP.LoopbackOnly() && c.HTTP.Token == "" {
			all = append(all, fault{
				path: key("http.token"), cause: key("http.listen"),
				text: fmt.Sprintf("must be set, because others can reach http.listen and %s is %s", at.Key(need.Key), need.Value),
			})
		}
	})
	return all
}

// httpNeed returns why a channel needs the server, or nil.
func httpNeed(s ChannelSettings) *HTTPNeed {
	if u, ok := s.(HTTPUser); ok && s.On() {
		return u.NeedsHTTP()
	}
	return nil
}

// LoopbackOnly reports whether only this machine can reach the server.
func (h HTTP) LoopbackOnly() bool { return local(h.Listen) }

func validListen(address string) bool {
	_, port, err := net.SplitHostPort(address)
	_, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil
}

func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
