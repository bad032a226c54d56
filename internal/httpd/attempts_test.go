package httpd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// attemptsFixture is an Access that tests attack, without a network.
type attemptsFixture struct {
	t     *testing.T
	store *sqlite.Store
	mux   *http.ServeMux
	wrong *httpd.Attempts
	logs  *observer.ObservedLogs
}

func newAttemptsFixture(t *testing.T, proxies ...string) *attemptsFixture {
	t.Helper()
	var trusted []netip.Prefix
	for _, p := range proxies {
		trusted = append(trusted, netip.MustParsePrefix(p))
	}
	core, logs := observer.New(zapcore.DebugLevel)
	g := &attemptsFixture{t: t, store: openStore(t, t.TempDir(), sqlite.Options{}), mux: http.NewServeMux(), logs: logs}
	g.wrong = httpd.NewAttempts(trusted, nil, zap.New(core))
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: g.store, Token: token, Attempts: g.wrong}))(t)
	access.Mount(g.mux, zap.New(core))
	g.mux.Handle("/", access.Require(httpd.Chat, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	g.mux.Handle("POST /hook", g.wrong.Watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Secret") != "right" {
			http.Error(w, "wrong secret", http.StatusUnauthorized)
		}
	})))
	return g
}

// request makes a request from an address.
func (g *attemptsFixture) request(from, method, path string, h header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = from
	for k, v := range h {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	g.mux.ServeHTTP(w, r)
	return w
}

func (g *attemptsFixture) expect(want int, from, method, path string, h header) {
	g.t.Helper()
	if got := g.request(from, method, path, h); got.Code != want {
		g.t.Errorf("%s %s from %s %v is answered %d %s, want %d", method, path, from, h, got.Code, got.Body, want)
	}
}

// exhaust uses up the wrong attempts of an address.
func (g *attemptsFixture) exhaust(from string, h header) {
	g.t.Helper()
	for i := range 20 {
		with := header{"Authorization": fmt.Sprintf("Bearer wrong-%d", i)}
		for k, v := range h {
			with[k] = v
		}
		g.expect(401, from, "GET", "/", with)
	}
}

var (
	wrongToken = header{"Authorization": "Bearer SECRET-GUESS"}
	rightToken = header{"Authorization": "Bearer " + token}
)

func TestAnAddressIsRefusedAfterTwentyWrongTokensAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		g.exhaust("192.0.2.7:1", nil)
		time.Sleep(30 * time.Second)
		w := g.request("192.0.2.7:2", "GET", "/", wrongToken)
		if w.Code != 429 || w.Header().Get("Retry-After") != "30" || !strings.Contains(w.Body.String(), "Try again in 30 seconds.") {
			t.Errorf("answered %d %v %s", w.Code, w.Header(), w.Body)
		}
		g.expect(429, "192.0.2.7:3", "GET", "/", rightToken) // or guessing would not be slowed down
		g.expect(429, "192.0.2.7:3", "POST", httpd.EnterPath+strings.Repeat("A", 26), nil)
		g.expect(401, "192.0.2.8:1", "GET", "/", wrongToken)
		g.expect(200, "192.0.2.8:1", "GET", "/", rightToken)
		time.Sleep(30 * time.Second)
		g.expect(200, "192.0.2.7:4", "GET", "/", rightToken)
		g.exhaust("192.0.2.7:1", nil)
		g.expect(429, "192.0.2.7:4", "GET", "/", wrongToken)
		g.wrong.Close()
	})
}

func TestEveryKindOfWrongCredentialCounts(t *testing.T) {
	forged := func(g *attemptsFixture) header {
		w := g.request("198.51.100.1:1", "POST", g.link("ann"), nil)
		name, value, _ := strings.Cut(strings.Split(w.Header().Get("Set-Cookie"), ";")[0], "=")
		return header{"Cookie": name + "=operator" + strings.TrimPrefix(value, "chat")}
	}
	for name, c := range map[string]struct {
		method, path string
		h            func(*attemptsFixture) header
		first        int
	}{
		"a token":             {"GET", "/", func(*attemptsFixture) header { return wrongToken }, 401},
		"a forged cookie":     {"GET", "/", forged, 401},
		"a link":              {"POST", httpd.EnterPath + strings.Repeat("A", 26), func(*attemptsFixture) header { return nil }, 404},
		"looking at a link":   {"GET", httpd.EnterPath + strings.Repeat("A", 26), func(*attemptsFixture) header { return nil }, 200},
		"a webhook's secret":  {"POST", "/hook", func(*attemptsFixture) header { return header{"Secret": "wrong"} }, 401},
		"no webhook's secret": {"POST", "/hook", func(*attemptsFixture) header { return nil }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newAttemptsFixture(t)
				h := c.h(g)
				for range 20 {
					g.expect(c.first, "192.0.2.7:1", c.method, c.path, h)
				}
				w := g.request("192.0.2.7:1", c.method, c.path, h)
				if w.Code != 429 || w.Header().Get("Retry-After") != "60" || strings.Contains(w.Body.String(), "wrong secret") {
					t.Errorf("answered %d %v %s", w.Code, w.Header(), w.Body)
				}
				g.wrong.Close()
			})
		})
	}
}

