package httpd_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestALinkSignsOnePersonInOnce(t *testing.T) {
	r := newFixture(t)
	link := r.link("ann", httpd.Chat)
	ann, bob := newBrowser(t), newBrowser(t)
	if resp, body := ann.signIn(link); resp.status != 200 || resp.Request.URL.Path != "/" || body != "chat ann" {
		t.Errorf("the link leads to %s: %d %q", resp.Request.URL, resp.status, body)
	}
	if resp, body := bob.signIn(link); resp.status != 404 || !strings.Contains(body, "used already") {
		t.Errorf("for the second person the link leads to %d %q", resp.status, body)
	}
	if resp, _ := bob.request("GET", r.url+"/", nil); resp.status != 401 {
		t.Errorf("the second person is answered %d", resp.status)
	}
	if resp, body := ann.signIn(link); resp.status != 200 || body != "chat ann" {
		t.Errorf("who came in by it comes back to %d %q", resp.status, body)
	}
}

func TestALinkUsedByManyAtOnceSignsOneIn(t *testing.T) {
	r := newFixture(t)
	link := r.link("", httpd.Operator)
	var in atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		b := newBrowser(t)
		all.Go(func() {
			if resp, _ := b.signIn(link); resp.status == 200 {
				in.Add(1)
			}
		})
	}
	all.Wait()
	wanttest.Equal(t, "got in:", in.Load(), 1)
}

func TestLookingAtALinkDoesNotUseItUp(t *testing.T) {
	r := newFixture(t)
	link := r.link("ann", httpd.Chat)
	b := newBrowser(t)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		if resp, body := b.request(method, link, nil); resp.status != 200 || method == "GET" && !strings.Contains(body, "<form method=\"post\">") {
			t.Errorf("%s shows %d %q", method, resp.status, body)
		}
	}
	if resp, _ := b.request("GET", r.url+"/", nil); resp.status != 401 {
		t.Errorf("looking let somebody in: %d", resp.status)
	}
	if _, body := b.signIn(link); body != "chat ann" {
		t.Errorf("after looking it leads to %q", body)
	}
}

func TestAnExpiredOrWrongLinkIsRefused(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	old := r.link("ann", httpd.Chat)
	r.now = r.now.Add(httpd.LinkLifetime)
	if resp, _ := b.signIn(old); resp.status != 404 {
		t.Errorf("an old one is answered %d", resp.status)
	}
	for _, code := range []string{"X", strings.Repeat("A", 26), "..%2f..%2fhttp.key", strings.Repeat("A", 5000)} {
		if resp, body := b.signIn(r.url + httpd.EnterPath + code); resp.status != 404 {
			t.Errorf("%.40s is answered %d %q", code, resp.status, body)
		}
	}
}

func TestLinksStoreNoCodeAndExpiredOnesAreRemoved(t *testing.T) {
	r := newFixture(t)
	code := r.link("ann", httpd.Chat)
	code = code[strings.LastIndex(code, "/")+1:]
	links := r.records("http/link/")
	if text := fmt.Sprint(links); len(links) != 1 || strings.Contains(text, code) {
		t.Fatalf("the records are %s", text)
	}
	r.now = r.now.Add(3 * httpd.LinkLifetime)
	r.link("bob", httpd.Chat)
	if links := r.records("http/link/"); len(links) != 1 {
		t.Errorf("old ones pile up: %v", links)
	}
}

// barrierRecords are records whose readers wait for each other, so that both read the same value.
type barrierRecords struct {
	httpd.Records
	both *sync.WaitGroup
}

func (m barrierRecords) LoadRecord(ctx context.Context, key string) (string, error) {
	value, err := m.Records.LoadRecord(ctx, key)
	m.both.Done()
	m.both.Wait()
	return value, err
}

func TestALinkThatTwoProcessesUseAtTheSameTimeIsUsedOnce(t *testing.T) {
	r := newFixture(t)
	beside := openStore(t, r.dir, sqlite.Options{Shared: true})
	for range 5 {
		link := r.link("ann", httpd.Chat)
		code := link[strings.LastIndex(link, "/")+1:]
		var both, done sync.WaitGroup
		var taken atomic.Int32
		both.Add(2)
		for _, s := range []httpd.Records{r.store, beside} {
			done.Go(func() {
				ok, err := httpd.Grants{Records: barrierRecords{s, &both}}.Consume(t.Context(), code)
				if err != nil {
					t.Error(err)
				}
				if ok {
					taken.Add(1)
				}
			})
		}
		done.Wait()
		wanttest.Equal(t, "have taken it:", taken.Load(), 1)
	}
}

