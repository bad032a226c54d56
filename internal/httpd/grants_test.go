package httpd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// grants returns the Grants of a command that runs beside the daemon.
func (r *fixture) grants() httpd.Grants {
	r.t.Helper()
	return httpd.Grants{Records: openStore(r.t, r.dir, sqlite.Options{Shared: true}), Now: func() time.Time { return r.now }}
}

// listed returns the grants as lines of kind, user and role.
func (r *fixture) listed() (lines []string, all []httpd.Grant) {
	r.t.Helper()
	all = musttest.Get(r.grants().List(r.t.Context()))(r.t)
	for _, g := range all {
		lines = append(lines, fmt.Sprint(g.Kind, " ", g.User, " ", g.Role))
	}
	return lines, all
}

func (r *fixture) revoke(who string) []httpd.Grant {
	r.t.Helper()
	revoked := musttest.Get(r.grants().Revoke(r.t.Context(), who))(r.t)
	return revoked
}

func TestLinksAndBrowsersAreListed(t *testing.T) {
	r := newFixture(t)
	if lines, _ := r.listed(); lines != nil {
		t.Errorf("at first there are %v", lines)
	}
	ann := newBrowser(t)
	ann.signIn(r.link("ann", httpd.Chat))
	r.link("bob", httpd.Operator)
	lines, all := r.listed()
	if got := strings.Join(lines, ", "); got != "browser ann chat, link bob operator" {
		t.Fatalf("listed are %s", got)
	}
	browser, link := all[0], all[1]
	if !browser.Created.Equal(r.now) || !browser.Expires.Equal(r.now.Add(30*24*time.Hour)) || browser.LastSeen == nil || link.LastSeen != nil {
		t.Errorf("the browser is %+v", browser)
	}
	if !link.Expires.Equal(r.now.Add(httpd.LinkLifetime)) || !link.Created.Equal(r.now) {
		t.Errorf("the link is %+v", link)
	}
	text, err := json.Marshal(all)
	if _, secret, _ := strings.Cut(ann.cookies(r.url), "="); err != nil || strings.Contains(string(text), strings.Split(secret, ".")[3]) {
		t.Errorf("%s holds a part of the cookie, %v", text, err)
	}
	// Last seen follows, and the ID stays.
	r.now = r.now.Add(time.Hour)
	ann.request("GET", r.url, nil)
	r.startServer()
	_, all = r.listed()
	if len(all) != 1 || all[0].ID != browser.ID || all[0].LastSeen.Sub(r.now).Abs() > time.Second {
		t.Errorf("an hour later there is %+v", all) // and the link is too old
	}
	r.now = r.now.Add(31 * 24 * time.Hour)
	if lines, _ := r.listed(); lines != nil {
		t.Errorf("a month later there are %v", lines)
	}
	r.startServer()
	if left := r.records("http/session/"); len(left) != 0 {
		t.Errorf("old records pile up: %v", left)
	}
}

func TestASingleBrowserIsSignedOut(t *testing.T) {
	r := newFixture(t)
	here, there := newBrowser(t), newBrowser(t)
	here.signIn(r.link("ann", httpd.Chat))
	_, all := r.listed()
	id := all[0].ID
	there.signIn(r.link("ann", httpd.Chat))
	if got := r.revoke(id); len(got) != 1 || got[0].User != "ann" || got[0].Kind != httpd.BrowserGrant {
		t.Errorf("revoked was %+v", got)
	}
	for range 2 {
		for accept, want := range map[string]string{
			"text/html": "<h1>You are signed out</h1><p>Ask the bot&#39;s operator for a new link.</p>", "*/*": `{"error":"You are signed out. Ask the bot's operator for a new link.","code":"signed_out"}`,
		} {
			if resp, body := here.request("GET", r.url, header{"Accept": accept}); resp.status != 401 || !strings.Contains(body, want) {
				t.Errorf("the browser is answered %d %q", resp.status, body)
			}
		}
		if _, body := there.request("GET", r.url, nil); body != "chat ann" {
			t.Errorf("her other browser is %q", body)
		}
		r.startServer() // and after a restart
	}
	if got := r.revoke(id); got != nil {
		t.Errorf("again it revokes %+v", got)
	}
	if lines, _ := r.listed(); len(lines) != 1 {
		t.Errorf("listed are %v", lines)
	}
	here.signIn(r.link("ann", httpd.Chat)) // a new link lets her in again
	if _, body := here.request("GET", r.url, nil); body != "chat ann" {
		t.Errorf("by a new link she is %q", body)
	}
}

func TestALinkIsRevoked(t *testing.T) {
	r := newFixture(t)
	link := r.link("ann", httpd.Chat)
	id := httpd.Grants{}.ID(link[strings.LastIndex(link, "/")+1:])
	if got := r.revoke(id); len(got) != 1 || got[0].Kind != httpd.LinkGrant || got[0].ID != id {
		t.Errorf("revoked was %+v", got)
	}
	if resp, _ := newBrowser(t).signIn(link); resp.status != 404 {
		t.Errorf("it is answered %d", resp.status)
	}
	if lines, _ := r.listed(); lines != nil {
		t.Errorf("listed are %v", lines)
	}
}

