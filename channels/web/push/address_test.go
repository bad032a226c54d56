package push_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"nanobot/channels/web/push"
	"nanobot/channels/web/push/pushtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// newResolver returns a resolver that asks a server of DNS on loopback. address returns the
// addresses of a host.
func newResolver(t *testing.T, address func(host string) []string) *net.Resolver {
	t.Helper()
	conn := musttest.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, err := answerQuery(buf[:n], address); err != nil {
				t.Errorf("DNS: %v", err)
			} else {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerQuery(query []byte, address func(host string) []string) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	for _, text := range address(strings.TrimSuffix(q.Name.String(), ".")) {
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch ip := netip.MustParseAddr(text); {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	return m.Pack()
}

func TestEndpointsWithoutAPublicAddressAreRefused(t *testing.T) {
	names := map[string][]string{
		"push.example.com": {"8.8.8.8", "2606:4700::1"}, "inside.example.com": {"10.1.2.3"}, "mixed.example.com": {"8.8.8.8", "127.0.0.1"},
		"six.example.com": {"fd00::1"}, "listed.example.com": {"192.168.1.1"}, "network.example.com": {"172.16.9.9"}, "none.example.com": nil,
	}
	f := newFixture(t, func(o *push.Options, _ *pushtest.Service) {
		o.Allow = []string{"Listed.example.com", "172.16.8.0/22", "192.0.2.7"}
		o.Resolver = newResolver(t, func(host string) []string { return names[host] })
	})
	b := f.service.NewBrowser()
	check := func(endpoint string) error {
		s := newSubscription("ann", b)
		s.Endpoint = endpoint
		return f.Check(t.Context(), s)
	}
	for _, good := range []string{
		"https://push.example.com/x", "https://push.example.com:8443/x?y", "https://8.8.8.8/", "https://[2606:4700::1]/", "https://listed.example.com/",
		"https://network.example.com/", "https://192.0.2.7/",
	} {
		if err := check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, private := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
		"192.0.0.8", "192.0.2.8", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[fec0::1]", "[ff02::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
		"[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]", "[100::1]",
		"localhost", "inside.example.com", "mixed.example.com", "six.example.com", "none.example.com", "2130706433", "0x7f.1",
	} {
		if err := check("https://" + private + "/push"); !errors.Is(err, push.ErrNotPublic) {
			t.Errorf("%s: %v", private, err)
		}
	}
	for _, bad := range []string{
		"http://push.example.com/x", "push.example.com", "", "https://", "https://user@push.example.com/", "wss://push.example.com/",
		"https://push.example.com/" + strings.Repeat("x", 2000),
	} {
		if err := check(bad); err == nil || errors.Is(err, push.ErrNotPublic) {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
	for field, change := range map[string]func(b *pushtest.Browser){
		"p256dh": func(b *pushtest.Browser) { b.P256DH = b.Auth }, "auth": func(b *pushtest.Browser) { b.Auth = b.P256DH },
	} {
		wrong := *b
		change(&wrong)
		s := newSubscription("ann", &wrong)
		s.Endpoint = "https://push.example.com/x"
		if err := f.Check(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAnAddressThatChangesAfterTheCheckIsNotConnectedTo(t *testing.T) {
	var inside atomic.Bool
	f := newFixture(t, func(o *push.Options, _ *pushtest.Service) {
		o.Allow = nil
		o.Resolver = newResolver(t, func(string) []string {
			if inside.Load() {
				return []string{"127.0.0.1", "::1"}
			}
			return []string{"8.8.8.8"}
		})
	})
	f.answer("ann", "a")
	b := f.service.NewBrowser()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.service.URL, "https://"))
	b.Endpoint = strings.Replace(b.Endpoint, f.service.URL, "https://example.com:"+port, 1)
	f.subscribe("ann", b, false)
	inside.Store(true)
	f.Notify(push.Notification{Owner: "ann", Chat: "a"})
	f.awaitLog("is not public")
	wanttest.Equal(t, "requests", len(f.service.Pending()), 0)
}

func TestAnAllowedHostMayHaveAnyAddress(t *testing.T) {
	f := newFixture(t, func(o *push.Options, _ *pushtest.Service) {
		o.Allow = []string{"example.com"}
		o.Resolver = newResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	})
	f.answer("ann", "a")
	b := f.service.NewBrowser()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.service.URL, "https://"))
	b.Endpoint = strings.Replace(b.Endpoint, f.service.URL, "https://example.com:"+port, 1)
	f.subscribe("ann", b, false)
	f.Notify(push.Notification{Owner: "ann", Chat: "a"})
	wanttest.Equal(t, "chat", decode(t, f.service.Next()).Chat, "a")
}

func TestOnlyHostsAddressesAndNetworksAreAllowed(t *testing.T) {
	for _, good := range []string{"push.example.com", "push", "10.0.0.1", "10.0.0.0/8", "fd00::/8", "::1"} {
		if err := push.CheckAllowed(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "*", "https://push.example.com", "push.example.com:443", "a b", "10.0.0.0/40", "push/x", ".x", "*.example.com"} {
		if push.CheckAllowed(bad) == nil {
			t.Errorf("%q is allowed", bad)
		}
	}
}
