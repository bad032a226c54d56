package page_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	permission "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/channels/web/page"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

func TestTheScriptHasItsTexts(t *testing.T) {
	document := musttest.Get(page.Document(words.Words{}, page.Bot{}))(t)
	_, rest, _ := strings.Cut(document, `type="application/json">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var sent map[string]string
	musttest.Do(t, json.Unmarshal([]byte(data), &sent))
	used := map[string]bool{}
	names := musttest.Get(fs.Glob(page.Files, "*.js"))(t)
	for _, name := range names {
		source := musttest.Get(page.Files.ReadFile(name))(t)
		for _, call := range regexp.MustCompile(`\btext\('(\w+)'`).FindAllSubmatch(source, -1) {
			used[string(call[1])] = true
		}
	}
	got, want := slices.Sorted(maps.Keys(sent)), slices.Sorted(maps.Keys(used))
	if len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("sent are %q, used are %q", got, want)
	}
}

func TestTheDocumentNamesOnlyTextsOfTheCatalogue(t *testing.T) {
	source := musttest.Get(page.Files.ReadFile("index.html"))(t)
	for _, place := range regexp.MustCompile(`{{(\w+)}}`).FindAllSubmatch(source, -1) {
		name := string(place[1])
		if !slices.Contains([]string{"dev", "language", "texts", "name", "picture"}, name) && !slices.Contains(words.Keys(), words.Key(name)) {
			t.Errorf("there is no text %q", name)
		}
	}
}

// foreignTexts returns all texts, names and descriptions on the page that are not marked, except
// the console's.
const foreignTexts = `(() => {
	const found = [];
	const check = (e, text) => {
		if (e.closest('script, noscript, #console, #acts, #me, #recorded, time, .day, small')) return; // buttons of the gateway, names, times, sizes
		const rest = text.replace(/«[^»]*»/g, '').replace(/nanobot:?/g, '');
		if (/\p{L}/u.test(rest)) found.push(e.tagName + ' ' + text);
	};
	for (const e of document.querySelectorAll('body, body *')) {
		for (const n of e.childNodes) if (n.nodeType === 3) check(e, n.data);
		for (const a of ['aria-label', 'placeholder', 'title', 'alt']) if (e.hasAttribute(a)) check(e, e.getAttribute(a));
	}
	return found;
})()`

// TestAllTextsOfThePageAreFromTheCatalogue marks all texts of the catalogue, and looks for others
// while the page is in use.
func TestAllTextsOfThePageAreFromTheCatalogue(t *testing.T) {
	f := newFake(t)
	marked := map[string]string{}
	for _, key := range words.Keys() {
		marked[string(key)] = "«" + string(key) + "»"
	}
	f.words = words.New(words.Settings{Overrides: marked})
	f.locked(func() { f.chats["c1"], f.chats["c2"] = "", "«Two»" })
	f.menu = obj{"commands": []obj{{"name": "«plan»", "help": "«plans»", "args": true}}, "agent": "«a»", "agents": []string{"«a»", "«b»"}}
	p := open(t, f.url()+"#/c/c1")
	check := func(scene, selector, text string) {
		t.Helper()
		p.awaitText(selector, text)
		for _, found := range eval[[]string](p, foreignTexts) {
			t.Errorf("%s: %s", scene, found)
		}
	}
	check("an empty chat", "#hello", "«pageHello»")
	p.stopClock() // typing is shown for seven seconds, and a recording has a unit of its own for one
	f.locked(func() { f.publish(obj{"event": "typing", "chat": "c1"}) })
	check("typing", "#live", "«working»")
	pictures := []obj{f.keep("«1»", "image/png", picture(1, 8, 8)), f.keep("«2»", "image/png", picture(2, 8, 8))}
	f.say("c1", "- [x] «task»\n\n```\n«ls»\n```\n\n| «a» |\n|---|\n| «b» |", obj{"media": pictures})
	f.progress("c1", "p", "«Looking»", time.Now())
	f.say("c2", "«hello»", nil)
	f.say("c1", "«Which?»", obj{"buttons": []obj{{"label": "«Red»", "data": "answer:q:1", "role": "answer"}}})
	f.say("c1", "«it broke»", obj{"kind": "error"})
	check("a question", ".choices", "«pageAwaitsAnswer»")
	check("the list", "#chats", "«pageAsksYou»")
	p.click(".choices button")
	check("an answer", ".result", "«pageChosen»")
	p.run("document.querySelector('.gallery button').click()")
	check("a picture", "#caption", "«pageNumberOfPictures» · «1»")
	p.click("#shut")
	p.run(`const d = new DataTransfer(); d.items.add(new File(['x'], '«file»')); document.getElementById('files').files = d.files; document.getElementById('files').onchange()`)
	check("a file", "#chosen", "«file»")
	p.click("#chosen button")
	p.setNotifications(permission.PermissionSettingGranted)
	for _, level := range []string{"«pageNotifyTitle»", "«pageNotifyText»"} {
		p.click("#notify")
		check("notifications", "#notify", level)
	}
	p.click("#theme")
	p.typeText("/")
	check("commands and agents", "#commands", "«plans»")
	p.do(chromedp.KeyEvent(kb.Backspace))
	p.send("«mine»")
	p.click("#log .tools span button")
	check("an edit", "#editing", "«pageEditing»")
	p.click("#unedit")
	p.click("#record")
	check("a recording", "#recorder", "ms")
	p.click("#cancel")
	for i, dialog := range map[int]string{1: "«pageRenameChat»", 4: "«pageDeleteChat»"} {
		p.click("#chats > li:first-child > button")
		check("the actions of a chat", "#chats .options", "«pageExport»")
		p.click(fmt.Sprintf(".options > :nth-child(%d)", i))
		check("a question of the page", "dialog.ask", dialog)
		p.do(chromedp.KeyEvent(kb.Escape))
	}
	p.click("#me")
	check("one's name", "dialog.ask", "«pageChooseName»")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.click("#search")
	p.do(chromedp.KeyEvent("«mine»"))
	p.until("document.querySelector('#found mark')?.innerText === '«mine»'") // not of its beginning
	check("a search", "#found", "«pageFound»")
	f.locked(func() { f.publish(obj{"event": "deleted", "chat": "c1"}) })
	check("a deleted chat", "#deleted", "«pageChatDeleted»")
	p.run("location.hash = '#/c/c2'")
	f.stop()
	check("no connection", "#line", "«pageReconnecting»")
	p.send("«lost»")
	check("an unsent message", ".stuck", "«pageRetries»")
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusUnauthorized, obj{"error": "gone", "code": "signed_out"})
	}))
	f.start(f.addr)
	check("signed out", "#login", "«signInAskForLink»")
	if got := innerText(p, "#login"); !strings.Contains(got, "«pageSignedOut»") || strings.Contains(got, "gone") {
		t.Errorf("the page for people who are signed out has %q", got)
	}
}

func TestAGermanSeesGermanTextsTimesAndSizes(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Reise" })
	f.say("c1", "Schau:", obj{"time": time.Now().Add(-24 * time.Hour), "media": []obj{f.keep("film.bin", "application/zip", make([]byte, 1_500_000))}})
	p := openGerman(t, f.url()+"#/c/c1")
	p.awaitText("#log .file", "1,5 MB")
	p.awaitText("#log .day", "Gestern")
	p.awaitText("#chats", "Gestern, ")
	wanttest.Equal(t, "the language is", eval[string](p, "document.documentElement.lang + ' ' + document.getElementById('out').ariaLabel"), "de Abmelden")
	f.stop()
	p.awaitText("#line", "Verbinde neu")
	p.send("hallo")
	p.awaitText(".stuck", "Noch nicht gesendet: keine Verbindung. Wird erneut versucht.")
	checkAccess(t, p, "an unsent message in German")
}
