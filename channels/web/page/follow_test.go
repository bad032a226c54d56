package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/musttest"
)

// atEnd is an expression: the conversation is scrolled to its very end.
const atEnd = "(() => { const s = document.getElementById('scroll'); return s.scrollHeight > s.clientHeight && s.scrollHeight - s.scrollTop - s.clientHeight < 1; })()"

// longChat opens a chat that is longer than the window.
func longChat(t *testing.T) (*fake, *tab) {
	t.Helper()
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	for i := range 30 {
		f.say("c1", fmt.Sprintf("message %d.", i), nil)
	}
	p := open(t, f.url()+"#/c/c1")
	p.awaitText("#log > li:last-child", "message 29.")
	p.until(atEnd)
	return f, p
}

// film returns a film of 64 by 96 pixels.
func film(t *testing.T) []byte {
	t.Helper()
	b := musttest.Get(os.ReadFile("../testdata/videos/portrait.webm"))(t)
	return b
}

// wheel scrolls the conversation as a person does.
func (p *tab) wheel(by float64) {
	p.t.Helper()
	must(p, by, func(ctx context.Context, by float64) error {
		_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: 700, Y: 300, DeltaX: 1, DeltaY: by})
		return err
	})
}

func TestTheNewestMessageStaysInSightWhenFilmsAndPicturesLoad(t *testing.T) {
	f, p := longChat(t)
	release := make(chan bool)
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/media/") {
			<-release
		}
		inner.ServeHTTP(w, r)
	}))
	known := f.keep("walk.webm", "video/webm", film(t))
	known["width"], known["height"] = 64, 96
	f.say("c1", "A film, a film of unknown size, and a picture.", obj{"media": []obj{
		known, f.keep("unknown.webm", "video/webm", film(t)), f.keep("view.png", "image/png", picture(0, 300, 200)),
	}})
	p.until("document.querySelectorAll('video').length === 2 && document.querySelector('.gallery img')")
	p.until(atEnd)
	heights := "[...document.querySelectorAll('video, .gallery img')].map(e => Math.round(e.getBoundingClientRect().height)).join()"
	before := eval[string](p, heights)
	close(release)
	p.until("[...document.querySelectorAll('video')].every(v => v.videoWidth === 64) && document.querySelector('.gallery img').naturalWidth === 300")
	p.until(atEnd)
	if after := eval[string](p, heights); after != before || strings.Contains(","+after+",", ",0,") {
		t.Errorf("the heights were %s and are %s", before, after)
	}
	if ratio := eval[float64](p, "(() => { const r = document.querySelector('video').getBoundingClientRect(); return r.height / r.width; })()"); ratio < 1.49 || ratio > 1.51 {
		t.Errorf("the film is %v times as high as wide", ratio)
	}
}

func TestOnlyAPersonsScrollEndsFollowing(t *testing.T) {
	f, p := longChat(t)
	p.size(1280, 500) // as when a keyboard opens
	p.until(atEnd)
	f.say("c1", strings.Repeat("A long answer.\n\n", 40), nil)
	p.awaitText("#log > li:last-child", "A long answer")
	p.until(atEnd)
	// The event of an earlier scroll may arrive when the content has grown.
	p.run("document.getElementById('log').style.paddingBottom = '500px'; document.getElementById('scroll').dispatchEvent(new Event('scroll'))")
	p.until(atEnd)
	p.wheel(-400)
	p.until("!document.getElementById('latest').hidden")
	top := eval[float64](p, "document.getElementById('scroll').scrollTop")
	f.say("c1", "While they read.", nil)
	p.awaitText("#log > li:last-child", "While they read.")
	if now := eval[float64](p, "document.getElementById('scroll').scrollTop"); now != top {
		t.Errorf("the page moved from %v to %v while somebody read", top, now)
	}
	p.send("my own")
	p.awaitText("#log > li:last-child", "my own")
	p.until(atEnd + " && document.getElementById('latest').hidden")
}