// link makes a link and returns its path.
func (g *attemptsFixture) link(user string) string {
	g.t.Helper()
	code := musttest.Get(httpd.Grants{Records: g.store}.Make(g.t.Context(), user, httpd.Chat))(g.t)
	return httpd.EnterPath + code
}

func TestARequestWithoutCredentialsIsNotCounted(t *testing.T) {
	g := newAttemptsFixture(t)
	for range 50 {
		g.expect(401, "192.0.2.7:1", "GET", "/", nil)
	}
	g.expect(200, "192.0.2.7:1", "GET", "/", rightToken)
	if g.logs.Len() != 0 {
		t.Errorf("logged %v", g.logs.All())
	}
}

func TestAnAttackerAtTheSameAddressSignsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		cookie := header{"Cookie": strings.Split(g.request("192.0.2.7:1", "POST", g.link("ann"), nil).Header().Get("Set-Cookie"), ";")[0]}
		g.exhaust("192.0.2.7:1", nil)
		g.expect(429, "192.0.2.7:1", "GET", "/", wrongToken)
		g.expect(200, "192.0.2.7:1", "GET", "/", cookie)
		for range 30 { // the network itself is let in, whoever called in its place
			g.request("192.0.2.7:1", "POST", "/hook", nil)
		}
		g.expect(429, "192.0.2.7:1", "POST", "/hook", nil)
		g.expect(200, "192.0.2.7:1", "POST", "/hook", header{"Secret": "right"})
		g.wrong.Close()
	})
}

func TestAProxyWithoutForwardingHeadersDoesNotLockItsUsersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		g.exhaust("127.0.0.1:1", nil) // everybody behind the proxy has this address
		g.expect(429, "127.0.0.1:1", "GET", "/", wrongToken)
		g.expect(200, "127.0.0.1:1", "GET", "/", rightToken)
		if w := g.request("127.0.0.1:1", "POST", g.link("ann"), nil); w.Code != 303 {
			t.Errorf("a good link is answered %d", w.Code)
		}
		g.wrong.Close()
	})
}

func TestWrongLinksBehindAProxyCountForTheirSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		attacker, other := header{"X-Forwarded-For": "203.0.113.1"}, header{"X-Forwarded-For": "203.0.113.2"}
		for i := range 20 {
			if w := g.request("127.0.0.1:1", "POST", "/in/wrong", attacker); w.Code != 404 {
				t.Fatalf("wrong link %d is answered %d", i+1, w.Code)
			}
		}
		good := g.link("ann")
		for _, path := range []string{"/in/wrong", good} { // the 21st is not looked at
			if w := g.request("127.0.0.1:1", "POST", path, attacker); w.Code != 429 || w.Header().Get("Retry-After") != "60" {
				t.Errorf("answered %d, to wait for %q", w.Code, w.Header().Get("Retry-After"))
			}
		}
		if w := g.request("127.0.0.1:1", "POST", good, other); w.Code != 303 {
			t.Errorf("the other person's good link is answered %d", w.Code)
		}
		g.wrong.Close()
	})
}

