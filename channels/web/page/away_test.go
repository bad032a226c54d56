package page_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// refuseAPI makes the fake refuse every request while the result is true.
func refuseAPI(f *fake) *atomic.Bool {
	var out atomic.Bool
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out.Load() && strings.HasPrefix(r.URL.Path, "/api/") {
			reply(w, http.StatusUnauthorized, obj{"error": "You need a link to get in: nanobot link"})
			return
		}
		inner.ServeHTTP(w, r)
	}))
	return &out
}

func TestAMessageWrittenWithAnExpiredCookieIsSentAfterTheNextSignIn(t *testing.T) {
	f := newFake(t)
	answering(f)
	out := refuseAPI(f)
	p := open(t, f.url())
	p.send("first")
	p.awaitText(".theirs", "Answer to first")
	p.until("document.querySelector('#chats li')") // the page asks for nothing more by itself
	out.Store(true)
	p.send("too late")
	p.awaitText(".stuck .fate", "Not sent yet")
	p.awaitText(".stuck .fate", "nanobot link")
	p.typeText("a draft")
	f.stop() // and with it the stream
	f.start(f.addr)
	p.awaitText("#login", "You need a link to get in: nanobot link.")
	p.awaitText("#login", "Unsent messages are sent")
	p.awaitHidden("#chat")
	out.Store(false) // as by a link in another tab
	p.awaitText(".theirs", "Answer to too late")
	p.awaitHidden("#login")
	shows(p, "li", "first", "Answer to first", "too late", "Answer to too late")
	p.until("document.getElementById('text').value === 'a draft'")
}

func TestTheConsoleReturnsByItselfAfterTheNextSignIn(t *testing.T) {
	f := newFake(t)
	out := refuseAPI(f)
	p := open(t, f.url()+"#/console")
	p.awaitText("#no-turns", "No turns match")
	out.Store(true)
	p.run("document.getElementById('by-outcome').dispatchEvent(new Event('change'))")
	p.awaitText("#login", "You are signed out")
	out.Store(false)
	p.awaitText("#console", "No turns match")
}

func TestTheFirstMessageOfANewChatSurvivesAReload(t *testing.T) {
	f := newFake(t)
	answering(f)
	inner := f.handler()
	var down atomic.Bool
	down.Store(true)
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() && r.Method == http.MethodPost {
			reply(w, http.StatusServiceUnavailable, obj{"error": "not now"})
			return
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.send("the very first")
	p.awaitText(".stuck .fate", "not now")
	chat := p.chat()
	for range 2 {
		p.do(reload)
		p.awaitText(".stuck", "the very first")
	}
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(f.url())) // without the chat's name
	p.awaitText(".stuck", "the very first")
	down.Store(false)
	p.awaitText(".theirs", "Answer to the very first")
	shows(p, "li", "the very first", "Answer to the very first")
	if p.chat() != chat {
		t.Error("it came into another chat")
	}
}

func TestAMessageSentBeforeTheChatIsKnownSurvivesAReload(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Slow" })
	f.say("c1", "here at last", nil)
	var let atomic.Bool
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !let.Load() && strings.HasPrefix(r.URL.Path, "/api/") {
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.send("early")
	p.awaitText("#log", "early")
	let.Store(true)
	p.do(reload)
	p.awaitText("#log", "here at last")
	shows(p, "li", "here at last", "early")
}

func TestARefusedMessageSurvivesAReload(t *testing.T) {
	f := newFake(t)
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			reply(w, http.StatusNotFound, obj{"error": "There is no such chat."})
			return
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.send("precious words")
	p.awaitText(".stuck .fate", "Not sent: There is no such chat")
	p.do(reload)
	p.awaitText(".stuck", "precious words")
	p.click(".stuck button:last-child")
	p.awaitHidden(".stuck")
	p.do(reload)
	p.awaitText("#hello", "Say hello")
	p.awaitHidden(".stuck")
}

// setVisible makes a tab visible or hidden.
func (p *tab) setVisible(visible bool) {
	p.t.Helper()
	hidden := "false"
	if !visible {
		hidden = "true"
	}
	p.run("Object.defineProperty(document, 'hidden', {configurable: true, get: () => " + hidden + "}); document.dispatchEvent(new Event('visibilitychange'))")
}

// speedUpTimers runs timers of half a minute or more at once.
func (p *tab) speedUpTimers() {
	p.t.Helper()
	p.run("{const wait = setTimeout; window.setTimeout = (f, ms, ...a) => wait(f, ms > 20000 ? 0 : ms, ...a)}")
}

func TestHiddenTabsCloseTheirStreamsAndMissNoMessage(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))
	tabs := []*tab{open(t, f.url())}
	// Chromium has six connections for all tabs. Something slow uses three of them.
	tabs[0].run("for (let i = 0; i < 3; i++) fetch('slow', { cache: 'no-store' }).catch(() => {})")
	for len(tabs) < 4 {
		p := tabs[len(tabs)-1]
		p.awaitText("#log", "message 0.")
		p.speedUpTimers()
		p.setVisible(false)
		tabs = append(tabs, p.another(f.url()))
	}
	last := tabs[3]
	last.awaitText("#log", "message 0.")
	last.send("from the last")
	last.awaitText("#log .mine time", ":")
	f.say("c1", "message 1.", nil)
	f.progress("c1", "p", "Working on it", time.Now())
	last.awaitText("#live", "Working on it")
	first := tabs[0]
	if text := innerText(first, "#log"); strings.Contains(text, "message 1.") {
		t.Errorf("it still listens: %s", text)
	}
	first.setVisible(true)
	first.awaitText("#log", "message 1.")
	first.awaitText("#live", "Working on it")
	shows(first, "li", "message 0.", "from the last", "message 1.")
	f.say("c1", "message 2.", nil)
	first.awaitText("#log", "message 2.")
	if said := innerText(first, "#line") + innerText(first, "#say"); strings.Contains(said, "onnect") {
		t.Errorf("it speaks of a connection that was never lost: %s", said)
	}
}

