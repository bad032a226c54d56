package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/httpd"
	"nanobot/internal/wanttest"
)

func TestCommandsAndAgentsAreChosenInAListAtEveryWidthInEveryManner(t *testing.T) {
	t.Parallel()
	for _, manner := range []string{"mouse", "touch", "keyboard"} {
		t.Run(manner, func(t *testing.T) {
			f := newFake(t)
			f.say("trip", "hello", nil)
			at := widthsFor(manner)
			p := device{at[0], manner}.use(t, f.url()+"#/c/trip")
			p.awaitText("#log", "hello")
			for _, width := range at {
				p.size(width, 800)
				p.chooseCommands(t, f, slices.Contains(devices, device{width, manner}))
			}
		})
	}
}

func (p person) chooseCommands(t *testing.T, f *fake, thorough bool) {
	t.Helper()
	sent := make(chan string, 10)
	f.onText = func(_, text string, _ []string) { sent <- text }
	commands := []obj{{"name": "stop", "help": "stop the turn", "args": true}, {"name": "status", "help": "what runs", "args": false}, {"name": "plan", "help": strings.Repeat("plans ", 40), "args": true}}
	f.locked(func() { f.menu = obj{"commands": commands, "agent": "coder", "agents": []string{"coder", "writer"}} })
	box := func(keys string) { p.typeText(keys) }
	shown := func() string {
		return eval[string](p.tab, "[...document.querySelectorAll('#commands:not([hidden]) > li')].map((e) => (e.ariaSelected === 'true' ? '>' : '') + e.firstChild.textContent).join(' ')")
	}
	box("/") // reads the menu
	p.until("document.querySelectorAll('#commands li').length === 3")
	p.awaitText("#agent", "coder")
	wanttest.Equal(t, "all commands:", shown(), ">/stop /status /plan")
	p.until("document.getElementById('text').getAttribute('aria-activedescendant') === 'command-0'")
	if thorough {
		checkAccess(t, p.tab, "the commands")
	}
	p.checkLayout("the commands")
	box("st")
	wanttest.Equal(t, "commands with st:", shown(), ">/stop /status")
	box(kb.ArrowDown)
	wanttest.Equal(t, "the next one:", shown(), "/stop >/status")
	box(kb.Escape)
	wanttest.Equal(t, "closed:", shown(), "")
	box(kb.Backspace + kb.Backspace + kb.Backspace + "/")
	p.until("document.querySelectorAll('#commands:not([hidden]) li').length === 3")
	status := "#commands li:nth-child(2)"
	switch p.manner {
	case "mouse":
		p.click(status)
	case "touch":
		p.tap(status)
	default:
		box(kb.ArrowDown)
		p.enter(chromedp.ModifierNone)
	}
	wanttest.Equal(t, "sent", <-sent, "/status")
	box("/p")
	p.enter(chromedp.ModifierNone)
	p.until("document.getElementById('text').value === '/plan ' && document.getElementById('commands').hidden")
	box("a trip")
	p.enter(chromedp.ModifierNone)
	wanttest.Equal(t, "sent", <-sent, "/plan a trip")
	box("/stop")
	p.enter(chromedp.ModifierNone)
	wanttest.Equal(t, "sent", <-sent, "/stop")
	if p.manner == "keyboard" {
		p.tabTo("#agent")
		p.do(chromedp.KeyEvent(kb.ArrowDown))
	} else {
		p.run("{ const a = document.getElementById('agent'); a.value = 'writer'; a.dispatchEvent(new Event('change')) }")
	}
	wanttest.Equal(t, "sent", <-sent, "/agent writer")
	f.locked(func() { f.menu = obj{"commands": commands, "agent": "writer", "agents": []string{"writer"}} })
	f.say("trip", "Your next message goes to writer.", nil)
	p.awaitHidden("#agent")
}