func TestForwardingHeadersCountOnlyFromTrustedProxies(t *testing.T) {
	for name, c := range map[string]struct {
		from    string
		h       header
		other   header // another client by the same way
		limited bool   // with the first
	}{
		"an attacker invents addresses":               {"192.0.2.7:1", header{"X-Forwarded-For": "203.0.113.1"}, header{"X-Forwarded-For": "203.0.113.2"}, true},
		"an attacker invents addresses as X-Real-IP":  {"192.0.2.7:1", header{"X-Real-Ip": "203.0.113.1"}, header{"X-Real-Ip": "203.0.113.2"}, true},
		"a proxy here tells two clients apart":        {"127.0.0.1:1", header{"X-Forwarded-For": "203.0.113.1"}, header{"X-Forwarded-For": "203.0.113.2"}, false},
		"a proxy here, X-Real-IP":                     {"[::1]:1", header{"X-Real-Ip": "203.0.113.1"}, header{"X-Real-Ip": "203.0.113.2"}, false},
		"a proxy here, and an invented address first": {"127.0.0.1:1", header{"X-Forwarded-For": "1.1.1.1, 203.0.113.1"}, header{"X-Forwarded-For": "2.2.2.2, 203.0.113.1"}, true},
		"a proxy that is named":                       {"172.18.0.2:1", header{"X-Forwarded-For": "203.0.113.1"}, header{"X-Forwarded-For": "203.0.113.2"}, false},
		"two proxies":                                 {"127.0.0.1:1", header{"X-Forwarded-For": "203.0.113.1, 172.18.0.2"}, header{"X-Forwarded-For": "203.0.113.2:55, 172.18.0.2"}, false},
		"a proxy here, and no address":                {"127.0.0.1:1", header{"X-Forwarded-For": "x\" count=0 address=\"192.0.2.9"}, header{"X-Forwarded-For": "unknown"}, true},
		"no address behind a good one":                {"127.0.0.1:1", header{"X-Forwarded-For": "203.0.113.1, _hidden"}, header{"X-Forwarded-For": "203.0.113.2, _hidden"}, true},
		"IPv6 with a zone":                            {"127.0.0.1:1", header{"X-Forwarded-For": "fe80::1%a"}, header{"X-Forwarded-For": "[fe80::1%b]:7"}, true},
		"IPv6 of one household":                       {"[2001:db8::1]:1", nil, nil, true},
		"IPv4 written as IPv6":                        {"127.0.0.1:1", header{"X-Forwarded-For": "::ffff:203.0.113.1"}, header{"X-Forwarded-For": "203.0.113.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newAttemptsFixture(t, "172.18.0.0/16")
				g.exhaust(c.from, c.h)
				from := c.from
				if from == "[2001:db8::1]:1" {
					from = "[2001:db8::ffff:2]:9"
				}
				with := header{"Authorization": "Bearer wrong"}
				for k, v := range c.other {
					with[k] = v
				}
				want := 401
				if c.limited {
					want = 429
				}
				g.expect(want, from, "GET", "/", with)
				g.wrong.Close()
			})
		})
	}
}

func TestWrongAttemptsAreLoggedOnceAMinuteWithCountAndAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		for range 100 {
			g.request("192.0.2.7:1", "GET", "/", wrongToken)
		}
		for range 3 {
			g.request("127.0.0.1:1", "GET", "/", header{"Authorization": "Bearer SECRET-GUESS", "X-Forwarded-For": "evil\n{\"level\":\"error\"}"})
		}
		g.request("192.0.2.7:1", "POST", httpd.EnterPath+"SECRETLINK234567ABCDEFGHIJ", nil)
		if g.logs.Len() != 1 { // at once, so that an operator who looks sees it
			t.Fatalf("at first %d lines are logged", g.logs.Len())
		}
		time.Sleep(59 * time.Second)
		wanttest.Equal(t, "within the minute … lines are logged:", g.logs.Len(), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		all := g.logs.All()
		if len(all) != 2 {
			t.Fatalf("after a minute %d lines are logged", len(all))
		}
		if f := all[0].ContextMap(); f["count"] != int64(1) || f["address"] != "192.0.2.7" {
			t.Errorf("the first is %v", f)
		}
		if f := all[1].ContextMap(); f["count"] != int64(103) || f["refused"] != int64(81) || f["address"] != "192.0.2.7" || f["addresses"] != int64(2) {
			t.Errorf("the second is %v", f)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		wanttest.Equal(t, "without attempts … lines are logged:", g.logs.Len(), 2)
		g.request("127.0.0.1:1", "GET", "/", header{"Authorization": "Bearer x", "X-Forwarded-For": "2001:db8::7"})
		if f := g.logs.All()[2].ContextMap(); f["address"] != "2001:db8::/64" || f["via"] != "127.0.0.1" {
			t.Errorf("by a proxy it is %v", f)
		}
		g.request("192.0.2.9:1", "GET", "/", wrongToken)
		g.wrong.Close() // what is not logged yet must not be lost
		if f := g.logs.All()[3].ContextMap(); f["address"] != "192.0.2.9" {
			t.Errorf("at the end it is %v", f)
		}
		for _, line := range g.logs.All() {
			if s := fmt.Sprint(line.Message, line.ContextMap()); strings.Contains(s, "SECRET") || strings.Contains(s, "evil") {
				t.Errorf("logged %s", s)
			}
		}
		time.Sleep(2 * time.Minute) // no timer is left that would write
	})
}

func TestManyAddressesTakeBoundedMemoryAndLockNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newAttemptsFixture(t)
		for i := range 5000 {
			g.request(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff), "GET", "/", wrongToken)
		}
		if n := g.wrong.Len(); n > 4097 {
			t.Errorf("%d addresses are kept", n)
		}
		g.expect(200, "192.0.2.7:1", "GET", "/", rightToken)
		g.expect(429, "192.0.2.7:1", "GET", "/", wrongToken) // counted with all others
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		wanttest.Equal(t, "addresses are kept forever:", g.wrong.Len(), 0)
	})
}
