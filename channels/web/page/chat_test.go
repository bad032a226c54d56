package page_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/wanttest"
)

// answering lets the fake answer every message, after a progress.
func answering(f *fake) {
	f.onText = func(chat, text string, _ []string) {
		f.progress(chat, "p-"+text, "Thinking about "+text, time.Now())
		f.say(chat, "Answer to **"+text+"**", nil)
		f.gone(chat, "p-"+text)
	}
}

func TestADraftOfTheAnswerIsShown(t *testing.T) {
	f := newFake(t)
	next := make(chan string)
	f.onText = func(chat, _ string, _ []string) {
		f.progress(chat, "p", "Thinking", time.Now())
		for words := range next {
			f.draft(chat, "d", words)
		}
		f.say(chat, "Once upon a time", nil)
		f.gone(chat, "d")
	}
	p := open(t, f.url())
	go p.send("tell")
	for _, words := range []string{"Once", "Once upon"} {
		next <- words
		p.awaitText("#log .theirs:last-child .card", words)
		p.awaitText("#now", "Thinking")
	}
	close(next)
	p.awaitText("#log .theirs:last-child .card", "Once upon a time")
	p.until("document.querySelectorAll('#log .theirs').length === 1")
}

func TestAnAnswerThatIsBeingWrittenCanBeStopped(t *testing.T) {
	f := newFake(t)
	f.onText = func(chat, _ string, _ []string) { f.draft(chat, "d", "Once") }
	p := open(t, f.url())
	p.send("tell")
	p.awaitText("#log .theirs:last-child .card", "Once")
	p.click("#acts .choice")
	wanttest.Equal(t, "pressed was", (<-f.presses)["data"], any("stop:d"))
}

func TestAPageThatHidesTheChatOffersNoSizeOfATerminal(t *testing.T) {
	p := open(t, newFake(t).url())
	p.until("(import('./dom.js').then((m) => { window.offered = m.room() }), /^[0-9]+x[0-9]+$/.test(window.offered))")
	p.until("(document.getElementById('chat').hidden = true, import('./dom.js').then((m) => { window.offered = m.room() }), window.offered === '')")
}

func TestEnterSendsAndShiftEnterStartsALine(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url())
	p.awaitText("#hello", "Say hello")
	p.typeText("one")
	p.enter(chromedp.ModifierShift)
	p.send("two")
	p.awaitText("#log .mine .plain", "one\ntwo")
}

func TestVideoAndAudioHavePlayersAndOtherFilesAreDownloads(t *testing.T) {
	f := newFake(t)
	f.onText = func(chat, _ string, _ []string) {
		f.say(chat, "", obj{"media": []obj{
			f.keep("a.mp3", "audio/mpeg", nil), f.keep("b.mp4", "video/mp4", nil), f.keep("c.svg", "image/svg+xml", []byte("<svg/>")), f.keep("d.png", "image/png", picture(0, 60, 40)),
		}})
	}
	p := open(t, f.url())
	p.send("show")
	p.until("document.querySelector('audio[controls]') && document.querySelector('video[controls]')")
	p.awaitText("a.file[download='c.svg']", "c.svg")
	p.click(".gallery button")
	p.awaitText("#caption", "d.png")
	p.awaitHidden("#before")
}

// lookAtAlbum goes through three pictures, large.
func lookAtAlbum(p *tab) {
	p.t.Helper()
	p.click(".gallery li:nth-child(2) button")
	p.awaitText("#caption", "2 of 3 · view-2.png")
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	p.awaitText("#caption", "3 of 3")
	p.click("#after")
	p.awaitText("#caption", "1 of 3")
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	p.awaitText("#caption", "3 of 3")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.awaitHidden("#lightbox")
	p.until("document.activeElement.closest('.gallery li:nth-child(2)')")
}