func TestABrieflyHiddenTabStaysConnected(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	p := open(t, f.url())
	p.awaitText("#log", "message 0.")
	p.setVisible(false)
	f.say("c1", "message 1.", nil)
	p.awaitText("#log", "message 1.")
	p.until("document.title.startsWith('(1)')")
	p.setVisible(true)
	p.until("document.title === 'nanobot'")
}

func TestAMessageWrittenWithoutACookieIsSentAfterALinkWasOpened(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.send("before")
	p.awaitText(".theirs", "Answer to before")
	p.click("#new") // a chat that is nobody's yet: the next link is somebody else's
	p.awaitText("#hello", "Say hello")
	p.forgetCookies()
	p.send("typed too late")
	p.awaitText(".stuck .fate", "nanobot link")
	p.do(chromedp.Navigate(d.link(httpd.Chat)))
	p.awaitText(".theirs", "Answer to typed too late")
	shows(p, ".mine", "typed too late")
	shows(p, ".theirs", "Answer to typed too late")
}

func (p *tab) forgetCookies() {
	p.t.Helper()
	musttest.Get(chromedp.Call(p.ctx, network.ClearBrowserCookies, cdp.Empty{}))(p.t)
}

func TestSigningOutEndsTheSessionInAllTabs(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.send("hello")
	p.awaitText(".theirs", "Answer to hello")
	other := p.another("http://" + d.addr + "/")
	other.awaitText("#log", "Answer to hello")
	p.typeText("not for the next one here")
	p.click("#out")
	p.awaitText("main:not(#main)", "You are signed out") // by the server: the page has been left
	p.awaitHidden("#chat")
	wanttest.Equal(t, "the page for people who are signed out has not the style of the page, but", eval[string](p, "getComputedStyle(document.documentElement).backgroundColor"), "rgb(246, 245, 241)")
	p.do(reload)
	p.awaitText("main:not(#main)", "You are signed out") // the cookie may be gone already, or be refused
	p.awaitHidden("#chat")
	wanttest.Equal(t, "drafts are left for the next one who sits here:", eval[int](p, "sessionStorage.length"), 0)
	other.awaitText("#login", "You are signed out")
	p.do(chromedp.Navigate(d.link(httpd.Chat)))
	p.awaitText("#hello", "Say hello")
}

func TestAHiddenTabWithARunningTurnStaysConnected(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	p := open(t, f.url())
	p.awaitText("#log", "message 0.")
	f.progress("c1", "p", "Working on it", time.Now())
	p.awaitText("#live", "Working on it")
	p.speedUpTimers() // its thirty seconds are over at once, and again
	p.setVisible(false)
	p.until("performance.now() > (window.then ??= performance.now() + 300)")
	f.say("c1", "message 1.", nil)
	p.until("document.title.startsWith('(1)')")
}

func TestAPageTooFarBehindForTheStreamLoadsAllMessages(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	inner := f.handler()
	var slow atomic.Bool
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() && strings.HasSuffix(r.URL.Path, "/messages") { // what the stream brings is there first
			for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
			}
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.awaitText("#log", "message 0.")
	f.stop()
	p.awaitText("#line", "Reconnecting")
	for i := range 150 {
		f.say("c1", fmt.Sprintf("message %d.", i+1), nil)
	}
	f.locked(func() { f.begins = 80 })
	slow.Store(true)
	f.start(f.addr)
	p.awaitText("#log > li:last-child", "message 150.")
	for shown := 0; shown < 151; {
		p.until(fmt.Sprintf("document.querySelectorAll('#log > li').length > %d && !document.getElementById('older').hidden || document.querySelectorAll('#log > li').length === 151", shown))
		shown = eval[int](p, "document.querySelectorAll('#log > li').length")
		p.run("document.getElementById('older').click()")
	}
}

