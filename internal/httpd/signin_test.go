package httpd_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

// confirm presses the button of the page that asks whether to switch the user.
func (b *browser) confirm(link, as string) (response, string) {
	b.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(b.t.Context(), http.MethodPost, link, strings.NewReader("as="+as)))(b.t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", link[:strings.Index(link, httpd.EnterPath)])
	return b.do(req)
}

func TestALinkDoesNotSwitchTheUserWithoutConfirmation(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	b.signIn(r.link("", httpd.Operator))
	operator := header{"Cookie": b.cookies(r.url)}
	link := r.link("mallory", httpd.Chat)
	for _, address := range []string{link, link + "?as=mallory"} {
		resp, body := b.signIn(address)
		if resp.status != 409 || !strings.Contains(body, "You are signed in as operator (operator). This link is for mallory (chat).") ||
			strings.Contains(body, "<script") || !strings.Contains(body, `<a href="/">Stay signed in as operator</a>`) {
			t.Errorf("%s leads to %d %q", address, resp.status, body)
		}
		wanttest.Equal(t, "with Referrer-Policy … a browser hides where the form is:", resp.Header.Get("Referrer-Policy"), "same-origin")
	}
	if _, body := b.request("GET", r.url, nil); body != "operator operator" {
		t.Errorf("she is %q", body)
	}
	if resp, body := b.confirm(link, "mallory"); resp.status != 200 || body != "chat mallory" {
		t.Errorf("having said yes she is answered %d %q", resp.status, body)
	}
	if resp, _ := newBrowser(t).request("GET", r.url, operator); resp.status != 401 {
		t.Errorf("a copy of the operator's cookie is answered %d", resp.status)
	}
}

func TestASignedInUserDoesNotUseUpALink(t *testing.T) {
	r := newFixture(t)
	ann, phone := newBrowser(t), newBrowser(t)
	ann.signIn(r.link("ann", httpd.Chat))
	before := ann.cookies(r.url)
	link := r.link("ann", httpd.Chat)
	if resp, body := ann.signIn(link); resp.status != 200 || body != "chat ann" || ann.cookies(r.url) != before {
		t.Errorf("she is answered %d %q", resp.status, body)
	}
	if resp, body := phone.signIn(link); resp.status != 200 || body != "chat ann" {
		t.Errorf("her phone is answered %d %q", resp.status, body)
	}
	operator := newBrowser(t)
	operator.signIn(r.link("ann", httpd.Operator))
	if _, body := operator.signIn(r.link("ann", httpd.Chat)); body != "operator ann" {
		t.Errorf("a link for less makes her %q", body)
	}
	if _, body := ann.signIn(r.link("ann", httpd.Operator)); body != "operator ann" {
		t.Errorf("a link for more makes her %q", body)
	}
}

func TestAnotherSiteCannotSignAVisitorIn(t *testing.T) {
	r := newFixture(t)
	b := newBrowser(t)
	for _, c := range []struct {
		site string
		role httpd.Role
		auto bool
	}{
		{"none", httpd.Chat, true},        // typed, or from another program
		{"cross-site", httpd.Chat, false}, // may be a page that makes others talk in its author's chats
		{"", httpd.Chat, false},           // the browser does not say
		{"cross-site", httpd.Operator, true},
	} {
		_, body := b.request("GET", r.link("ann", c.role), header{"Sec-Fetch-Site": c.site})
		if auto := strings.Contains(body, "enter.js"); auto != c.auto || !auto && !strings.Contains(body, "This link is for ann.") {
			t.Errorf("%+v: %q", c, body)
		}
		if !strings.Contains(body, "<button>Open the chat</button>") {
			t.Errorf("%+v has no button", c)
		}
	}
	used := r.link("ann", httpd.Chat)
	b.signIn(used)
	if _, body := b.request("GET", used, header{"Sec-Fetch-Site": "cross-site"}); !strings.Contains(body, "enter.js") {
		t.Errorf("who comes back by the link sees %q", body)
	}
}

func TestPagesForSigningInAreInTheLanguageOfTheBrowser(t *testing.T) {
	r := newFixture(t)
	b, other := newBrowser(t), newBrowser(t)
	ask := func(b *browser, method, address string, more header) string {
		t.Helper()
		h := header{"Accept": "text/html", "Accept-Language": "de-AT,de;q=0.9,en;q=0.8", "X-Forwarded-For": "203.0.113.7"}
		maps.Copy(h, more)
		_, body := b.request(method, address, h)
		return body
	}
	origin := header{"Origin": r.url}
	spent := r.link("ann", httpd.Chat)
	other.signIn(r.link("bob", httpd.Operator))
	operators := newBrowser(t)
	operators.signIn(r.link("ann", httpd.Chat))
	for want, body := range map[string]string{
		"<h1>Du bist abgemeldet</h1><p>Zum Anmelden brauchst du einen Link. Der Betreiber des Bots erstellt einen mit: </p><pre>nanobot link</pre>": ask(b, "GET", r.url, nil),
		"<p>Dieser Link ist für ann.</p><form method=\"post\"><button>Chat öffnen</button></form>":                                                  ask(b, "GET", spent, nil),
		"<p>Du bist als bob (Betreiber) angemeldet. Dieser Link ist für ann (Chat).</p>":                                                            ask(other, "POST", spent, origin),
		"<h1>Dieser Link funktioniert nicht</h1><p>Dieser Link wurde schon benutzt oder ist abgelaufen. Der Betreiber":                              ask(b, "POST", r.url+httpd.EnterPath+"x", origin),
		"<h1>Das geht nicht</h1><p>Diese Anfrage kam von der Seite einer anderen Website.</p>":                                                      ask(b, "POST", spent, header{"Origin": "http://evil.example"}),
		"<p>Dieser Server ist nicht als &#34;evil.example&#34; bekannt.":                                                                            ask(b, "GET", r.url, header{"Host": "evil.example"}),
		"<p>Das dürfen nur Betreiber.</p>": ask(operators, "GET", r.url+"/operator", nil),
	} {
		if !strings.Contains(body, want) || !strings.Contains(body, `<html lang="de">`) {
			t.Errorf("want %q in %s", want, body)
		}
	}
	for range 20 {
		ask(b, "POST", r.url+httpd.EnterPath+"x", origin)
	}
	if got := ask(b, "GET", spent, nil); !strings.Contains(got, "<h1>Bitte warten</h1><p>Zu viele falsche Versuche. Versuche es in 60 Sekunden wieder.</p>") {
		t.Errorf("after too many attempts the page is %s", got)
	}
	r.words.Reload(words.Settings{Language: "en", Overrides: map[string]string{"titlePleaseWait": "Slowly", "pageSignedOut": "Gone"}})
	if got := ask(b, "GET", spent, nil); !strings.Contains(got, "<h1>Slowly</h1><p>Too many") || !strings.Contains(got, `<html lang="en">`) {
		t.Errorf("with the operator's words the page is %s", got)
	}
	if got := ask(b, "GET", r.url, header{"Cookie": r.cookie(fmt.Sprintf("chat.ann.%d.OLD", r.now.Add(-time.Hour).Unix()))}); !strings.Contains(got, "<h1>Gone</h1><p>Ask the bot&#39;s operator") {
		t.Errorf("the page for a signed-out browser is %s", got)
	}
}