func TestInvalidUsersAndRolesGetNoLink(t *testing.T) {
	links := httpd.Grants{Records: newFixture(t).store}
	if _, err := links.Make(t.Context(), "ann", "root"); err == nil || !strings.Contains(err.Error(), "must be chat or operator") {
		t.Errorf("role: %v", err)
	}
	for _, user := range []string{"a.b", "a b", "../x", strings.Repeat("x", 41)} {
		if _, err := links.Make(t.Context(), user, httpd.Chat); err == nil {
			t.Errorf("user %q gets a link", user)
		}
	}
}

func TestACookieIsValidAfterARestartUntilItExpires(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	b.signIn(r.link("ann", httpd.Chat))
	r.startServer() // as after a restart, on another port, for which browsers have the same cookies
	if _, body := b.request("GET", r.url, nil); body != "chat ann" {
		t.Errorf("after a restart she is %q", body)
	}
	r.now = r.now.Add(29 * 24 * time.Hour)
	if _, body := b.request("GET", r.url, nil); body != "chat ann" {
		t.Errorf("after 29 days she is %q", body)
	}
	r.now = r.now.Add(25 * time.Hour)
	if resp, _ := b.request("GET", r.url, nil); resp.status != 401 {
		t.Errorf("after 30 days she is answered %d", resp.status)
	}
}

func TestACookieIsHTTPOnlyAndSameSite(t *testing.T) {
	r := newFixture(t)
	b, other := newBrowser(t), newBrowser(t)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	other.CheckRedirect = b.CheckRedirect
	plain, _ := b.signIn(r.link("ann", httpd.Chat))
	secure, _ := other.request("POST", r.link("ann", httpd.Chat), header{"Origin": r.url, "X-Forwarded-Proto": "https"})
	for resp, overTLS := range map[response]bool{plain: false, secure: true} {
		c := resp.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure != overTLS {
			t.Errorf("the cookie is %v", c)
		}
	}
}

func TestAForgedCookieIsRefused(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	b.signIn(r.link("ann", httpd.Chat))
	name, value, _ := strings.Cut(b.cookies(r.url), "=")
	words := strings.Split(value, ".")
	other, there := newFixture(t), newBrowser(t)
	there.signIn(other.link("ann", httpd.Operator))
	_, foreign, _ := strings.Cut(there.cookies(other.url), "=")
	for what, forged := range map[string]string{
		"promoted":    "operator." + strings.Join(words[1:], "."),
		"renamed":     words[0] + ".bob." + strings.Join(words[2:], "."),
		"prolonged":   words[0] + "." + words[1] + ".9999999999." + strings.Join(words[3:], "."),
		"another one": strings.Join(words[:3], ".") + ".OTHER." + words[4],
		"unsealed":    strings.Join(words[:4], "."),
		"cut":         value[:len(value)-1],
		"empty":       "",
		"dots":        "...",
		"of another":  foreign,
		"no role":     "root." + strings.Join(words[1:], "."),
		"only a seal": "." + words[4],
	} {
		if resp, _ := newBrowser(t).request("GET", r.url, header{"Cookie": name + "=" + forged}); resp.status != 401 {
			t.Errorf("%s: answered %d", what, resp.status)
		}
	}
	if resp, _ := newBrowser(t).request("GET", r.url, header{"Cookie": name + "=" + value}); resp.status != 200 {
		t.Errorf("the good one is answered %d", resp.status)
	}
}

func TestRolesAndTheToken(t *testing.T) {
	r := newFixture(t)
	chatter, operator, script := newBrowser(t), newBrowser(t), newBrowser(t)
	chatter.signIn(r.link("", httpd.Chat))
	operator.signIn(r.link("", httpd.Operator))
	bearer := header{"Authorization": "Bearer " + token}
	for _, c := range []struct {
		name   string
		b      *browser
		path   string
		h      header
		status int
		body   string
	}{
		{"a chatter chats", chatter, "/", nil, 200, "chat user-"},
		{"a chatter is no operator", chatter, "/operator", nil, 403, "Only operators"},
		{"an operator chats", operator, "/", nil, 200, "operator operator"},
		{"an operator operates", operator, "/operator", nil, 200, "operator operator"},
		{"a script operates", script, "/operator", bearer, 200, "operator operator"},
		{"a wrong token", script, "/", header{"Authorization": "Bearer wrong"}, 401, "This token is wrong."},
		{"no token", script, "/", header{"Authorization": "Bearer "}, 401, "This token is wrong."},
		{"another scheme", script, "/", header{"Authorization": "Basic " + token}, 401, "link"},
		{"a password for a proxy, and a good cookie", chatter, "/", header{"Authorization": "Basic YTpi"}, 200, "chat user-"},
		{"a wrong token with a good cookie", operator, "/", header{"Authorization": "Bearer wrong"}, 401, "This token is wrong."},
		{"a stranger", script, "/operator", nil, 401, "nanobot link"},
	} {
		resp, body := c.b.request("GET", r.url+c.path, c.h)
		if resp.status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: answered %d %q", c.name, resp.status, body)
		}
	}
}

