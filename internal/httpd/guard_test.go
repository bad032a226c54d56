package httpd_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// serve calls a handler without a network.
func serve(h http.Handler, method string, with header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	for k, v := range with {
		r.Header.Set(k, v)
	}
	if with["Host"] != "" {
		r.Host = with["Host"]
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOnlyRequestsForAKnownHostAreServed(t *testing.T) {
	r := newFixture(t, "bot.example.com")
	b := newBrowser(t)
	b.signIn(r.link("ann", httpd.Chat))
	cookie := b.cookies(r.url)
	port := r.url[strings.LastIndex(r.url, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "LocalHost.": 200, "[::1]" + port: 200, "127.0.0.1:9": 200, "127.0.0.2": 200,
		"bot.example.com": 200, "BOT.example.com:443": 200,
		"evil.example": 421, "evil.example" + port: 421, "bot.example.com.evil.example": 421, "evil-bot.example.com": 421,
		"localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "192.0.2.7": 421, "[2001:db8::1]": 421, "0.0.0.0": 421,
	} {
		resp, body := newBrowser(t).request("GET", r.url, header{"Host": host, "Cookie": cookie})
		if resp.status != want {
			t.Errorf("Host %q is answered %d %q", host, resp.status, body)
		}
		if want == 421 && !strings.Contains(body, "http.hosts") {
			t.Errorf("Host %q is told %q", host, body)
		}
	}
}

func TestTheLocalAddressOfTheConnectionIsAKnownHost(t *testing.T) {
	h := httpd.Guard{Listen: ":8080"}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{"192.0.2.7:8080": 200, "192.0.2.8:8080": 421, "[::ffff:192.0.2.7]:8080": 200, "name:8080": 421} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		wanttest.Equal(t, host+": is answered", w.Code, want)
	}
}

func TestOnlyOurOwnPageMayChangeSomething(t *testing.T) {
	r := newFixture(t, "bot.example.com")
	b := newBrowser(t)
	b.signIn(r.link("ann", httpd.Chat))
	cookie, bearer := b.cookies(r.url), "Bearer "+token
	for _, c := range []struct {
		name   string
		method string
		h      header
		want   int
	}{
		{"our page", "POST", header{"Origin": r.url}, 200},
		{"our page behind a proxy with TLS", "POST", header{"Host": "bot.example.com", "Origin": "https://bot.example.com"}, 200},
		{"our page behind a proxy that changes the host", "POST", header{"Origin": "https://bot.example.com", "Sec-Fetch-Site": "same-origin"}, 200},
		{"a page of another site", "POST", header{"Origin": "https://evil.example"}, 403},
		{"a page on another port", "POST", header{"Origin": "http://127.0.0.1:1"}, 403},
		{"a page without origin", "POST", header{"Origin": "null"}, 403},
		{"a page of another site, of which only the browser tells", "POST", header{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a page of a site nearby", "POST", header{"Origin": "https://x.example.com", "Sec-Fetch-Site": "same-site"}, 403},
		{"deleting", "DELETE", header{"Origin": "https://evil.example"}, 403},
		{"a cookie and no word where it comes from", "POST", nil, 403},
		{"a script with the token", "POST", header{"Authorization": bearer}, 200},
		{"another site's page with the token", "POST", header{"Authorization": bearer, "Origin": "https://evil.example"}, 403},
		{"looking only", "GET", header{"Origin": "https://evil.example"}, 200},
	} {
		if c.h == nil {
			c.h = header{}
		}
		c.h["Cookie"] = cookie
		if resp, body := newBrowser(t).request(c.method, r.url, c.h); resp.status != c.want {
			t.Errorf("%s: answered %d %q", c.name, resp.status, body)
		}
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	for _, h := range []header{nil, {"Host": "evil.example"}, {"Authorization": "Bearer " + token}} {
		resp, _ := b.request("GET", r.url, h)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := resp.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%d: %s is %q", resp.status, name, got)
			}
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("other sites may read it")
		}
	}
}

func TestAStreamEndsWithTheCookieAndWithTheServer(t *testing.T) {
	store := openStore(t, t.TempDir(), sqlite.Options{})
	now := time.Now()
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: store, Now: func() time.Time { return now }}))(t)
	code := musttest.Get(httpd.Grants{Records: store}.Make(t.Context(), "ann", httpd.Chat))(t)
	server := musttest.Get(httpd.Listen(t.Context(), "127.0.0.1:0", zap.NewNop()))(t)
	server.StopTimeout = time.Hour // a stream that does not end with the server would make this test hang
	stop, ended := make(chan struct{}), make(chan string, 2)
	server.OnStop(func() { close(stop) })
	mux := http.NewServeMux()
	access.Mount(mux, zap.NewNop())
	mux.Handle("/", access.Require(httpd.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deadline, ok := r.Context().Deadline(); !ok || deadline.Sub(now).Round(time.Hour) != 30*24*time.Hour {
			t.Errorf("the request's time is %v, %v", deadline, ok)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-stop:
			ended <- "with the server"
		case <-r.Context().Done():
			ended <- "with its client"
		}
	})))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, mux) }()
	b := newBrowser(t)
	url := "http://" + server.Addr().String()
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.signIn(url + httpd.EnterPath + code)
	resp := musttest.Get(b.Get(url))(t)
	defer resp.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wanttest.Equal(t, "the stream ended", <-ended, "with the server")
}

func TestARequestThroughAProxyIsNotLocal(t *testing.T) {
	for _, c := range []struct {
		h    header
		want bool
	}{
		{header{"Host": "127.0.0.1:8080"}, true},
		{header{"Host": "localhost"}, true},
		{header{"Host": "[::1]:8080"}, true},
		{header{"Host": "bot.example.com"}, false},
		{header{"Host": "192.0.2.7:8080"}, false},
		{header{"Host": "localhost", "X-Forwarded-For": "192.0.2.7"}, false},
		{header{"Host": "localhost", "X-Real-IP": "192.0.2.7"}, false},
		{header{"Host": "localhost", "Forwarded": "for=192.0.2.7"}, false},
		{header{"Host": "localhost", "Via": "1.1 x"}, false},
	} {
		var got bool
		serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = httpd.IsLocal(r) }), "GET", c.h)
		if got != c.want {
			t.Errorf("%v: %v", c.h, got)
		}
	}
}
