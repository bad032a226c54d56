package page_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/httpd"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// The position of the message in the middle of the window, and of that one later.
const (
	noteMiddle = `(() => { const box = document.getElementById('scroll').getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
		window.middle = [...document.querySelectorAll('#log > li')].find((e) => e.getBoundingClientRect().bottom > middle).message.id; return true })()`
	middleAt = "[...document.querySelectorAll('#log > li')].find((e) => e.message?.id === window.middle)?.querySelector('.card').getBoundingClientRect().top ?? -9999"
)

// scrollTo scrolls to a position and checks that the message in the middle of the window
// then stays in its place while others are loaded.
func (p *tab) scrollTo(top string, loaded string) {
	p.t.Helper()
	before := eval[float64](p, "(() => { const s = document.getElementById('scroll'); s.scrollTop = "+top+"; "+noteMiddle+"; return "+middleAt+" })()")
	p.until(loaded)
	if after := eval[float64](p, middleAt); after-before > 1 || before-after > 1 {
		p.t.Errorf("the message in the middle of the window has moved from %v to %v", before, after)
	}
	if n := p.count("#log > li"); n > 400 {
		p.t.Errorf("there are %d messages", n)
	}
}

func TestALongChatHasAtMost400MessagesInTheDocumentAndDoesNotJump(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Long talk" })
	count := killtest.Rounds(t, 560, 900)
	begin := time.Now().Add(-time.Duration(count) * time.Hour) // many days have a headline
	for i := range count {
		extra := obj{"time": begin.Add(time.Duration(i) * time.Hour)}
		if i%7 == 0 {
			extra["media"] = []obj{f.keep("view.png", "image/png", picture(i%4, 60, 40))}
		}
		f.say("c1", fmt.Sprintf("message %d. %s", i, strings.Repeat("many words ", i%40)), extra)
	}
	p := open(t, f.url())
	p.awaitText("#log > li:last-child", fmt.Sprintf("message %d.", count-1))
	p.until(atEnd)
	first := "document.querySelector('#log > li').message.seq"
	last := "[...document.querySelectorAll('#log > li')].at(-1).message.seq"
	for seq := count - 49; seq > 1; {
		next := max(seq-50, 1)
		p.scrollTo("10", fmt.Sprintf("%s === %d", first, next))
		seq = next
	}
	wanttest.Equal(t, "messages", p.count("#log > li"), 400)
	p.awaitHidden("#older")
	f.say("c1", "said while an old part is read", nil)
	p.awaitText("#say", "said while an old part is read")
	if text := innerText(p, "#log"); strings.Contains(text, "said while") {
		t.Error("there is a gap before the newest message")
	}
	for seq := 400; seq < count+1; {
		next := min(seq+50, count+1)
		p.scrollTo("document.getElementById('scroll').scrollHeight - document.getElementById('scroll').clientHeight - 10", fmt.Sprintf("%s === %d", last, next))
		seq = next
	}
	p.awaitText("#log > li:last-child", "said while an old part is read")
	want := eval[bool](p, "[...document.querySelectorAll('#log > li')].every((e, i, all) => !i || e.message.seq === all[i - 1].message.seq + 1)")
	wanttest.Equal(t, "the messages are without a gap:", want, true)
	p.run("document.getElementById('scroll').scrollTop = 1e6")
	p.until(atEnd + " && document.getElementById('latest').hidden")
	const more = 60
	for i := range more {
		f.say("c1", fmt.Sprintf("further %d.", i), nil)
	}
	p.awaitText("#log > li:last-child", "further 59.")
	p.until(atEnd)
	wanttest.Equal(t, "messages after many new ones", p.count("#log > li"), 400)
	count += more
	p.scrollTo("10", fmt.Sprintf("%s < %d", first, count-398))
	p.run("document.getElementById('scroll').scrollTop = 0")
	p.until(fmt.Sprintf("%s <= %d", first, count-498))
	p.click("#latest") // the newest messages are far away
	p.until(atEnd)
	p.awaitText("#log > li:last-child", "further 59.")
}

// findAndOpen searches and opens the first message found.
func (p *tab) findAndOpen(words, shown string) {
	p.t.Helper()
	p.do(chromedp.SetValue(chromedp.CSS("#search"), words, chromedp.NodeVisible))
	p.run("document.getElementById('search').dispatchEvent(new Event('input'))")
	p.awaitText("#found p", shown)
	p.click("#found li:has(p) a")
}

