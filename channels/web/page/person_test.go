package page_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// person acts on a page in one manner: by mouse, by touch, or by keyboard alone.
type person struct {
	*tab
	manner string
}

// device is a window and how a person acts in it.
type device struct {
	width  int64
	manner string
}

// devices are those on which the checks that take long are made.
var devices = []device{{320, "touch"}, {390, "keyboard"}, {768, "touch"}, {1280, "mouse"}}

var widths = []int64{320, 390, 768, 1280}

// widthsFor are the widths at which a test uses the page in a manner: those of devices, or all with
// NANOBOT_LONG=1.
func widthsFor(manner string) []int64 {
	if killtest.IsLong() {
		return widths
	}
	var some []int64
	for _, d := range devices {
		if d.manner == manner {
			some = append(some, d.width)
		}
	}
	return some
}

// use opens a page on the device.
func (d device) use(t *testing.T, url string) person {
	t.Helper()
	p := openBlank(t)
	p.size(d.width, 800)
	touch := emulation.SetTouchEmulationEnabledParams{Enabled: d.manner == "touch", MaxTouchPoints: 5}
	if d.manner != "touch" {
		touch.MaxTouchPoints = 1
	}
	must(p, touch, func(ctx context.Context, v emulation.SetTouchEmulationEnabledParams) error {
		_, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, v)
		return err
	})
	p.enterBy(url) // a script of a link opens the page, unless the test goes elsewhere before
	p.until(fmt.Sprintf("matchMedia('(pointer: coarse)').matches === %t", d.manner == "touch"))
	return person{p, d.manner}
}

// choose activates a control.
func (p person) choose(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)?.checkVisibility({ visibilityProperty: true })", selector))
	switch p.manner {
	case "mouse":
		p.click(selector)
	case "touch":
		p.tap(selector)
	case "keyboard":
		p.tabTo(selector)
		p.enter(chromedp.ModifierNone)
	}
}

// tap touches the middle of an element, and does it again if the browser stood still meanwhile and
// takes it for a long touch, which opens a menu.
func (p person) tap(selector string) {
	p.t.Helper()
	for range 10 {
		p.run(`window.tapped = ''; for (const type of ['click', 'contextmenu']) addEventListener(type, () => (window.tapped ||= type), { capture: true, once: true })`)
		p.touch(selector)
		p.until("window.tapped !== ''") // which the next page does not know
		if eval[string](p.tab, "window.tapped ?? ''") != "contextmenu" {
			return
		}
	}
	p.t.Fatalf("each touch of %s is taken for a long one", selector)
}