func TestRevokingAUserLeavesOtherUsersAlone(t *testing.T) {
	r := newFixture(t)
	ann, bob := newBrowser(t), newBrowser(t)
	ann.signIn(r.link("ann", httpd.Chat))
	bob.signIn(r.link("bob", httpd.Chat))
	link := r.link("ann", httpd.Operator)
	if got := r.revoke("ann"); len(got) != 2 {
		t.Errorf("revoked were %+v", got)
	}
	if resp, _ := ann.request("GET", r.url, nil); resp.status != 401 {
		t.Errorf("she is answered %d", resp.status)
	}
	if resp, _ := newBrowser(t).signIn(link); resp.status != 404 {
		t.Errorf("her link is answered %d", resp.status)
	}
	if _, body := bob.request("GET", r.url, nil); body != "chat bob" {
		t.Errorf("he is %q", body)
	}
	for _, who := range []string{"", "nobody", "an", "ANN", "../http", all64} {
		if got := r.revoke(who); got != nil {
			t.Errorf("%q revokes %+v", who, got)
		}
	}
}

const all64 = "0000000000000000000000000000000000000000000000000000000000000000"

func TestASessionWithoutARecordIsListedOnceItIsUsed(t *testing.T) {
	r := newFixture(t)
	old := header{"Cookie": r.cookie(fmt.Sprintf("chat.ann.%d.OLD", r.now.Add(240*time.Hour).Unix()))}
	if resp, _ := newBrowser(t).request("GET", r.url, old); resp.status != 200 {
		t.Fatalf("answered %d", resp.status)
	}
	_, all := r.listed()
	if len(all) != 1 || all[0].User != "ann" || all[0].Created.Sub(r.now).Round(time.Hour) != -480*time.Hour {
		t.Fatalf("listed are %+v", all)
	}
	r.revoke(all[0].ID)
	if resp, _ := newBrowser(t).request("GET", r.url, old); resp.status != 401 {
		t.Errorf("answered %d", resp.status)
	}
	if _, all := r.listed(); len(all) != 0 {
		t.Errorf("listed are %+v", all)
	}
}

func TestRevokingEndsTheStreamsOfThatBrowser(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	b.signIn(r.link("ann", httpd.Chat))
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/stream", nil))(t)
	resp := musttest.Get(b.Do(req))(t)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); line != "begun\n" {
		t.Fatal(line, err)
	}
	r.revoke("ann")
	if rest, err := lines.ReadString('\n'); err == nil { // or the test would never end
		t.Errorf("the stream went on with %q", rest)
	}
}

func TestBrowsersThatSignOutDuringARevocationStaySignedOut(t *testing.T) {
	r := newFixture(t)
	var all sync.WaitGroup
	browsers := make([]*browser, 24)
	cookies := make([]header, len(browsers))
	for i := range browsers {
		browsers[i] = newBrowser(t)
		browsers[i].signIn(r.link(fmt.Sprint("u", i), httpd.Chat))
		cookies[i] = header{"Cookie": browsers[i].cookies(r.url)}
	}
	for i, b := range browsers { // half by the daemon, half by a command beside it
		all.Go(func() {
			if i%2 == 0 {
				b.request("POST", r.url+"/out", header{"Origin": r.url})
			} else if _, err := r.grants().Revoke(r.t.Context(), fmt.Sprint("u", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.startServer()
	for i, c := range cookies {
		if resp, _ := newBrowser(t).request("GET", r.url, c); resp.status != 401 {
			t.Errorf("browser %d is answered %d", i, resp.status)
		}
	}
}

func TestALinkUsedDuringARevocationOfItsUserLeavesNoSession(t *testing.T) {
	r := newFixture(t)
	for range 20 {
		link, b := r.link("ann", httpd.Chat), newBrowser(t)
		var both sync.WaitGroup
		both.Go(func() { b.signIn(link) })
		both.Go(func() {
			if _, err := r.grants().Revoke(r.t.Context(), "ann"); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		_, all := r.listed()
		resp, _ := b.request("GET", r.url, nil)
		if in := resp.status == 200; in != (len(all) == 1) {
			t.Errorf("she is answered %d, and listed are %+v", resp.status, all)
		}
		if len(all) > 0 { // the link was made after the command looked, or used after it
			t.Errorf("she is still in: %+v", all)
		}
	}
}

func TestDamagedRecordsAreNotListed(t *testing.T) {
	r := newFixture(t)
	newBrowser(t).signIn(r.link("ann", httpd.Chat))
	for _, prefix := range []string{"http/session/", "http/link/"} {
		musttest.Do(t, r.store.SaveRecords(t.Context(), map[string]string{prefix + all64: "{", prefix + "x": "nonsense"}))
	}
	lines, _ := r.listed()
	wanttest.Equal(t, "listed are", strings.Join(lines, ", "), "browser ann chat")
}

func TestEverybodyIsRevoked(t *testing.T) {
	r := newFixture(t)
	ann, bob := newBrowser(t), newBrowser(t)
	ann.signIn(r.link("ann", httpd.Chat))
	bob.signIn(r.link("bob", httpd.Operator))
	r.link("eve", httpd.Chat)
	if got := r.revoke(httpd.Everybody); len(got) != 3 {
		t.Errorf("revoked were %+v", got)
	}
	for _, b := range []*browser{ann, bob} {
		if resp, _ := b.request("GET", r.url, nil); resp.status != 401 {
			t.Errorf("answered %d", resp.status)
		}
	}
	if lines, _ := r.listed(); lines != nil {
		t.Errorf("listed are %v", lines)
	}
}
