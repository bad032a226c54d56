package page_test

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

//go:embed testdata/access.js
var accessCheck string

// checkAccess looks for what keeps people out, in both themes, also by the rules of axe-core.
func checkAccess(t *testing.T, p *tab, scene string) {
	t.Helper()
	checkThemes(t, p, scene, func(theme string) []string {
		rules := "undefined"
		switch { // a theme changes nothing but colours
		case theme == "dark" && killtest.IsLong():
			rules = "['color-contrast', 'link-in-text-block']"
		case theme == "dark": // accessCheck measures contrast, too; axe-core takes longer for it than for all else
			rules = "['link-in-text-block']"
		}
		return append(eval[[]string](p, accessCheck), axeViolations(p, rules)...)
	})
}

// checkOwnRules is checkAccess without axe-core, which takes ten times as long.
func checkOwnRules(t *testing.T, p *tab, scene string) {
	t.Helper()
	checkThemes(t, p, scene, func(string) []string { return eval[[]string](p, accessCheck) })
}

func checkThemes(t *testing.T, p *tab, scene string, check func(theme string) []string) {
	t.Helper()
	for _, theme := range []string{"light", "dark"} {
		p.media(theme)
		for _, w := range check(theme) {
			t.Errorf("%s, %s: %s", scene, theme, w)
		}
	}
	for _, w := range nameless(p) {
		t.Errorf("%s: %s", scene, w)
	}
	p.media("light")
}

// nameless lists the controls and landmarks to which the browser gives no name.
func nameless(p *tab) (wrong []string) {
	tree := musttest.Get(chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}))(p.t)
	text := func(v *accessibility.Value) string { return strings.Trim(string(value(v)), `" `) }
	named := 0
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		switch role := text(n.Role); role {
		case "button", "link", "textbox", "combobox", "checkbox", "menuitem", "img", "image", "dialog", "region", "navigation", "Video", "Audio", "heading":
			if named++; text(n.Name) == "" {
				wrong = append(wrong, fmt.Sprintf("a %s has no name", role))
			}
		}
	}
	if named < 2 {
		wrong = append(wrong, "the browser tells of no controls: this check proves nothing")
	}
	return wrong
}

func value(v *accessibility.Value) []byte {
	if v == nil {
		return nil
	}
	return v.Value
}

// checkKeyboard goes through the page with the Tab key: every control is reached, focus is always
// to be seen, and nothing holds it.
func checkKeyboard(t *testing.T, p *tab, scene string) {
	t.Helper()
	p.run(`{
		window.reached = new Set();
		window.blind = [];
		window.last = null;
		const look = (e) => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor].join(); };
		const chain = (e) => [e, e.parentElement].map(look).join('|');
		// Focus may scroll, which shows or hides a control when the next frame is drawn.
		const drawn = () => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)));
		window.visit = async () => {
			const e = document.activeElement;
			if (!e || e === document.body) return 'out';
			if (e === last) return 'new'; // within the controls of a film
			if (reached.has(e)) return 'again';
			reached.add(window.last = e);
			const r = e.getBoundingClientRect();
			e.blur();
			const plain = chain(e);
			e.focus({ preventScroll: true, focusVisible: true });
			if (chain(e) === plain && e.id !== 'main') blind.push(e.outerHTML.slice(0, 120));
			if (!r.width || r.bottom < 0 || r.top > innerHeight) blind.push('out of sight: ' + e.outerHTML.slice(0, 120));
			await drawn();
			return 'new';
		};
		(document.querySelector('dialog:modal button') || document.getElementById('skip')).focus({ focusVisible: true });
		visit();
	}`)
	for range 200 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if eval[string](p, "visit()") != "new" {
			break
		}
	}
	missed := eval[[]string](p, `(() => {
		const scope = document.querySelector('dialog:modal') || document;
		return [...scope.querySelectorAll('a[href], button, select, textarea, input, audio, video')]
			.filter((e) => !e.disabled && e.checkVisibility({ visibilityProperty: true }) && !reached.has(e)).map((e) => e.outerHTML.slice(0, 120));
	})()`)
	for _, m := range missed {
		t.Errorf("%s: the keyboard does not reach %s", scene, m)
	}
	for _, b := range eval[[]string](p, "blind") {
		t.Errorf("%s: focus is not to be seen on %s", scene, b)
	}
}

func TestErrorsAndTheSignedOutViewPassTheAccessibilityChecks(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url())
	p.awaitText("#hello", "Say hello")
	p.awaitStream()
	f.stop()
	p.awaitText("#line", "Reconnecting")
	p.send("lost")
	p.awaitText(".stuck", "Not sent yet")
	checkAccess(t, p, "a message that is not sent")
	checkKeyboard(t, p, "a message that is not sent")
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			reply(w, http.StatusUnauthorized, obj{"error": "sign in"})
			return
		}
		f.handler().ServeHTTP(w, r)
	}))
	f.start(f.addr)
	p.awaitText("#login", "You are signed out")
	checkAccess(t, p, "the page for people who are signed out")
}

func TestTheSkipLinkLeadsToTheContent(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url()+"#/console")
	p.awaitText("#console", "Turns")
	p.run("document.activeElement.blur(); getSelection().setPosition(document.body, 0)")
	p.do(chromedp.KeyEvent(kb.Tab))
	p.until("document.activeElement.id === 'skip' && document.activeElement.getBoundingClientRect().top >= 0")
	p.enter(chromedp.ModifierNone)
	p.until("document.activeElement.id === 'main' && location.hash === '#/console'")
}

// TestTheAccessibilityChecksFindEveryKindOfProblem breaks the page in every way that is checked,
// one after the other: each adds its problem to those that are there already.
func TestTheAccessibilityChecksFindEveryKindOfProblem(t *testing.T) {
	f := newFake(t)
	p := open(t, f.url())
	p.awaitText("#hello", "Say hello")
	if got := nameless(p); len(got) != 0 {
		t.Errorf("before anything is broken: got %q", got)
	}
	p.run("document.getElementById('attach').ariaLabel = ''")
	if got := nameless(p); len(got) != 1 {
		t.Errorf("a button without a name: got %q", got)
	}
	problems := func() string { return strings.Join(eval[[]string](p, accessCheck), "\n") }
	last := problems()
	for _, broken := range []struct{ how, want string }{
		{"document.documentElement.lang = ''", "no language"},
		{"document.title = ''", "no title"},
		{"document.getElementById('dropzone').id = 'log'", "there 2 times"},
		{"document.querySelector('#hello h2').outerHTML = '<h5>x</h5>'", "heading of level 5"},
		{"document.getElementById('hello').append(new Image())", "without alt"},
		{"document.querySelector('#hello p').style.color = '#999'", "contrast"},
		{"document.getElementById('send').disabled = false; document.getElementById('send').style.width = '9px'", "target of 9×40"},
		{"document.body.append('stray', document.createElement('p')); document.body.lastChild.append('stray')", "outside of every landmark"},
		{"document.getElementById('composer').style.minWidth = '3000px'; document.body.style.overflow = 'visible'", "px wide in a window"},
		{"document.getElementById('title').outerHTML = '<p id=title>x</p>'", "not one h1"},
	} {
		p.run(broken.how)
		got := problems()
		if strings.Contains(last, broken.want) || !strings.Contains(got, broken.want) {
			t.Errorf("%s: want a problem with %q, which was not there before, got:\n%s\nand before:\n%s", broken.how, broken.want, got, last)
		}
		last = got
	}
}
