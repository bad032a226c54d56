package page_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	permission "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"nanobot/channels/web/page"
	"nanobot/channels/web/push/pushtest"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// setNotifications answers the browser's question whether the page may notify.
func (p *tab) setNotifications(s permission.PermissionSetting) {
	p.t.Helper()
	info, err := chromedp.Call(p.ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
	musttest.Do(p.t, err)
	_, err = chromedp.CallBrowser(p.ctx, permission.SetPermission, permission.SetPermissionParams{
		Permission: &permission.PermissionDescriptor{Name: "notifications"}, Setting: s, BrowserContextID: info.TargetInfo.BrowserContextID,
	})
	musttest.Do(p.t, err)
}

// notifications returns the titles and texts that the browser shows.
func (p *tab) notifications() string {
	p.t.Helper()
	return eval[string](p, `navigator.serviceWorker.ready.then((r) => r.getNotifications())
		.then((all) => all.map((n) => n.title + ': ' + n.body + ' ' + (n.tag === n.data)).join(', '))`)
}

// awaitNotification does what makes the page show a notification, and returns all that the browser
// then shows. A browser that is asked for them while it shows one forgets that one, and after some
// seconds any that need no interaction.
func (p *tab) awaitNotification(cause func()) (all string) {
	p.t.Helper()
	p.run(`{
		const show = ServiceWorkerRegistration.prototype.showNotification;
		window.hasNotified = false;
		ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
			await show.call(this, title, { ...options, requireInteraction: true });
			ServiceWorkerRegistration.prototype.showNotification = show;
			window.hasNotified = true;
		};
	}`)
	cause()
	p.until("window.hasNotified")
	return p.notifications()
}

// subscribes has the browser subscribe at a push service; one of its maker is not to be reached.
func (p *tab) subscribes(b *pushtest.Browser) {
	p.t.Helper()
	p.run(fmt.Sprintf(`(() => {
		let on = null;
		PushManager.prototype.subscribe = async (o) => (on = { endpoint: %q, asked: o, toJSON: () => (%s), unsubscribe: async () => (on = null) });
		PushManager.prototype.getSubscription = async () => on;
		window.subscription = () => on;
	})()`, b.Endpoint, b.JSON(false)))
}

func TestAHiddenPageNotifiesWithoutAPushService(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	wanttest.Equal(t, "button", eval[string](p, "document.getElementById('notify').textContent"), "Notify me: no")
	p.setNotifications(permission.PermissionSettingDenied)
	p.awaitBrief(func() { p.click("#notify") }, "#line", "This browser blocks notifications")
	p.setNotifications(permission.PermissionSettingGranted)
	p.click("#notify")
	p.until("document.getElementById('notify').textContent === 'Notify me: with the chat\\'s title'")
	p.send("wait for it")
	p.awaitText("#live", "Looking around")
	p.awaitText("#chats a[aria-current]", "wait for it") // the title
	p.setVisible(false)
	if got := p.awaitNotification(func() { d.write("go", nil) }); got != "wait for it:  true" {
		t.Fatalf("notifications %q; the page: %s", got, eval[string](p, `[document.hidden, Notification.permission, localStorage.getItem('notify'),
			document.getElementById('log').innerText, document.getElementById('live').innerText, document.getElementById('line').innerText].join('|')`))
	}
	p.setVisible(true)
	p.do(reload)
	p.until("document.getElementById('notify').textContent === 'Notify me: with the chat\\'s title'")
	p.click("#notify")
	p.until("document.getElementById('notify').textContent === 'Notify me: with the text'")
	p.send("hello")
	p.awaitText("#log .theirs:last-child", "hello")
	wanttest.Equal(t, "notifications of a visible page", p.notifications(), "wait for it:  true")
	p.click("#out")
	p.until("document.body.innerText.includes('You are signed out') && localStorage.getItem('notify') === null")
}

func TestNotificationsArePushedWhileThePageIsHidden(t *testing.T) {
	service := pushtest.NewService(t)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Server.Certificate().Raw})
	musttest.Do(t, os.WriteFile(roots, cert, 0o600))
	d := newDaemon(t, pushes+"=1", "SSL_CERT_FILE="+roots)
	p := d.enter(httpd.Chat)
	p.setNotifications(permission.PermissionSettingGranted)
	p.subscribes(service.NewBrowser())
	p.click("#notify")
	p.until("window.subscription()")
	p.click("#notify") // with the text
	p.send("hello there")
	p.awaitText("#log .theirs", "hello there")
	p.setVisible(false)
	var all []pushtest.Push
	for i := 2; len(all) == 0; i++ { // until the server has seen the end of the stream of the visible page
		p.run(`fetch('api/chats/' + location.hash.split('/')[2] + '/messages', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"text": "again"}'})`)
		p.until(fmt.Sprintf("document.querySelectorAll('#log .theirs').length >= %d", i))
		all = service.Pending()
	}
	pushed := all[0].Payload
	if !strings.Contains(pushed, `"title":"hello there"`) || !strings.Contains(pushed, "again") {
		t.Errorf("pushed was %s", pushed)
	}
	wanttest.Equal(t, "notifications of the page itself", p.notifications(), "")
	p.deliver("http://"+d.addr+"/", pushed)
	wanttest.Equal(t, "notifications while the page is visible", p.notifications(), "")
	var got string
	for got == "" { // the service worker may still see the page that has gone
		p.do(chromedp.Navigate("about:blank"))
		p.deliver("http://"+d.addr+"/", pushed)
		p.do(chromedp.Navigate("http://" + d.addr + "/"))
		got = p.notifications()
	}
	if !strings.HasPrefix(got, "hello there: ") || !strings.Contains(got, "again") || !strings.HasSuffix(got, " true") {
		t.Errorf("the notification is %q", got)
	}
}