func TestOnlyOperatorsCanBeNamedOperator(t *testing.T) {
	r := newFixture(t)
	for _, user := range []string{"operator", "Operator"} {
		if _, err := (httpd.Grants{Records: r.store}).Make(t.Context(), user, httpd.Chat); err == nil || !strings.Contains(err.Error(), "choose another name") {
			t.Errorf("a link for %s: %v", user, err)
		}
		// What an older nanobot let in.
		link := r.link(user, httpd.Operator)
		r.replaceInLinks(`"role":"operator"`, `"role":"chat"`)
		if resp, _ := newBrowser(t).signIn(link); resp.status != 404 {
			t.Errorf("a link for %s that is there is answered %d", user, resp.status)
		}
		if resp, _ := newBrowser(t).request("GET", r.url, header{"Cookie": r.cookie("chat." + user + ".9999999999.S")}); resp.status != 401 {
			t.Errorf("a cookie of %s is answered %d", user, resp.status)
		}
	}
	if resp, body := newBrowser(t).request("GET", r.url, header{"Cookie": r.cookie("chat.ann.9999999999.S")}); resp.status != 200 {
		t.Errorf("ann's is answered %d %s", resp.status, body)
	}
}

func TestWithoutATokenNoBearerIsAccepted(t *testing.T) {
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: openStore(t, t.TempDir(), sqlite.Options{})}))(t)
	for _, auth := range []string{"Bearer ", "Bearer", "Bearer x"} {
		wanttest.Equal(t, auth+": is answered", serve(access.Require(httpd.Chat, http.NotFoundHandler()), "GET", header{"Authorization": auth}).Code, 401)
	}
}

func TestARefusalIsAPageForPeopleAndJSONForPrograms(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	resp, body := b.request("GET", r.url, header{"Accept": "text/html,*/*"})
	if resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(body, "<p>You need a link") {
		t.Errorf("people see %v %q", resp.Header, body)
	}
	resp, body = b.request("GET", r.url, header{"Accept": "*/*"})
	if resp.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(body, `{"error":"You need a link`) {
		t.Errorf("programs see %v %q", resp.Header, body)
	}
}

func TestADamagedKeyIsReported(t *testing.T) {
	r := newFixture(t)
	musttest.Do(t, r.store.SaveRecords(t.Context(), map[string]string{"http/key": "short"}))
	if _, err := httpd.NewAccess(t.Context(), httpd.Options{Records: r.store}); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

// While records cannot be read, requests are neither accepted nor answered with 401.
func TestUnreadableRecordsAreReported(t *testing.T) {
	r := newFixture(t)
	records := &brokenRecords{Records: r.store}
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: records}))(t)
	h := access.Require(httpd.Chat, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	in := header{"Cookie": r.cookie("chat.ann.9999999999.S")}
	for _, want := range []int{200, 503, 200} {
		records.broken.Store(want == 503)
		wanttest.Equal(t, "answered", serve(h, "GET", in).Code, want)
	}
}

// brokenRecords are records that fail while broken is set.
type brokenRecords struct {
	httpd.Records
	broken atomic.Bool
}

var errDisk = errors.New("the disk is broken")

func (f *brokenRecords) LoadRecord(ctx context.Context, key string) (string, error) {
	if f.broken.Load() {
		return "", errDisk
	}
	return f.Records.LoadRecord(ctx, key)
}

func (f *brokenRecords) SaveRecords(ctx context.Context, values map[string]string) error {
	if f.broken.Load() {
		return errDisk
	}
	return f.Records.SaveRecords(ctx, values)
}

func (f *brokenRecords) SwapRecord(ctx context.Context, key, old, value string) (bool, error) {
	if f.broken.Load() {
		return false, errDisk
	}
	return f.Records.SwapRecord(ctx, key, old, value)
}