func TestEarlierMessagesThatCannotBeReadAreAskedForAgainOnlyByAScroll(t *testing.T) {
	f, p := longChat(t)
	for i := range 90 {
		f.say("c1", fmt.Sprintf("more %d.", i), nil)
	}
	p.awaitText("#log > li:last-child", "more 89.")
	p.do(reload)
	p.awaitText("#log > li:last-child", "more 89.")
	p.until(atEnd)
	var asked atomic.Int32
	inner := f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("before") != "" {
			asked.Add(1)
			reply(w, http.StatusServiceUnavailable, obj{"error": "The disk is full."})
			return
		}
		inner.ServeHTTP(w, r)
	}))
	p.awaitBrief(func() { p.run("document.getElementById('scroll').scrollTop = 0") }, "#line", "The disk is full")
	p.run("(async () => { for (let i = 0; i < 20; i++) await fetch('api/chats'); window.asked = true })()")
	p.until("window.asked")
	if n := asked.Load(); n > 3 {
		t.Errorf("%d requests", n)
	}
	f.serve(inner)
	p.run("document.getElementById('scroll').scrollTop = 1")
	p.awaitText("#log > li:first-child", "message 20.")
}

func TestTheButtonToTheNewestMessageCoversNothing(t *testing.T) {
	_, p := longChat(t)
	for _, width := range []int64{320, 1280} {
		p.size(width, 700)
		p.run("document.getElementById('scroll').scrollTop = 400")
		p.until("!document.getElementById('latest').hidden")
		covered := eval[[]string](p, `(() => { const b = document.getElementById('latest').getBoundingClientRect();
			return ['scroll', 'composer', 'title'].filter((id) => { const r = document.getElementById(id).getBoundingClientRect();
				return r.left < b.right && b.left < r.right && r.top < b.bottom && b.top < r.bottom; }); })()`)
		if len(covered) > 0 {
			t.Errorf("at a width of %d it covers %q", width, covered)
		}
		p.click("#latest")
		p.until(atEnd + " && document.getElementById('latest').hidden")
	}
}

func TestTheHeaderIsOneLineOnPhones(t *testing.T) {
	f := newFake(t)
	checkHeader(t, open(t, f.url()), "Console")
	checkHeader(t, openGerman(t, f.url()), "Konsole")
}

// checkHeader measures the header on phones, with the most that it can have.
func checkHeader(t *testing.T, p *tab, console string) {
	t.Helper()
	p.awaitText("#views", console)
	for _, width := range []int64{320, 360, 390, 414} {
		p.size(width, 800)
		p.until(fmt.Sprintf("innerWidth === %d", width))
		for _, view := range []string{"Chat", console} {
			p.run("[...document.querySelectorAll('#views a')].find(a => a.textContent === '" + view + "').click()")
			p.until("document.querySelector('#views [aria-current]').textContent === '" + view + "'")
			wrong := eval[[]string](p, `(() => { const bar = document.getElementById('bar'), all = [...bar.querySelectorAll('button, .brand, #views a')].filter(e => e.checkVisibility());
				const wrong = all.filter((e, i) => { const r = e.getBoundingClientRect();
					return r.height > 44 || r.left < 0 || r.right > innerWidth || i && all[i - 1].getBoundingClientRect().right > r.left + 1; }).map(e => e.outerHTML.slice(0, 60));
				if (bar.getBoundingClientRect().height !== 52 || bar.scrollWidth > bar.clientWidth || bar.scrollHeight > 52) wrong.push('the bar');
				return wrong; })()`)
			if len(wrong) > 0 {
				t.Errorf("at a width of %d the header of %s has %q", width, view, wrong)
			}
		}
	}
}

// TestAStatusCoversNothing shows the longest status that the page may have.
func TestAStatusCoversNothing(t *testing.T) {
	f := newFake(t)
	p := openGerman(t, f.url())
	p.awaitText("#views", "Konsole")
	p.run("document.getElementById('line').textContent = 'Das hat nicht funktioniert: In diesem Chat warten zu viele Nachrichten. Versuche es später wieder.'")
	for _, width := range []int64{320, 414, 760, 1280} {
		p.size(width, 800)
		p.until(fmt.Sprintf("innerWidth === %d", width))
		wrong := eval[[]string](p, `(() => { const all = [...document.querySelectorAll('#line, #bar > button, .brand, #views a, #title, #side, #composer')].filter(e => e.checkVisibility({ visibilityProperty: true }));
			const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
			const box = (e) => e.getBoundingClientRect(), line = box(document.getElementById('line'));
			return all.filter(e => e.id !== 'line' && !apart(line, box(e)) || box(e).left < -1 || box(e).right > innerWidth + 1 || e.matches('.brand, #out') && box(e).height > 42).map(e => e.outerHTML.slice(0, 60)); })()`)
		if len(wrong) > 0 {
			t.Errorf("at a width of %d these are covered or broken: %q", width, wrong)
		}
	}
}