func TestTheLastMessageIsEditedAndRunAgainInAllBrowsersAlsoAfterAKill(t *testing.T) {
	d := newDaemon(t)
	p, other := device{1280, "keyboard"}.use(t, d.link(httpd.Operator)), device{320, "touch"}.use(t, d.link(httpd.Operator))
	p.awaitText("#hello", "Say hello")
	p.send("first")
	p.awaitText("#log .theirs", "Answer to first")
	p.send("hello")
	p.awaitText("#log .theirs", "Answer to hello")
	other.run("location.hash = '#/c/" + p.chat() + "'")
	other.awaitText("#log .theirs", "Answer to hello")
	wanttest.Equal(t, "messages to edit", p.count("#log [aria-label=Edit]"), 1)
	edit := func(x person, text string) {
		t.Helper()
		x.choose(".mine [aria-label=Edit]")
		x.awaitText("#editing", "Editing your last message")
		x.checkLayout("an edit")
		x.run("document.getElementById('text').value = ''")
		x.send(text)
	}
	last := func(text string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.mine')].at(-1).innerText.includes(%q)", text)
	}
	edit(p, "hello again")
	for _, x := range []person{p, other} {
		x.awaitText("#log .theirs", "Answer to hello again")
		x.until(last("edited · "))
		x.awaitHidden("#editing")
		x.checkLayout("an edited message")
		shows(x.tab, ".mine", "first", "hello again")
	}
	checkAccess(t, other.tab, "an edited message")
	other.choose(".mine [aria-label='Run again']")
	for _, x := range []person{p, other} {
		x.until("[...document.querySelectorAll('#log .theirs')].filter((e) => e.innerText.includes('Answer to hello again')).length === 2")
	}
	p.send("slow work")
	p.awaitText("#live", "Counting slowly")
	edit(other, "quick")
	p.awaitText("#log .theirs", "Answer to quick")
	p.awaitHidden("#live")
	d.kill()
	p.awaitText("#line", "Reconnecting")
	edit(p, "at last")
	p.awaitText(".stuck", "Not sent yet")
	d.start()
	for _, x := range []person{p, other} {
		x.awaitText("#log .theirs", "Answer to at last")
		shows(x.tab, ".mine", "first", "hello again", "at last")
	}
	p.choose(".mine [aria-label=Edit]")
	p.awaitText("#editing", "Editing")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.awaitHidden("#editing")
	p.until("document.getElementById('text').value === ''")
	p.run("document.querySelector('#log > .theirs:last-child').focus()")
	p.choose("#log > .theirs:last-child [aria-label=Copy]")
	p.awaitText("#say", "Copied")
	// Only the person who has sent a message can edit it.
	ann := d.enter(httpd.Chat)
	ann.send("mine")
	ann.awaitText("#log .theirs", "Answer to mine")
	wanttest.Equal(t, "messages that ann may edit", ann.count("#log [aria-label=Edit]"), 1)
	p.run("location.hash = '#/c/" + ann.chat() + "'")
	p.awaitText("#log .theirs", "Answer to mine")
	wanttest.Equal(t, "messages of ann that the operator may edit", p.count("#log [aria-label=Edit]"), 0)
}

// watchRecorder counts the bytes that are recorded.
const watchRecorder = `window.MediaRecorder = class extends MediaRecorder {
	constructor(...args) {
		super(...args);
		window.recorder = this;
		window.recordedBytes = 0;
		this.addEventListener('dataavailable', (e) => (window.recordedBytes += e.data.size));
	}
}`

// twoSecondsAreRecorded is true from then on. The page shows the duration about once a second, so a
// busy machine may skip any of them, and the sound may begin later than the clock: a note without
// any has about a hundred bytes.
const twoSecondsAreRecorded = `window.recorder?.state === 'recording' &&
	/^([2-9]\.\d|\d\d) s$|min/.test(document.getElementById('recorded').innerText) &&
	(window.recorder.requestData(), window.recordedBytes > 1000)`

func TestAVoiceNoteIsRecordedCancelledAndSent(t *testing.T) {
	p := device{320, "touch"}.use(t, newDaemon(t).link(httpd.Operator))
	p.awaitText("#hello", "Say hello")
	p.run(watchRecorder)
	p.choose("#record")
	p.until(twoSecondsAreRecorded)
	checkAccess(t, p.tab, "a recording")
	p.checkLayout("a recording")
	p.choose("#cancel")
	p.awaitHidden("#recorder")
	wanttest.Equal(t, "messages", p.count("#log > li"), 0)
	p.choose("#record")
	p.until(twoSecondsAreRecorded)
	p.choose("#keep")
	p.awaitHidden("#recorder")
	p.awaitText(".mine .file", "voice.")
	p.until("document.querySelector('.mine audio')?.readyState > 0")
	p.endsRecordings()
	p.run("navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'))")
	p.awaitBrief(func() { p.choose("#record") }, "#line", "Allow it in the settings of the browser")
	p.run("Object.defineProperty(navigator, 'mediaDevices', { value: undefined })") // as without https
	p.awaitBrief(func() { p.choose("#record") }, "#line", "only on pages with https")
}

// endsRecordings checks that nothing is recorded, nor sent, that the person no longer sees.
func (p person) endsRecordings() {
	p.t.Helper()
	p.run(`{ const m = navigator.mediaDevices, get = m.getUserMedia.bind(m);
		m.getUserMedia = async (o) => { await window.asks; return window.sound = await get(o) } }`)
	isOff := "window.sound.getTracks().every((t) => t.readyState === 'ended') && !document.querySelector('#composer.records')"
	sent := p.count("#log > .mine")
	for name, gone := range map[string]string{
		"the microphone is taken away": "window.sound.getTracks()[0].stop()",
		"the console is opened":        "location.hash = '#/console'",
	} {
		p.choose("#record")
		p.until("document.querySelector('#composer.records') && window.sound.active")
		p.run(gone)
		p.until(isOff)
		p.run("location.hash = '#/'")
		p.awaitHidden("#console")
		wanttest.Equal(p.t, "messages after "+name+":", p.count("#log > .mine"), sent)
	}
	p.run("window.asks = new Promise((done) => (window.allow = done)); window.sound = null")
	p.choose("#record")
	p.run("location.hash = '#/console'")
	p.awaitHidden("#chat")
	p.run("window.allow()")
	p.until("window.sound && " + isOff)
	p.run("location.hash = '#/'")
	p.awaitHidden("#console")
	p.choose("#record")
	p.until("document.querySelector('#composer.records')")
	p.run("fetch('api/chats/' + location.hash.split('/')[2], { method: 'DELETE' })")
	p.awaitText("#deleted", "deleted")
	p.until(isOff)
	p.run("location.hash = '#/new'")
	p.awaitHidden("#deleted")
}