// TestASearchDoesNotBeginWithTheResultsOfTheLastOne would else have a person open one of those in
// place of what they look for.
func TestASearchDoesNotBeginWithTheResultsOfTheLastOne(t *testing.T) {
	f := newFake(t)
	f.locked(func() {
		f.chats["c1"] = "Trip"
		f.append(obj{"event": "message", "chat": "c1", "from": "user", "kind": "message", "text": "Book the hut"})
	})
	p := open(t, f.url())
	p.click("#search")
	p.do(chromedp.KeyEvent("hut"))
	p.awaitText("#found p", "Book the hut")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.awaitText("#chats", "Trip")
	asked, answered, inner := make(chan struct{}), make(chan struct{}), f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/search" {
			close(asked)
			<-answered
		}
		inner.ServeHTTP(w, r)
	}))
	p.do(chromedp.KeyEvent("x"))
	<-asked
	wanttest.Equal(t, "shown is of the last search:", innerText(p, "#found"), "")
	close(answered)
	p.awaitText("#found", "0 results")
}

// A slow network must not take the cursor away from somebody who searches before there is a chat.
func TestAChatThatOpensLateLeavesTheCursorInTheSearch(t *testing.T) {
	f := newFake(t)
	f.locked(func() {
		f.chats["c1"] = "Trip"
		f.append(obj{"event": "message", "chat": "c1", "from": "user", "kind": "message", "text": "Book the hut"})
	})
	searched, inner := make(chan struct{}), f.handler()
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chats" {
			<-searched
		}
		inner.ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.click("#search")
	close(searched)
	p.awaitText("#log", "Book the hut")
	p.run("new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))")
	wanttest.Equal(t, "the cursor is in", eval[string](p, "document.activeElement.id"), "search")
}

// act opens the actions of the chat with a title, by its button, and chooses one.
func (p *tab) act(title, action string) {
	p.t.Helper()
	entry := fmt.Sprintf("[...document.querySelectorAll('#chats > li')].find((e) => e.innerText.includes(%q))", title)
	p.until(entry)
	p.run(entry + ".querySelector('button').click()")
	p.awaitText("#chats .options", action)
	p.run(fmt.Sprintf("[...document.querySelectorAll('#chats .options > *')].find((e) => e.innerText === %q).click()", action))
}

