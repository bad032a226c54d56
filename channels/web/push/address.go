package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"nanobot/channels/web/history"
	"nanobot/internal/lazyregexp"
)

const (
	// maxEndpoint is how long the URL of an endpoint may be. PostgreSQL indexes up to 2704 bytes.
	maxEndpoint = 2000
	// authSize is the size of the secret that is shared with a browser (RFC 8291, section 3.2).
	authSize = 16
	// lookupTimeout is how long the check of a new endpoint may wait for its address.
	lookupTimeout = 5 * time.Second
)

// notPublic are the networks that are not reachable from everywhere (the IANA registries of
// special-purpose addresses), and those that stand for another address, which may be private.
var notPublic = sync.OnceValue(func() (all []netip.Prefix) {
	for network := range strings.FieldsSeq(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
		192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
		2001::/23 2001:db8::/32 2002::/16 3fff::/20`) {
		all = append(all, netip.MustParsePrefix(network))
	}
	return all
})

// globalUnicast is the part of IPv6 that has public addresses.
var globalUnicast = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("2000::/3") })

func isPublic(ip netip.Addr) bool {
	return (ip.Is4() || globalUnicast().Contains(ip)) &&
		!slices.ContainsFunc(notPublic(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

// hostPattern matches the names of hosts.
var hostPattern = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// parseNetwork parses an address or a network.
func parseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().Prefix(ip.Unmap().BitLen())
	}
	return netip.ParsePrefix(s)
}

// CheckAllowed returns an error unless an entry of the config is a host, an address or a network.
func CheckAllowed(entry string) error {
	if _, err := parseNetwork(entry); err == nil || hostPattern().MatchString(entry) {
		return nil
	}
	return errors.New(`must be a host such as "push.example.com", an address, or a network such as "10.0.0.0/8"`)
}

// allowed are the hosts and networks of push services whose addresses need not be public.
type allowed struct {
	hosts    []string
	networks []netip.Prefix
}

func newAllowed(entries []string) (a allowed) {
	for _, entry := range entries {
		if p, err := parseNetwork(entry); err == nil {
			a.networks = append(a.networks, p.Masked())
		} else {
			a.hosts = append(a.hosts, strings.ToLower(entry))
		}
	}
	return a
}

// ErrNotPublic says that a push service has an address that is not public.
var ErrNotPublic = errors.New("the address of the push service is not public")

// check returns an error unless a host may have an address.
func (a allowed) check(host string, ip netip.Addr) error {
	ip = ip.Unmap()
	if isPublic(ip) || slices.Contains(a.hosts, strings.ToLower(host)) ||
		slices.ContainsFunc(a.networks, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return nil
	}
	return fmt.Errorf("%w: %s is at %s", ErrNotPublic, host, ip)
}

// dial returns a function that connects only to addresses that the host may have. It checks the
// address of the connection itself: that of an earlier lookup may be another one.
func (a allowed) dial(d net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := d
		d.Control = func(_, remote string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(remote)
			if err != nil {
				return err
			}
			return a.check(host, to.Addr())
		}
		return d.DialContext(ctx, network, address)
	}
}

// Check returns an error unless notifications can be pushed to a subscription.
func (s *Sender) Check(ctx context.Context, sub history.Subscription) error {
	u, err := url.Parse(sub.Endpoint)
	switch {
	case len(sub.Endpoint) > maxEndpoint:
		return fmt.Errorf("the endpoint has more than %d bytes", maxEndpoint)
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil:
		return errors.New("the endpoint must be an https URL")
	}
	key, err := decodeKey(sub.P256DH)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return errors.New("p256dh is no public key")
	}
	if auth, err := decodeKey(sub.Auth); err != nil || len(auth) != authSize {
		return fmt.Errorf("auth must have %d bytes", authSize)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := s.resolver().LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotPublic, err)
	}
	for _, ip := range ips {
		if err := s.allowed.check(u.Hostname(), ip); err != nil {
			return err
		}
	}
	return nil
}

// decodeKey decodes a key as browsers encode it, without padding or with it.
func decodeKey(s string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
}