// attachThree attaches a.png by the picker, b.png by a drop and pasted.txt by pasting, and takes
// back another.
func attachThree(p *tab, dir string) {
	p.t.Helper()
	var paths []string
	for i, name := range []string{"a.png", "b.png", "wrong.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, picture(i, 30, 20), 0o600); err != nil {
			p.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{paths[0], paths[2]}, chromedp.NodeReady))
	p.awaitText("#chosen", "a.png")
	p.until("document.querySelector('#chosen img')?.naturalWidth === 30")
	p.click("#chosen li:nth-child(2) button")
	p.until("document.querySelectorAll('#chosen li').length === 1")
	drop(p, paths[1], 20) // on the header
	p.awaitText("#chosen", "b.png")
	p.awaitHidden("#dropzone")
	p.run(`{const d = new DataTransfer(); d.items.add(new File(['hi'], 'pasted.txt', {type: 'text/plain'}));
		document.getElementById('text').dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true, cancelable: true}))}`)
	p.awaitText("#chosen", "pasted.txt")
}

// drop drags a file over the page, at a height of it, and lets it fall.
func drop(p *tab, path string, y float64) {
	p.t.Helper()
	dispatch := func(kind input.DispatchDragEventType) {
		must(p, kind, func(ctx context.Context, kind input.DispatchDragEventType) error {
			data := &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1}
			_, err := chromedp.Call(ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 700, Y: y, Data: data})
			return err
		})
	}
	isOver := func() bool { return eval[bool](p, "!document.getElementById('dropzone').hidden") }
	// A move over another element than before only enters it, and then nothing can be dropped. What
	// is below the pointer changes when the page does. People move the mouse further.
	dispatch(input.DispatchDragEventTypeDragEnter)
	for !isOver() {
		dispatch(input.DispatchDragEventTypeDragOver)
	}
	p.awaitText("#dropzone", "Drop files")
	for isOver() {
		dispatch(input.DispatchDragEventTypeDragOver)
		dispatch(input.DispatchDragEventTypeDragOver)
		dispatch(input.DispatchDragEventTypeDrop)
	}
}

func TestOlderMessagesAreLoadedOnDemand(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Long talk" })
	for i := range 120 {
		f.say("c1", fmt.Sprintf("message %d.", i), nil)
	}
	p := open(t, f.url())
	p.awaitText("#log > li:last-child", "message 119.")
	p.do(reload)
	p.awaitText("#log > li:last-child", "message 119.")
	p.until("document.querySelectorAll('#log > li').length === 50")
	p.until("document.getElementById('scroll').scrollTop > 0") // the page has gone to the newest message
	p.run("document.getElementById('scroll').scrollTop = 0")
	p.until("document.querySelectorAll('#log > li').length === 100")
	p.run("document.getElementById('older').click()")
	p.until("document.querySelectorAll('#log > li').length === 120")
	p.awaitHidden("#older")
	texts := eval[[]string](p, "[...document.querySelectorAll('#log .body')].map(e => e.innerText.trim())")
	for i, text := range texts {
		if text != fmt.Sprintf("message %d.", i) {
			t.Fatalf("place %d has %q", i, text)
		}
	}
}

func TestEachChatHasItsOwnDraftAndUnreadMark(t *testing.T) {
	f := newFake(t)
	answering(f)
	p := open(t, f.url())
	p.send("first")
	p.awaitText(".theirs", "Answer to first")
	p.typeText("a draft")
	one := p.chat()
	p.click("#new")
	p.awaitText("#hello", "Say hello")
	p.until("document.getElementById('text').value === ''")
	p.send("second")
	p.awaitText(".theirs", "Answer to second")
	p.until("document.querySelectorAll('#chats li').length === 2")
	p.run("document.querySelector('#chats [aria-current]').focus()")
	f.say(one, "by the way", nil)
	p.until("document.querySelector('#chats li:first-child .dot') && document.title.startsWith('(1)')")
	p.until("document.activeElement.ariaCurrent === 'page'") // the list is in another order, and focus is where it was
	p.click("#chats li:first-child a")
	p.awaitText("#log > li:last-child", "by the way")
	p.awaitText("#log", "Answer to first")
	p.until("!document.querySelector('.dot') && document.getElementById('text').value === 'a draft'")
	if text := innerText(p, "#log"); strings.Contains(text, "second") {
		t.Errorf("one chat shows what is in another: %s", text)
	}
}

