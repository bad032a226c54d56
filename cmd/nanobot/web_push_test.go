package main

import (
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/web/history"
	"nanobot/channels/web/push/pushtest"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// subscribe has notifications pushed to a browser.
func (p *browser) subscribe(b *pushtest.Browser) {
	p.b.t.Helper()
	if status, answer := p.request("POST", "/api/push", isJSON, strings.NewReader(b.JSON(true))); status != http.StatusNoContent {
		p.b.t.Fatalf("a subscription is answered %d %s", status, answer)
	}
}

// newPushingBot returns a bot that pushes to a push service.
func newPushingBot(t *testing.T) (*webBot, *pushtest.Service) {
	t.Helper()
	service := pushtest.NewService(t)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Server.Certificate().Raw})
	musttest.Do(t, os.WriteFile(roots, cert, 0o600))
	t.Setenv("SSL_CERT_FILE", roots)
	b := newWebBot(t)
	b.kill()
	text := string(musttest.Get(os.ReadFile(b.cfg))(t))
	text = strings.Replace(text, `"maxUpload": 1`, `"maxUpload": 1, "push": {"enabled": true, "allow": ["127.0.0.0/8"]}`, 1)
	musttest.Do(t, os.WriteFile(b.cfg, []byte(text), 0o600))
	b.start()
	return b, service
}

// TestNotificationsEndWithTheSignIn signs browsers out by themselves, beside the daemon and while
// it is down.
func TestNotificationsEndWithTheSignIn(t *testing.T) {
	b, service := newPushingBot(t)
	phone, bob := b.signIn("--user", "ann"), b.signIn("--user", "bob")
	first := b.grants()[0].ID
	laptop, other := b.signIn("--user", "ann"), b.signIn("--user", "ann")
	var devices []*pushtest.Browser
	for _, p := range []*browser{phone, laptop, other, bob} {
		device := service.NewBrowser()
		p.subscribe(device)
		devices = append(devices, device)
	}
	bobs := strings.TrimPrefix(devices[3].Endpoint, service.URL)
	const chat, bobChat = "web-a-known-to-nobody-else", "web-b-known-to-nobody-else"
	// expect has the bot answer in a chat of ann, and then in one of bob, who is told last.
	expect := func(want int, person *browser, text string) {
		t.Helper()
		person.sendMessage(chat, text)
		for range want {
			if p := service.Next(); p.Path == bobs || !strings.Contains(p.Payload, `"re `+text+`"`) {
				t.Errorf("got %+v", p)
			}
		}
		bob.sendMessage(bobChat, text)
		wanttest.Equal(t, "the next one is bob's", service.Next().Path, bobs)
	}
	expect(3, phone, "one")
	if out, status := b.linkCommand("--revoke", first); status != 0 {
		t.Fatalf("revoke: %s", out)
	}
	if status, _ := other.request("POST", "/out", "", nil); status != http.StatusNoContent {
		t.Errorf("signing out is answered %d", status)
	}
	expect(1, laptop, "two")
	b.kill()
	if out, status := b.linkCommand("--revoke", "ann"); status != 0 {
		t.Fatalf("revoke: %s", out)
	}
	again := b.signInLater("ann")
	b.start()
	expect(0, again(), "three")
	log := b.log()
	b.kill()
	h := musttest.Get(history.Open(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "web"), history.Options{}))(t)
	wanttest.Equal(t, "subscriptions", len(musttest.Get(h.Subscriptions(t.Context(), "", true))(t)), 1)
	private, _, err := h.PushKeys(t.Context(), nil)
	musttest.Do(t, err)
	musttest.Do(t, h.Close())
	if private == "" || strings.Contains(log, private) || strings.Contains(log, "/push/") {
		t.Errorf("the log has a secret:\n%s", log)
	}
	wanttest.Equal(t, "further notifications", len(service.Pending()), 0)
}

// signInLater makes a link while the daemon is down, and returns the sign-in with it.
func (b *webBot) signInLater(user string) func() *browser {
	b.t.Helper()
	link := b.link("--user", user)
	return func() *browser { return b.openLink(link) }
}

// The session of a request is what Grants know.
func TestASignInIsValidUntilItEnds(t *testing.T) {
	b := newWebBot(t)
	b.signIn("--user", "ann")
	s := b.openState()
	defer s.Close()
	grants := httpd.Grants{Records: s}
	all := musttest.Get(s.ListRecords(t.Context(), "http/session/"))(t)
	for key := range all {
		hash := strings.TrimPrefix(key, "http/session/")
		wanttest.Equal(t, "signed in", musttest.Get(grants.SignedIn(t.Context(), hash))(t), true)
		musttest.Get(grants.Revoke(t.Context(), "ann"))(t)
		wanttest.Equal(t, "signed in after revoke", musttest.Get(grants.SignedIn(t.Context(), hash))(t), false)
	}
	wanttest.Equal(t, "sessions", len(all), 1)
	wanttest.Equal(t, "an unknown one", musttest.Get(grants.SignedIn(t.Context(), "x"))(t), false)
}
