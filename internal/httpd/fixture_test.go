package httpd_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a token of the operator's"

// fixture is a server like the daemon's: sign-in, a handler for chat users, a stream, and a handler
// for operators.
type fixture struct {
	t     *testing.T
	url   string
	dir   string
	store *sqlite.Store
	words *words.Catalogue
	now   time.Time
}

func newFixture(t *testing.T, hosts ...string) *fixture {
	t.Helper()
	r := &fixture{t: t, dir: t.TempDir(), now: time.Now(), words: words.New(words.Settings{})}
	r.store = openStore(t, r.dir, sqlite.Options{})
	r.startServer(hosts...)
	return r
}

// openStore opens the store that implements Records in the daemon, or a tool's handle on it.
func openStore(t *testing.T, dir string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s := musttest.Get(sqlite.Open(t.Context(), dir, o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// records returns the records whose keys have a prefix.
func (r *fixture) records(prefix string) map[string]string {
	r.t.Helper()
	values := musttest.Get(r.store.ListRecords(r.t.Context(), prefix))(r.t)
	return values
}

func (r *fixture) startServer(hosts ...string) {
	r.t.Helper()
	attempts := httpd.NewAttempts(nil, func() time.Time { return r.now }, zap.NewNop())
	attempts.SetWords(r.words)
	access := musttest.Get(httpd.NewAccess(r.t.Context(), httpd.Options{Records: r.store, Token: token, Attempts: attempts, Words: r.words, Now: func() time.Time { return r.now }}))(r.t)
	server := musttest.Get(httpd.Listen(r.t.Context(), "127.0.0.1:0", zap.NewNop()))(r.t)
	mux := http.NewServeMux()
	access.Mount(mux, zap.NewNop())
	whoami := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := httpd.IdentityOf(r.Context())
		_, _ = io.WriteString(w, string(id.Role)+" "+id.User)
	})
	mux.Handle("/", access.Require(httpd.Chat, whoami))
	mux.Handle("/stream", access.Require(httpd.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})))
	mux.Handle("/operator", access.Require(httpd.Operator, whoami))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- server.Run(ctx, httpd.Guard{Listen: server.Addr().String(), Hosts: hosts, Words: r.words}.Wrap(mux))
	}()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
	r.url = "http://" + server.Addr().String()
}

// link creates a link and returns its URL.
func (r *fixture) link(user string, role httpd.Role) string {
	r.t.Helper()
	code := musttest.Get(httpd.Grants{Records: r.store, Now: func() time.Time { return r.now }}.Make(r.t.Context(), user, role))(r.t)
	return r.url + httpd.EnterPath + code
}

// browser is an HTTP client with cookies.
type browser struct {
	t *testing.T
	http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar := musttest.Get(cookiejar.New(nil))(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, http.Client{Jar: jar, Transport: transport}}
}

type header map[string]string

// response is a response, after redirects.
type response struct {
	*http.Response
	status int
}

// request makes a request and returns the response and its body. The header Host sets the host.
func (b *browser) request(method, url string, h header) (response, string) {
	b.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(b.t.Context(), method, url, nil))(b.t)
	for k, v := range h {
		req.Header.Set(k, v)
	}
	req.Host = h["Host"]
	return b.do(req)
}

func (b *browser) do(req *http.Request) (response, string) {
	b.t.Helper()
	resp := musttest.Get(b.Do(req))(b.t)
	defer resp.Body.Close()
	body := musttest.Get(io.ReadAll(resp.Body))(b.t)
	return response{resp, resp.StatusCode}, string(body)
}

// cookies returns the cookies of a URL as a header, so that tests can send them under any host.
func (b *browser) cookies(address string) string {
	b.t.Helper()
	u := musttest.Get(url.Parse(address))(b.t)
	var all []string
	for _, c := range b.Jar.Cookies(u) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

// signIn uses a link, as the page of the link does.
func (b *browser) signIn(link string) (response, string) {
	b.t.Helper()
	origin := link[:strings.Index(link, httpd.EnterPath)]
	return b.request("POST", link, header{"Origin": origin})
}

// replaceInLinks replaces a text in the records of unused links.
func (r *fixture) replaceInLinks(from, to string) {
	r.t.Helper()
	values := r.records("http/link/")
	if len(values) == 0 {
		r.t.Fatal("there are no links")
	}
	for key, value := range values {
		values[key] = strings.ReplaceAll(value, from, to)
	}
	musttest.Do(r.t, r.store.SaveRecords(r.t.Context(), values))
}

// cookie signs a payload as the server does.
func (r *fixture) cookie(words string) string {
	r.t.Helper()
	return signedCookie(r.t, r.records("http/key")["http/key"], words)
}

func signedCookie(t testing.TB, key, words string) string {
	t.Helper()
	secret := musttest.Get(hex.DecodeString(key))(t)
	name := sha256.Sum256(append([]byte("name"), secret...))
	seal := hmac.New(sha256.New, secret)
	seal.Write([]byte(words))
	return "nanobot-" + hex.EncodeToString(name[:4]) + "=" + words + "." + base64.RawURLEncoding.EncodeToString(seal.Sum(nil))
}