func TestAChatThatBeginsWhileTheListIsOnItsWayIsListed(t *testing.T) {
	f := newFake(t)
	asked, sent := make(chan struct{}), make(chan struct{})
	inner := f.handler()
	var lists atomic.Int32
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/chats" || lists.Add(1) > 1 {
			inner.ServeHTTP(w, r)
			return
		}
		old := httptest.NewRecorder()
		inner.ServeHTTP(old, r)
		close(asked)
		<-sent
		reply(w, http.StatusOK, json.RawMessage(old.Body.Bytes()))
	}))
	p := open(t, f.url())
	p.awaitStream()
	<-asked
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	p.until("document.title.startsWith('(1)')")
	close(sent)
	p.awaitText("#chats", "Talk")
}

func TestTypingIsShownAsWorkingAtOnce(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	p := open(t, f.url()+"#/c/c1")
	p.awaitText("#log", "message 0.")
	p.awaitStream()
	p.stopClock() // typing is shown for seven seconds
	f.locked(func() { f.publish(obj{"event": "typing", "chat": "c1"}) })
	p.awaitText("#live", "Working…")
}

func TestEscapeStopsAndTheUpKeyRecalls(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url())
	p.until("document.activeElement.id === 'text'")
	p.send("first line")
	p.awaitText("#log .mine time", ":")
	chat := p.chat()
	f.progress(chat, "p", "Counting", time.Now())
	p.awaitText("#live", "Counting")
	p.do(chromedp.KeyEvent(kb.ArrowUp))
	p.until("document.getElementById('text').value.startsWith('first')")
	p.do(chromedp.KeyEvent(kb.Escape))
	if press := <-f.presses; press["message"] != "p" || press["data"] != "stop:p" {
		t.Errorf("pressed was %v", press)
	}
	p.until("document.getElementById('text').value.startsWith('first')") // what is typed stays
	f.gone(chat, "p")
	p.awaitHidden("#live")
	p.do(chromedp.KeyEvent(kb.Escape)) // nothing runs
	p.enter(chromedp.ModifierNone)
	p.until("document.querySelectorAll('#log .mine time').length === 2")
	if len(f.presses) > 0 {
		t.Error("something was stopped although nothing ran")
	}
}

func TestAWaitingQuestionSaysSo(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"], f.chats["c2"] = "One", "Two" })
	f.say("c2", "hello", nil)
	f.progress("c1", "p", "Looking", time.Now())
	question := obj{"buttons": []obj{{"label": "Red", "data": "answer:q:1", "role": "answer"}, {"label": "Blue", "data": "answer:q:2", "role": "answer"}}}
	f.say("c1", "Which one?", question)
	f.say("c1", "By the way.", obj{"buttons": []obj{{"label": "Run again", "data": "again:1"}}})
	p := open(t, f.url()+"#/c/c1")
	p.awaitText("#log .choices", "Waiting for your answer")
	p.until("document.querySelectorAll('.choices .waiting').length === 1")
	p.awaitText("#live", "Looking")
	p.awaitHidden("#live .spinner")
	p.awaitText("#chats a[aria-current]", "Asks you")
	p.run("location.hash = '#/c/c2'")
	p.awaitText("#log", "hello")
	p.awaitText("#chats", "Asks you")
	p.run("location.hash = '#/c/c1'")
	p.click(".choices button:nth-child(2)")
	p.awaitText(".result", "Chosen: Blue")
	p.until("document.activeElement.id === 'text'")
	p.awaitText("#live .spinner", "")
	p.awaitHidden(".waiting")
}