func TestMessagesFromAnOutageAreShownInOrder(t *testing.T) {
	f := newFake(t)
	answering(f)
	p := open(t, f.url())
	p.send("before")
	p.awaitText(".theirs", "Answer to before")
	chat := p.chat()
	f.stop()
	p.awaitText("#line", "Reconnecting")
	p.send("during")
	p.awaitText(".stuck", "Not sent yet")
	p.send("and this")
	f.say(chat, "said while nobody could hear", nil)
	f.start(f.addr)
	p.awaitText(".theirs", "Answer to and this")
	p.awaitHidden("#line:not(:empty)")
	p.send("after")
	p.awaitText(".theirs", "Answer to after")
	want := []string{"before", "Answer to before", "said while nobody could hear", "during", "Answer to during", "and this", "Answer to and this", "after", "Answer to after"}
	shows(p, "li", want...)
	p.do(reload)
	p.awaitText(".theirs", "Answer to after")
	shows(p, "li", want...)
}

func TestALongOutageLeavesNoGap(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Talk" })
	f.say("c1", "message 0.", nil)
	p := open(t, f.url())
	p.awaitText("#log", "message 0.")
	f.stop()
	p.awaitText("#line", "Reconnecting")
	for i := range 70 {
		f.say("c1", fmt.Sprintf("message %d.", i+1), nil)
	}
	f.start(f.addr)
	p.awaitText("#log > li:last-child", "message 70.")
	p.until("document.querySelectorAll('#log > li').length === 50")
	p.run("document.getElementById('older').click()")
	p.until("document.querySelectorAll('#log > li').length === 71")
	var want []string
	for i := range 71 {
		want = append(want, fmt.Sprintf("message %d.", i))
	}
	shows(p, "li", want...)
}

func TestAMessageWhoseResponseWasLostIsShownOnce(t *testing.T) {
	f := newFake(t)
	var once atomic.Bool
	cut := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") && once.CompareAndSwap(false, true) {
			f.handler().ServeHTTP(&discardWriter{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		f.handler().ServeHTTP(w, r)
	})
	f.serve(cut)
	p := open(t, f.url())
	p.send("only once")
	p.awaitText("#log .mine time", ":")
	p.until("!document.querySelector('.fate')")
	p.do(reload)
	p.awaitText("#log .mine time", ":")
	if n := p.count("#log > li"); n != 1 {
		t.Errorf("shown %d times", n)
	}
}

// discardWriter discards a response, as if it were lost on the way.
type discardWriter struct{ header http.Header }

func (d *discardWriter) Header() http.Header         { return d.header }
func (d *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (d *discardWriter) WriteHeader(int)             {}

func TestARefusedMessageSaysWhyAndCanBeSentAgainOrDiscarded(t *testing.T) {
	f := newFake(t)
	var fits atomic.Bool
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fits.Load() && strings.HasSuffix(r.URL.Path, "/messages") && r.Method == http.MethodPost {
			reply(w, http.StatusRequestEntityTooLarge, obj{"error": "at most 20 MB"})
			return
		}
		f.handler().ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.send("huge")
	p.awaitText(".stuck .fate", "Not sent: at most 20 MB")
	p.send("huger")
	p.until("document.querySelectorAll('.stuck').length === 2")
	p.click(".stuck:last-child button:last-child")
	p.until("document.querySelectorAll('.stuck').length === 1")
	fits.Store(true)
	p.click(".stuck button")
	p.awaitText("#log .mine time", ":")
	p.until("document.querySelectorAll('#log > li').length === 1")
}

func TestASignedOutPageSaysWhyAndHidesTheChat(t *testing.T) {
	f := newFake(t)
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			reply(w, http.StatusUnauthorized, obj{"error": "sign in"})
			return
		}
		f.handler().ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.awaitText("#login", "You are signed out")
	p.awaitHidden("#chat")
}

