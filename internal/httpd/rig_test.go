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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a token of the operator's"

// rig is a server as the daemon has it: the way in, something for people who chat, something for
// operators.
type rig struct {
	t     *testing.T
	url   string
	dir   string
	store *sqlite.Store
	now   time.Time
}

func newRig(t *testing.T, hosts ...string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), now: time.Now()}
	r.store = openStore(t, r.dir, sqlite.Options{})
	r.start(hosts...)
	return r
}

// openStore opens the store that implements Records in the daemon, or a tool's handle on it.
func openStore(t *testing.T, dir string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// records returns the keys that begin with a prefix, and their values.
func (r *rig) records(prefix string) map[string]string {
	r.t.Helper()
	values, err := r.store.ListRecords(r.t.Context(), prefix)
	if err != nil {
		r.t.Fatal(err)
	}
	return values
}

func (r *rig) start(hosts ...string) {
	r.t.Helper()
	access, err := httpd.NewAccess(r.t.Context(), httpd.Options{Records: r.store, Token: token, Now: func() time.Time { return r.now }})
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := httpd.Listen(r.t.Context(), "127.0.0.1:0", zap.NewNop())
	if err != nil {
		r.t.Fatal(err)
	}
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
	go func() { done <- server.Run(ctx, httpd.Guard{Listen: server.Addr().String(), Hosts: hosts}.Wrap(mux)) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
	r.url = "http://" + server.Addr().String()
}

// link makes a link and returns its address.
func (r *rig) link(user string, role httpd.Role) string {
	r.t.Helper()
	code, err := httpd.Links{Records: r.store, Now: func() time.Time { return r.now }}.Make(r.t.Context(), user, role)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.url + httpd.EnterPath + code
}

// browser keeps cookies and says where its requests come from.
type browser struct {
	t *testing.T
	http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, http.Client{Jar: jar, Transport: transport}}
}

type header map[string]string

// answer is what came back, after redirects.
type answer struct {
	*http.Response
	status int
}

// ask makes a request and returns the answer and its body. A header called Host is the host.
func (b *browser) ask(method, url string, h header) (answer, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range h {
		req.Header.Set(k, v)
	}
	req.Host = h["Host"]
	return b.do(req)
}

func (b *browser) do(req *http.Request) (answer, string) {
	b.t.Helper()
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp, resp.StatusCode}, string(body)
}

// cookies are those of an address, to be sent under any name, as by a browser that was led here by
// a foreign one.
func (b *browser) cookies(address string) string {
	b.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, c := range b.Jar.Cookies(u) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

// enter goes in by a link, as the page behind it does.
func (b *browser) enter(link string) (answer, string) {
	b.t.Helper()
	origin := link[:strings.Index(link, httpd.EnterPath)]
	return b.ask("POST", link, header{"Origin": origin})
}

// inLinks changes what is in the records of open links.
func (r *rig) inLinks(from, to string) {
	r.t.Helper()
	values := r.records("http/link/")
	if len(values) == 0 {
		r.t.Fatal("there are no links")
	}
	for key, value := range values {
		values[key] = strings.ReplaceAll(value, from, to)
	}
	if err := r.store.SaveRecords(r.t.Context(), values); err != nil {
		r.t.Fatal(err)
	}
}

// cookie seals words as the server does.
func (r *rig) cookie(words string) string {
	r.t.Helper()
	return sealed(r.t, r.records("http/key")["http/key"], words)
}

func sealed(t testing.TB, key, words string) string {
	t.Helper()
	secret, err := hex.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	name := sha256.Sum256(append([]byte("name"), secret...))
	seal := hmac.New(sha256.New, secret)
	seal.Write([]byte(words))
	return "nanobot-" + hex.EncodeToString(name[:4]) + "=" + words + "." + base64.RawURLEncoding.EncodeToString(seal.Sum(nil))
}