// TestChatsAreFoundRenamedPinnedExportedAndDeletedInTwoBrowsersAcrossARestart is what a person does
// with their chats, by mouse and by keyboard.
func TestChatsAreFoundRenamedPinnedExportedAndDeletedInTwoBrowsersAcrossARestart(t *testing.T) {
	d := newDaemon(t)
	p, other := open(t, d.linkAs("ann", httpd.Chat)), open(t, d.linkAs("ann", httpd.Chat))
	for _, x := range []*tab{p, other} {
		x.until("location.pathname === '/' && document.getElementById('text')")
	}
	p.send("the quick brown fox")
	p.awaitText("#log .theirs", "Answer to the quick brown fox")
	fox := p.chat()
	p.click("#new")
	p.awaitText("#hello", "Say hello")
	p.send("a second chat")
	p.awaitText("#log .theirs", "Answer to a second chat")
	second := p.chat()
	other.awaitText("#chats", "a second chat")

	p.findAndOpen("FOX quick", "Answer to")
	p.until("location.hash.startsWith('#/c/" + fox + "') && document.querySelector('.hit')?.innerText.includes('quick brown fox')")
	p.until("document.querySelector('#found mark')?.innerText.toLowerCase() === 'fox' || document.querySelector('#found mark')?.innerText === 'quick'")
	checkAccess(t, p, "results of a search")
	p.do(chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent(kb.Escape))
	p.awaitText("#chats", "a second chat")

	p.act("the quick", "Rename")
	p.until("document.activeElement.matches('dialog input')")
	checkAccess(t, p, "the name of a chat")
	p.do(chromedp.SetValue(chromedp.CSS("dialog.ask input"), "Foxes", chromedp.NodeVisible))
	p.enter(chromedp.ModifierNone)
	for _, x := range []*tab{p, other} {
		x.awaitText("#chats", "Foxes")
	}
	p.awaitText("#title", "Foxes")
	p.act("Foxes", "Pin")
	p.until("document.querySelector('#chats > li .pin') && document.activeElement.ariaLabel === 'Actions for Foxes'")
	other.awaitText("#chats > li:first-child", "Foxes")

	other.click("#chats a[href='#/c/" + fox + "']")
	other.awaitText("#log", "quick brown fox")
	d.kill()
	p.awaitText("#line", "Reconnecting")
	d.start()
	for _, x := range []*tab{p, other} {
		x.awaitHidden("#line:not(:empty)")
		x.awaitText("#chats > li:first-child", "Foxes")
	}
	p.act("Foxes", "Unpin")
	p.until("!document.querySelector('#chats > li .pin')")

	// By keyboard alone.
	p.run("[...document.querySelectorAll('#chats > li')].find((e) => e.innerText.includes('Foxes')).querySelector('a').focus()")
	p.do(chromedp.KeyEvent(kb.Tab))
	p.enter(chromedp.ModifierNone)
	p.until("document.activeElement.innerText === 'Rename' && document.activeElement.getBoundingClientRect().height >= 44")
	checkAccess(t, p, "the actions of a chat")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("!document.querySelector('.options') && document.activeElement.ariaExpanded === 'false'")
	p.enter(chromedp.ModifierNone)
	p.until("document.activeElement.innerText === 'Rename'")
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	p.until("document.activeElement.innerText === 'Delete'")
	p.enter(chromedp.ModifierNone)
	p.awaitText("dialog.ask", "Delete “Foxes” with all its messages and files?")
	p.until("document.activeElement.innerText === 'Cancel'")
	checkAccess(t, p, "the question about a deletion")
	p.enter(chromedp.ModifierNone)
	p.awaitHidden("dialog.ask")
	p.act("Foxes", "Delete")
	p.awaitText("dialog.ask", "Foxes")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.awaitHidden("dialog.ask")
	p.awaitText("#log", "quick brown fox")
	p.act("Foxes", "Delete")
	p.click("dialog.ask .bad")
	for _, x := range []*tab{p, other} {
		x.awaitText("#deleted", "This chat was deleted.")
		x.awaitHidden("#composer")
		x.until("!document.getElementById('chats').innerText.includes('Foxes') && !document.querySelector('#log li')")
		checkAccess(t, x, "a deleted chat")
	}
	p.until("document.activeElement.id === 'new'")
	d.kill()
	d.start()
	other.do(reload)
	other.awaitText("#deleted", "This chat was deleted.")
	other.click("#chats a[href='#/c/" + second + "']")
	other.awaitText("#log", "a second chat")
	other.awaitHidden("#deleted")
	p.click("#new")
	p.awaitText("#hello", "Say hello")
	p.send("a third")
	p.awaitText("#log .theirs", "Answer to a third")
	p.findAndOpen("second", "Answer to **a second chat")
	p.awaitText("#log", "a second chat")
	if n := eval[int](p, "fetch('api/search?q=fox').then(r => r.json()).then(r => r.results.length)"); n != 0 {
		t.Errorf("%d results of the deleted chat", n)
	}
}

func TestTheRunningTurnOfADeletedChatIsStopped(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Operator)
	p.send("slow work")
	p.awaitText("#live", "Counting slowly")
	p.act("slow work", "Delete")
	p.click("dialog.ask .bad")
	p.awaitText("#deleted", "This chat was deleted.")
	p.awaitHidden("#live")
	p.click("#views a:last-child")
	p.awaitText("#turns tr", "Stopped")
	p.click("#views a:first-child")
	p.awaitHidden("#chats > li")
}

func TestAnExportedChatIsAFile(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.size(390, 844)
	p.send("album please")
	p.awaitText("a.file[download='notes.txt']", "notes.txt")
	p.click("#menu")
	p.do(chromedp.WaitVisible(chromedp.CSS("#chats > li button")))
	p.click("#chats > li > button")
	p.awaitText("#chats .options", "Export")
	if narrow := eval[[]string](p, "[...document.querySelectorAll('#chats > li > button, .options > *, #search')].filter(e => { const b = e.getBoundingClientRect(); return b.height < 44 || b.width < 44 }).map(e => e.outerHTML)"); len(narrow) > 0 {
		t.Errorf("too small to touch: %q", narrow)
	}
	if eval[bool](p, "document.documentElement.scrollWidth > innerWidth") {
		t.Error("the page is wider than the phone")
	}
	encoded := eval[string](p, "fetch(document.querySelector('.options a').href).then(r => r.arrayBuffer()).then(b => btoa(String.fromCharCode(...new Uint8Array(b))))")
	content := musttest.Get(base64.StdEncoding.DecodeString(encoded))(t)
	archive := musttest.Get(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	text := string(musttest.Get(io.ReadAll(musttest.Get(archive.Open("chat.md"))(t)))(t))
	if !strings.Contains(text, "album please") || len(archive.File) != 5 || !strings.HasSuffix(archive.File[4].Name, "-4-notes.txt") {
		t.Errorf("the archive has %d files and\n%s", len(archive.File), text)
	}
}