func TestTheNextUserOfABrowserSeesNoChatsOfTheLastOne(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.send("my secret")
	p.awaitText(".theirs", "Answer to my secret")
	other := p.another("http://" + d.addr + "/")
	other.awaitText("#log", "Answer to my secret")
	p.click("#out")
	p.awaitText("main:not(#main)", "You are signed out") // by the server: the page has been left
	other.awaitText("#login", "You are signed out")
	p.do(chromedp.Navigate(d.link(httpd.Chat)))
	p.awaitText("#hello", "Say hello")
	other.awaitText("#hello", "Say hello")
	if text := innerText(other, "#main"); strings.Contains(text, "secret") {
		t.Errorf("the next person reads: %s", text)
	}
}

func TestAttachedAndDroppedFilesStayWhenAnotherChatIsOpened(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"], f.chats["c2"] = "One", "Two" })
	p := open(t, f.url()+"#/c/c1")
	path := filepath.Join(t.TempDir(), "notes.txt")
	musttest.Do(t, os.WriteFile(path, []byte("notes"), 0o600))
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path}, chromedp.NodeReady))
	p.awaitText("#chosen", "notes.txt")
	p.run("location.hash = '#/c/c2'")
	p.awaitHidden("#chosen")
	drop(p, path, 300)
	p.awaitText("#chosen", "notes.txt")
	p.run("location.hash = '#/c/c1'")
	p.awaitText("#chosen", "notes.txt")
	handled := func(item string) string {
		return eval[string](p, fmt.Sprintf(`['dragover', 'drop'].map((type) => { const d = new DataTransfer(); d.items.add(%s);
			const e = new DragEvent(type, { dataTransfer: d, bubbles: true, cancelable: true }); document.getElementById('bar').dispatchEvent(e); return e.defaultPrevented }).join()`, item))
	}
	wanttest.Equal(t, "a dropped text is left to the browser:", handled("'words', 'text/plain'"), "false,false")
	p.run("location.hash = '#/console'")
	p.awaitHidden("#chat")
	wanttest.Equal(t, "a file that is dropped on the console does not replace the page:", handled("new File(['x'], 'x.txt')"), "true,true")
	p.run("location.hash = '#/c/c1'")
	p.awaitText("#chosen", "notes.txt")
	wanttest.Equal(t, "files to send", p.count("#chosen li"), 1)
}

func TestAMessageWrittenBeforeTheScriptIsLoadedIsNotLost(t *testing.T) {
	f := newFake(t)
	loaded := make(chan struct{})
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main.js" {
			<-loaded
		}
		f.handler().ServeHTTP(w, r)
	}))
	p := openBlank(t)
	p.run(fmt.Sprintf("setTimeout(() => (location.href = %q))", f.url())) // not Navigate, which waits for the script
	for early := false; !early; p.do(chromedp.Sleep(20 * time.Millisecond)) {
		var err error
		if early, err = evaluate[bool](p, "Boolean(document.getElementById('send'))"); err != nil && !wasLeft(err) {
			t.Fatal(err)
		}
	}
	p.run("document.getElementById('text').value = 'early'; document.getElementById('send').click()")
	close(loaded)
	p.until("document.getElementById('text').value === 'early' && !document.getElementById('send').disabled")
	p.click("#send")
	p.awaitText("#log .mine", "early")
}

func TestWhatIsWrittenAndAttachedBeforeTheChatIsKnownStays(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Slow" })
	f.say("c1", "here at last", nil)
	known := make(chan struct{})
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chats" {
			<-known
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	path := filepath.Join(t.TempDir(), "notes.txt")
	musttest.Do(t, os.WriteFile(path, []byte("notes"), 0o600))
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path}, chromedp.NodeReady))
	p.awaitText("#chosen", "notes.txt")
	p.typeText("early")
	close(known)
	p.awaitText("#log", "here at last")
	wanttest.Equal(t, "the draft", eval[string](p, "document.getElementById('text').value + ' ' + document.querySelectorAll('#chosen li').length"), "early 1")
}

func TestAnAnswerThatIsOlderThanAnEditDoesNotReplaceIt(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Trip" })
	said := f.say("c1", "first text", nil)
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	var hold atomic.Bool
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hold.Load() || !strings.HasSuffix(r.URL.Path, "/messages") {
			inner.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		asked <- struct{}{}
		<-release
		mark := `{"id": "mark", "chat": "c1", "seq": 0, "from": "bot", "kind": "message", "text": "mark", "html": "mark", "time": "2026-01-01T00:00:00Z"}, `
		_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), `"messages":[`, `"messages":[`+mark, 1))
	}))
	p := open(t, f.url())
	p.awaitText("#log > li", "first text")
	hold.Store(true)
	f.stop()
	p.awaitText("#line", "Reconnecting")
	f.start(f.addr)
	<-asked
	f.locked(func() {
		edited := maps.Clone(said)
		edited["event"], edited["text"], edited["html"], edited["edited"] = "edited", "second text", "<p>second text</p>", true
		f.publish(edited)
	})
	p.awaitText("#log > li", "second text")
	close(release)
	p.awaitText("#log", "mark")
	shows(p, "li", "mark", "second text")
}