func TestThePageIsUsableBeforeTheHistoryIsLoaded(t *testing.T) {
	f := newFake(t)
	f.locked(func() { f.chats["c1"] = "Slow" })
	f.say("c1", "here at last", nil)
	let := make(chan bool)
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			<-let
		}
		f.handler().ServeHTTP(w, r)
	}))
	p := open(t, f.url())
	p.send("sent already")
	p.typeText("typed already")
	p.until("performance.getEntriesByName('first-contentful-paint').length === 1")
	close(let)
	p.awaitText("#log", "here at last")
	p.until("document.getElementById('text').value === 'typed already'")
	shows(p, "li", "here at last", "sent already")
}

func TestAgentOutputIsInertAndMarkdownIsNotReadFromTheUser(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url())
	p.awaitText("#hello", "Say hello")
	p.send("<img src=x onerror=window.hacked=1> **bold**")
	shows(p, ".mine", "<img src=x onerror=window.hacked=1> **bold**")
	chat := p.chat()
	// Even if the server's cleaning failed, nothing would run or be fetched.
	f.say(chat, "x", obj{"html": `<p>before</p><script>window.hacked=1</script><img src="http://127.0.0.1:1/pixel" alt="pixel" onerror="window.hacked=1">` +
		`<p id="target" onclick="window.hacked=1">press me</p><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>`})
	p.awaitText(".theirs", "press me")
	p.run("document.getElementById('target').click()")
	if eval[bool](p, "'hacked' in window") {
		t.Error("script of an agent has run")
	}
	if got := p.consoleErrors(); len(got) == 0 {
		t.Error("the policy had nothing to refuse: this test proves nothing")
	}
}

// shows checks what the conversation is, when nothing is on its way any more. What the gateway says
// of itself is left out: a turn may have been cut off at its very end, or have had to wait.
func shows(p *tab, whose string, want ...string) {
	p.t.Helper()
	p.until("!document.querySelector('.fate')")
	got := eval[[]string](p, "[...document.querySelectorAll('#log > "+whose+" .card')].map(e => e.innerText.trim()).filter(t => !/I was restarted|^Queued/.test(t))")
	if strings.Join(got, "|") != strings.Join(want, "|") {
		p.t.Errorf("the page shows %q\nwant %q", got, want)
	}
}

func TestDetailsAreFoldedBelowTheText(t *testing.T) {
	f := newFake(t)
	f.onText = func(chat, _ string, _ []string) {
		f.progress(chat, "p", "Reading files", time.Now())
		f.say(chat, "All tests pass now.", nil)
		f.say(chat, "✓ 20 steps", obj{"kind": "progress", "html": "<p>✓ 20 steps · 3 min · 4 files</p><details><summary>Details</summary><ul><li>read <code>a.go</code></li></ul><pre><code>ok</code></pre></details>"})
		f.gone(chat, "p")
	}
	p := open(t, f.url())
	p.size(390, 844)
	p.send("go")
	p.awaitText("#log .theirs:last-child .card", "✓ 20 steps")
	p.awaitHidden("#live")
	if eval[bool](p, "document.querySelector('details').open || document.querySelector('details li').checkVisibility()") {
		t.Error("the details are not folded")
	}
	p.click("summary")
	p.until("document.querySelector('details li').checkVisibility()")
	if eval[bool](p, "document.documentElement.scrollWidth > innerWidth") {
		t.Error("the page is wider than the phone")
	}
}