// deliver gives a pushed message to the service worker.
func (p *tab) deliver(origin, payload string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, serviceworker.Enable, struct{}{})
	musttest.Do(p.t, err)
	must(p, serviceworker.DeliverPushMessageParams{Origin: origin, RegistrationID: "0", Data: payload},
		func(ctx context.Context, v serviceworker.DeliverPushMessageParams) error {
			_, err := chromedp.Call(ctx, serviceworker.DeliverPushMessage, v)
			return err
		})
}

// clickByPush has the service worker click on what it shows when a message is pushed, and report
// what it opens: a browser without a screen has no notifications to click on.
const clickByPush = `
WindowClient.prototype.focus = async function () { await fetch('opened?the page'); return this; };
clients.openWindow = (url) => fetch('opened?' + encodeURIComponent(new URL(url, registration.scope)));
addEventListener('push', (e) => e.waitUntil((async () => {
	while (e.data.json().chat && (await pages()).length); // the page may not have gone yet
	const [notification] = await registration.getNotifications();
	await new Promise((done) => onnotificationclick({ notification, waitUntil: (opened) => opened.then(done) }));
})()));`

func TestAClickOnANotificationOpensItsChatInThePageOrANewOne(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"], f.chats["c2"] = "One", "Two" })
	f.say("c1", "in one", nil)
	f.say("c2", "in two", nil)
	opened, inner := make(chan string, 10), f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/opened":
			opened <- musttest.Get(url.QueryUnescape(r.URL.RawQuery))(t)
		case "/sw.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write(append(musttest.Get(page.Files.ReadFile("sw.js"))(t), clickByPush...))
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	p := openBlank(t)
	p.setNotifications(permission.PermissionSettingGranted)
	p.do(chromedp.Navigate(f.url() + "#/c/c1"))
	p.awaitText("#log", "in one")
	eval[bool](p, "navigator.serviceWorker.ready.then((r) => r.showNotification('Two', { tag: 'c2', data: 'c2', requireInteraction: true })).then(() => true)")
	wanttest.Equal(t, "notification", p.notifications(), "Two:  true")
	p.deliver(f.url(), `{}`) // nothing is shown while the page is visible
	wanttest.Equal(t, "opened", <-opened, "the page")
	p.awaitText("#log", "in two")
	wanttest.Equal(t, "notifications after the click", p.notifications(), "")
	eval[bool](p, "navigator.serviceWorker.ready.then((r) => r.showNotification('One', { tag: 'c1', data: 'c1', requireInteraction: true })).then(() => true)")
	wanttest.Equal(t, "notification", p.notifications(), "One:  true")
	p.do(chromedp.Navigate("about:blank"))
	p.deliver(f.url(), `{"chat": "c1", "title": "One", "text": ""}`)
	address := <-opened
	wanttest.Equal(t, "opened", address, f.url()+"#/c/c1")
	p.do(chromedp.Navigate(address))
	p.awaitText("#log", "in one")
}
