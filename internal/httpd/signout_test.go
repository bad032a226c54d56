package httpd_test

import (
	"bufio"
	"context"
	"io"
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

func TestSigningOutEndsOneSessionForGood(t *testing.T) {
	r := newFixture(t)
	here, there := newBrowser(t), newBrowser(t)
	here.signIn(r.link("ann", httpd.Chat))
	there.signIn(r.link("ann", httpd.Chat)) // within the same second
	stolen := header{"Cookie": here.cookies(r.url)}
	if resp, _ := here.request("POST", r.url+"/out", header{"Origin": "https://evil.example"}); resp.status != 403 {
		t.Errorf("another site's page is answered %d", resp.status)
	}
	if resp, _ := here.request("POST", r.url+"/out", nil); resp.status != 403 {
		t.Errorf("no page is answered %d", resp.status)
	}
	if resp, body := here.request("POST", r.url+"/out", header{"Origin": r.url}); resp.status != 204 || body != "" {
		t.Errorf("answered %d %q", resp.status, body)
	}
	wanttest.Equal(t, "the browser keeps", here.cookies(r.url), "")
	for range 2 {
		if resp, _ := newBrowser(t).request("GET", r.url, stolen); resp.status != 401 {
			t.Errorf("a copy of the cookie is answered %d", resp.status)
		}
		if _, body := there.request("GET", r.url, nil); body != "chat ann" {
			t.Errorf("her other browser is %q", body)
		}
		r.startServer() // and after a restart
	}
	if resp, _ := newBrowser(t).request("POST", r.url+"/out", header{"Authorization": "Bearer " + token}); resp.status != 204 {
		t.Errorf("a script is answered %d", resp.status)
	}
}

func TestAnEndedSessionIsForgottenOnceItsCookieHasExpired(t *testing.T) {
	r := newFixture(t)
	size := func() int { return len(r.records("http/out/")) }
	out := func() {
		b := newBrowser(t)
		b.signIn(r.link("ann", httpd.Chat))
		b.request("POST", r.url+"/out", header{"Origin": r.url})
	}
	out()
	one := size()
	out()
	if size() <= one {
		t.Error("the second is not kept")
	}
	r.now = r.now.Add(31 * 24 * time.Hour)
	out()
	if got := size(); got != one {
		t.Errorf("old ones pile up: %d, and should be %d", got, one)
	}
}

func TestASignOutThatCannotBeStoredIsReported(t *testing.T) {
	r := newFixture(t)
	cookie := r.cookie("chat.ann.9999999999.S")
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/out", nil)
	req.Header.Set("Cookie", cookie)
	req.Header.Set("Origin", "http://example.com")
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: unwritableRecords{r.store}}))(t)
	mux := http.NewServeMux()
	access.Mount(mux, zap.NewNop())
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, req)
	if answer.Code != 503 || !strings.Contains(answer.Body.String(), "only until the bot restarts") {
		t.Errorf("answered %d %q", answer.Code, answer.Body)
	}
	wanttest.Equal(t, "the cookie is answered", serve(access.Require(httpd.Chat, http.NotFoundHandler()), "GET", header{"Cookie": cookie}).Code, 401)
}

// unwritableRecords are records that can only be read.
type unwritableRecords struct{ httpd.Records }

func (unwritableRecords) SaveRecords(context.Context, map[string]string) error { return errDisk }

func TestSigningOutEndsItsStreamsAndNoOthers(t *testing.T) {
	store := openStore(t, t.TempDir(), sqlite.Options{})
	access := musttest.Get(httpd.NewAccess(t.Context(), httpd.Options{Records: store}))(t)
	server := musttest.Get(httpd.Listen(t.Context(), "127.0.0.1:0", zap.NewNop()))(t)
	ended := make(chan string, 2)
	mux := http.NewServeMux()
	access.Mount(mux, zap.NewNop())
	mux.Handle("/", http.NotFoundHandler())
	mux.Handle("/stream", access.Require(httpd.Chat, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		ended <- httpd.IdentityOf(r.Context()).User
	})))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, mux) }()
	url := "http://" + server.Addr().String()
	browsers, streams := map[string]*browser{}, map[string]io.Closer{}
	for _, user := range []string{"ann", "bob"} {
		code := musttest.Get(httpd.Grants{Records: store}.Make(t.Context(), user, httpd.Chat))(t)
		b := newBrowser(t)
		b.signIn(url + httpd.EnterPath + code)
		resp := musttest.Get(b.Get(url + "/stream"))(t)
		browsers[user], streams[user] = b, resp.Body
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "begun\n" {
			t.Fatal(line, err)
		}
	}
	browsers["ann"].request("POST", url+"/out", header{"Origin": url})
	select {
	case who := <-ended:
		wanttest.Equal(t, "the stream ended of", who, "ann")
	case <-time.After(5 * time.Minute):
		t.Error("her stream goes on")
	}
	if len(ended) > 0 {
		t.Error("his stream ended as well")
	}
	for _, s := range streams {
		s.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