func (p person) touch(selector string) {
	p.t.Helper()
	at := eval[[]float64](p.tab, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: 'nearest' });
		const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`, selector))
	for _, event := range []input.DispatchTouchEventParams{
		{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}}}, {Type: "touchEnd", TouchPoints: []*input.TouchPoint{}},
	} {
		must(p.tab, event, func(ctx context.Context, v input.DispatchTouchEventParams) error {
			_, err := chromedp.Call(ctx, input.DispatchTouchEvent, v)
			return err
		})
	}
}

// tabTo presses the Tab key until an element has the focus, with Shift if the element is before
// the one that has it.
func (p person) tabTo(selector string) {
	p.t.Helper()
	for range 100 {
		switch eval[int](p.tab, fmt.Sprintf("document.activeElement.matches(%q) ? -1 : document.activeElement.compareDocumentPosition(document.querySelector(%[1]q)) & Node.DOCUMENT_POSITION_PRECEDING", selector)) {
		case -1:
			return
		case 0:
			p.do(chromedp.KeyEvent(kb.Tab))
		default:
			p.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
		}
	}
	p.t.Fatalf("the Tab key does not reach %s", selector)
}

// checkLayout measures that nothing is wider than the window, that rows of tables are as high as
// their text, and that targets are large enough for a finger.
func (p person) checkLayout(scene string) {
	p.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		wrong := eval[[]string](p.tab, fmt.Sprintf(`(() => { const root = document.documentElement.dataset, chosen = root.theme;
			root.theme = %q; const wrong = %s; root.theme = chosen; return wrong })()`, theme, layoutCheck))
		for _, w := range wrong {
			p.t.Errorf("%s, %s: %s", scene, theme, w)
		}
	}
}

// layoutCheck lists what does not fit.
const layoutCheck = `(() => {
	const wrong = [], name = (e) => e.outerHTML.slice(0, 100), modal = document.querySelector('dialog:modal');
	const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && (!modal || modal.contains(e)) && !e.closest('.unseen, svg, #skip');
	const scrolled = (e) => { for (let x = e.parentElement; x; x = x.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(x).overflowX) && x.id !== 'scroll') return true; };
	for (const e of document.querySelectorAll('body *')) {
		const r = e.getBoundingClientRect();
		if (shown(e) && r.width && (r.left < -1 || r.right > innerWidth + 1) && !scrolled(e)) wrong.push('outside of the window: ' + name(e));
	}
	for (const e of document.querySelectorAll('#scroll, body, #board, #turn')) if (shown(e) && e.scrollWidth > e.clientWidth + 1) wrong.push('scrolls sideways: ' + name(e));
	for (const e of document.querySelectorAll('.wide')) {
		if (shown(e) && getComputedStyle(e).borderRightWidth === '0px') wrong.push('a table without an edge');
		for (const row of e.querySelectorAll('tr')) if (shown(e) && row.getBoundingClientRect().height > 40) wrong.push('a row of ' + row.getBoundingClientRect().height + ' px: ' + row.innerText);
	}
	if (!matchMedia('(pointer: coarse)').matches) return wrong;
	for (const e of document.querySelectorAll('a[href], button, select, summary, textarea, audio')) {
		const r = e.getBoundingClientRect();
		if (shown(e) && !(e.tagName === 'A' && getComputedStyle(e).display === 'inline') && (r.width < 43.9 || r.height < 43.9)) wrong.push('a target of ' + r.width + 'x' + r.height + ': ' + name(e));
	}
	return wrong;
})()`

// wideTable has short cells that do not fit a phone.
const wideTable = "<p>Stops</p><table><thead><tr><th>Stop name</th><th align=center>Platform</th><th align=right>Minutes</th><th>Next departure</th><th>And then</th><th>Operator name</th></tr></thead>" +
	"<tbody><tr><td>Montana lower</td><td align=center>14 b</td><td align=right>1</td><td>at noon sharp</td><td>in the evening</td><td>Skyss and sons</td></tr></tbody></table>"

func TestAPersonUsesEveryViewAtEveryWidthInEveryManner(t *testing.T) {
	t.Parallel()
	for _, manner := range []string{"mouse", "touch", "keyboard"} {
		t.Run(manner, func(t *testing.T) { walkAtEveryWidth(t, manner) })
	}
}

// walkAtEveryWidth goes through the states of the page in one browser, whose window changes its
// size. Those who touch the smallest window are German, whose words are the longest.
func walkAtEveryWidth(t *testing.T, manner string) {
	f := newFake(t)
	scene(f)
	f.say("trip", "Stops", obj{"html": wideTable})
	f.say("trip", "# Report\n\n- [x] one\n- [ ] two\n\n> quoted\n\nSee [this](https://example.com) and `code`.\n\n---\n\n1. a\n2. b", obj{"media": []obj{
		f.keep("a.mp3", "audio/mpeg", nil), f.keep("b.mp4", "video/mp4", nil),
	}})
	f.say("trip", "Error (E42): it broke", obj{"kind": "error"})
	f.locked(func() {
		waits := obj{"event": "progress", "chat": "trip", "id": "p9", "text": "Queued.", "html": "<p>Queued.</p>", "buttons": []obj{{"label": "Cancel", "data": "cancel:9"}}}
		f.live["tripp9"] = waits
		f.publish(waits)
	})
	at := widthsFor(manner)
	p := device{at[0], manner}.use(t, f.url()+"#/c/trip")
	for i, width := range at {
		german := width == 320 && manner == "touch"
		if german {
			p.setLanguages("de-AT,de,en")
			p.do(reload)
		}
		p.size(width, 800)
		p.media([]string{"light", "dark"}[i%2])
		p.walk(t, f, width)
		if german {
			wanttest.Equal(t, "the language is", eval[string](p.tab, "document.documentElement.lang"), "de")
			p.setLanguages("en-GB,en")
			p.do(reload)
		}
	}
}

// walk goes through the states of the page at one width, and measures each of them. On one of
// devices it also looks for what keeps people out: with the smallest and the largest window, or
// with NANOBOT_LONG=1 in each, by all rules.
func (p person) walk(t *testing.T, f *fake, width int64) {
	t.Helper()
	measure := func(scene string) {
		t.Helper()
		p.checkLayout(fmt.Sprintf("%s, %d px by %s", scene, width, p.manner))
	}
	check := func(scene string) {
		t.Helper()
		measure(scene)
		switch {
		case !slices.Contains(devices, device{width, p.manner}):
		case width == 320, width == 1280, killtest.IsLong():
			checkAccess(t, p.tab, scene)
			checkKeyboard(t, p.tab, scene)
		default:
			checkOwnRules(t, p.tab, scene)
		}
	}
	p.run("location.hash = '#/c/trip'")
	p.awaitText("#log", "it broke")
	p.awaitText("#now", "Asking")
	p.awaitText("#queue", "Queued.")
	check("a chat")
	if got := eval[[]string](p.tab, "[...[...document.querySelectorAll('.wide')].at(-1).querySelectorAll('th, td')].slice(0, 9).map((e) => getComputedStyle(e).textAlign.replace('-webkit-', ''))"); fmt.Sprint(got) != "[left center right left left left start center right]" {
		t.Errorf("the cells of a table are aligned %q", got)
	}
	p.choose("#acts button")
	if press := <-f.presses; press["data"] != "stop:p1" {
		t.Errorf("pressed was %v", press)
	}
	p.choose("#queue button")
	if press := <-f.presses; press["data"] != "cancel:9" {
		t.Errorf("pressed was %v", press)
	}
	p.choose("#log .tools span button:first-child")
	p.awaitText("#editing span", "")
	measure("an edit")
	p.choose("#unedit")
	p.awaitHidden("#editing")
	p.choose(".gallery button")
	p.until("document.getElementById('lightbox').open")
	check("the lightbox")
	p.choose("#shut")
	p.openMenu(check)
	p.choose("#search")
	p.do(chromedp.KeyEvent("hut"))
	p.awaitText("#found p mark", "hut")
	measure("results of a search")
	p.choose("#found li:has(p) a")
	p.awaitText("#log .hit", "Book the hut")
	p.openMenu(nil)
	p.choose("#search")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.awaitText("#chats", "Bergen")
	p.choose("#chats [aria-current]") // shown already
	p.until("!document.body.classList.contains('menu')")
	p.openMenu(nil)
	p.choose("#chats li:first-child > button")
	p.awaitText("#chats .options", "")
	measure("the actions of a chat")
	p.choose("#chats .options button")
	p.until("document.activeElement.matches('dialog input')")
	measure("the name of a chat")
	p.choose(".ask .soft")
	p.awaitHidden(".ask")
	p.choose("#new")
	p.awaitText("#hello h2", "")
	check("a new chat")
	p.choose("#views a:last-child")
	p.awaitText("#turns", "and the bus timetable")
	check("the console")
	p.choose("#turns a[href='#/console/41']")
	p.awaitText(".story", "Yr says")
	check("a turn")
}

// openMenu shows the list of chats where there is a menu.
func (p person) openMenu(check func(scene string)) {
	p.t.Helper()
	if !eval[bool](p.tab, "document.getElementById('menu').checkVisibility()") {
		return
	}
	p.choose("#menu")
	p.until("document.body.classList.contains('menu')")
	if check != nil {
		check("the menu")
	}
}

func TestTheChosenThemeIsThereBeforeThePageIsDrawnAndStays(t *testing.T) {
	f := newFake(t)
	p := device{390, "touch"}.use(t, f.url())
	p.awaitText("#hello", "Say hello")
	ground := func() string { return eval[string](p.tab, "getComputedStyle(document.body).backgroundColor") }
	const light, dark = "rgb(246, 245, 241)", "rgb(22, 24, 27)"
	other := p.another(f.url())
	other.awaitText("#hello", "Say hello")
	for _, step := range []struct{ label, system, ground string }{
		{"Theme: as the device", "dark", dark},
		{"Theme: as the device", "light", light},
		{"Theme: light", "dark", light},
		{"Theme: dark", "light", dark},
		{"Theme: as the device", "light", light},
	} {
		if label := eval[string](p.tab, "document.getElementById('theme').ariaLabel"); label != step.label {
			p.choose("#theme")
		}
		p.media(step.system)
		p.until(fmt.Sprintf("document.getElementById('theme').ariaLabel === %q", step.label))
		other.until(fmt.Sprintf("document.getElementById('theme').ariaLabel === %q", step.label))
		if got := ground(); got != step.ground {
			t.Errorf("%s on a %s device: the ground is %s instead of %s", step.label, step.system, got, step.ground)
		}
	}
	p.choose("#theme")
	p.choose("#theme")
	p.until("document.documentElement.dataset.theme === 'dark'")
	p.do(reload)
	p.until("document.getElementById('theme').ariaLabel === 'Theme: dark'")
	if before := eval[bool](p.tab, "[...document.head.children].findIndex((e) => e.src?.endsWith('theme.js') && e.type !== 'module' && !e.async && !e.defer) < [...document.head.children].findIndex((e) => e.rel === 'stylesheet')"); !before {
		t.Error("the theme is set after the first drawing")
	}
	if got := ground(); got != dark {
		t.Errorf("after a reload the ground is %s", got)
	}
	checkAccess(t, p.tab, "the dark theme on a light device")
}

// axe returns the script of axe-core, or "" if it is not there; .ci/test fetches it.
func axe(t *testing.T) string {
	t.Helper()
	path := "../../../.cache/axe/node_modules/axe-core/axe.min.js"
	if _, err := os.Stat(path); err != nil {
		t.Log("axe-core is not there (.ci/test fetches it), so this is left out: its rules")
		return ""
	}
	return string(musttest.Get(os.ReadFile(path))(t))
}

// axeViolations lists what axe-core finds by some rules; "undefined" means all.
func axeViolations(p *tab, rules string) []string {
	p.t.Helper()
	if !eval[bool](p, "'axe' in window") {
		script := axe(p.t)
		if script == "" {
			return nil
		}
		p.run(script)
	}
	return eval[[]string](p, `axe.run(document, { runOnly: `+rules+`, resultTypes: ['violations'], elementRef: false }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => 'axe: ' + v.id + ': ' + n.target + ': ' + n.failureSummary.split('\n').slice(1, 2))))`)
}
