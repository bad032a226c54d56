package page_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nanobot/terminal/acp/acptest"
)

// waitTimeout is how long a test waits for the page.
const waitTimeout = 5 * time.Minute

// unusedFeatures of Chromium are off. The suggestions of the address bar are two pages of each
// window, which nobody sees and which take half of the CPU time of a short test.
const unusedFeatures = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup"

// browser is the one Chromium of a test run.
var browser struct {
	ctx context.Context //nolint:containedctx // chromedp represents a browser by its context
	why string          // why there is none
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(acpAgent) != "" {
		return acptest.Main(os.Args[1:])
	}
	if dir := os.Getenv(daemonFolder); dir != "" {
		fmt.Fprintln(os.Stderr, beDaemon(dir, os.Getenv("NANOBOT_PAGE_ADDR")))
		return 1
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	flag.Parse()
	switch {
	case testing.Short():
		browser.why = "left out by -short"
		return m.Run()
	case path == "":
		browser.why = "there is no Chromium here (Debian: apt-get install chromium)"
		return m.Run()
	}
	defer func() {
		for _, dir := range removeAtEnd {
			_ = os.RemoveAll(dir)
		}
	}()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("disable-features", unusedFeatures),
		chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		browser.why = fmt.Sprintf("Chromium does not start: %v", err)
	}
	browser.ctx = ctx
	return m.Run()
}

var reload = chromedp.Reload()

func itoa(n int) string { return strconv.Itoa(n) }

// tab is a page in a window and a profile of its own.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp represents a tab by its context

	mu     sync.Mutex
	faults []string // what the page threw, and what its policy refused
}

func open(t *testing.T, url string) *tab {
	t.Helper()
	p := openBlank(t)
	p.do(chromedp.Navigate(url))
	return p
}

// openGerman opens a page in a browser of a German.
func openGerman(t *testing.T, url string) *tab {
	t.Helper()
	p := openBlank(t)
	p.setLanguages("de-AT,de,en")
	p.do(chromedp.Navigate(url))
	return p
}

// setLanguages sets the languages of the person, the preferred first.
func (p *tab) setLanguages(accept string) {
	p.t.Helper()
	agent := emulation.SetUserAgentOverrideParams{UserAgent: eval[string](p, "navigator.userAgent"), AcceptLanguage: accept}
	must(p, agent, func(ctx context.Context, v emulation.SetUserAgentOverrideParams) error {
		_, err := chromedp.Call(ctx, emulation.SetUserAgentOverride, v)
		return err
	})
}

func openBlank(t *testing.T) *tab {
	t.Helper()
	if browser.why != "" {
		t.Skip(browser.why)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return begin(ctx, t)
}

// another is one more tab of the same person.
func (p *tab) another(url string) *tab {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.t.Cleanup(cancel)
	other := begin(ctx, p.t)
	other.do(chromedp.Navigate(url))
	return other
}

func begin(ctx context.Context, t *testing.T) *tab {
	t.Helper()
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		for _, f := range p.consoleErrors() {
			t.Errorf("the page complained: %s", f)
		}
	})
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Source == "security" || strings.Contains(m.Text, "Content Security Policy") {
				p.mu.Lock()
				p.faults = append(p.faults, m.Text)
				p.mu.Unlock()
			}
		}
	}()
	must(p, emulation.SetFocusEmulationEnabledParams{Enabled: true}, func(ctx context.Context, v emulation.SetFocusEmulationEnabledParams) error {
		_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, v)
		return err
	})
	p.size(1280, 800)
	p.media("light")
	return p
}

// consoleErrors returns the errors that the page has logged since the last call.
func (p *tab) consoleErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.faults
	p.faults = nil
	return f
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	must(p, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 700},
		func(ctx context.Context, v emulation.SetDeviceMetricsOverrideParams) error {
			_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, v)
			return err
		})
}

func (p *tab) media(theme string) {
	p.t.Helper()
	must(p, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}},
		func(ctx context.Context, v emulation.SetEmulatedMediaParams) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, v)
			return err
		})
}

func must[T any](p *tab, v T, do func(context.Context, T) error) {
	p.t.Helper()
	if err := do(p.ctx, v); err != nil {
		p.t.Fatal(err)
	}
}

// unsent is Chromium's error for a page that it has asked for over a connection that the server had
// closed, as it does with those without a request for some seconds. Nothing was sent.
const unsent = "net::ERR_SOCKET_NOT_CONNECTED"

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	err := chromedp.Do(ctx, actions...)
	for again := 0; again < 3 && err != nil && strings.Contains(err.Error(), unsent); again++ {
		err = chromedp.Do(ctx, actions...)
	}
	if err != nil {
		p.t.Fatalf("%v\nthe page shows:\n%s", err, p.text("body"))
	}
}

// eval returns what an expression is.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	v, err := evaluate[T](p, js)
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

func evaluate[T any](p *tab, js string) (T, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
}

// wasLeft reports whether an expression could not be evaluated because the browser left the page
// meanwhile, to which the next one is put.
func wasLeft(err error) bool {
	if err == nil {
		return false
	}
	return slices.ContainsFunc([]string{
		"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id",
	}, func(reason string) bool { return strings.Contains(err.Error(), reason) })
}

// until waits for an expression to become true, also on the next page.
func (p *tab) until(js string) {
	p.t.Helper()
	for end := time.Now().Add(waitTimeout); ; p.do(chromedp.Sleep(20 * time.Millisecond)) {
		is, err := evaluate[bool](p, "document.readyState === 'complete' && Boolean("+js+")")
		switch {
		case err != nil && !wasLeft(err):
			p.t.Fatalf("%s: %v", js, err)
		case is:
			return
		case time.Now().After(end):
			p.t.Fatalf("never came true: %s\nthe page shows:\n%s", js, p.text("body"))
		}
	}
}

// awaitStream waits until the page follows the events; what is published before may not reach it.
func (p *tab) awaitStream() {
	p.t.Helper()
	p.until("document.getElementById('me').textContent")
}

// awaitText waits for text in the element of a selector.
func (p *tab) awaitText(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.checkVisibility() && e.innerText.includes(%q))", selector, text))
}

// awaitBrief does what makes the page show something for some seconds, and waits for it. What would
// hide it waits for days, because the browser may stand still for longer than some seconds.
func (p *tab) awaitBrief(cause func(), selector, text string) {
	p.t.Helper()
	p.run("window.shortWait ??= setTimeout; window.setTimeout = (f, ms, ...a) => shortWait(f, ms < 2000 ? ms : 1e9, ...a)")
	cause()
	p.awaitText(selector, text)
	p.run("window.setTimeout = shortWait")
}

// stopClock stops the clock by which the page measures for how long something goes on. Its timers
// go on.
func (p *tab) stopClock() {
	p.t.Helper()
	p.run("{const now = Date.now(); Date.now = () => now}")
}

// awaitHidden waits until the element of a selector is gone or hidden.
func (p *tab) awaitHidden(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("![...document.querySelectorAll(%q)].some(e => e.checkVisibility())", selector))
}

// innerText is what an element shows.
func innerText(p *tab, selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// text is what an element shows, for the message of a test that fails: it may be empty for other
// reasons.
func (p *tab) text(selector string) string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	s, _ := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)))
	return s
}

func (p *tab) count(selector string) int {
	p.t.Helper()
	return eval[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// send writes a message and sends it by the Enter key.
func (p *tab) send(text string) {
	p.t.Helper()
	p.typeText(text)
	p.enter(chromedp.ModifierNone)
}

// typeText types into the box. chromedp.SendKeys would read the attributes of the box while the
// page changes them.
func (p *tab) typeText(text string) {
	p.t.Helper()
	p.until("(e => e?.checkVisibility() && (e.focus(), document.activeElement === e))(document.getElementById('text'))")
	p.do(chromedp.KeyEvent(text))
}

// enter strikes the Enter key as a keyboard does: the page may refuse what it would write.
func (p *tab) enter(modifier kb.Modifier) {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{kb.KeyDown, kb.KeyUp} {
		must(p, kind, func(ctx context.Context, kind input.DispatchKeyEventType) error {
			key := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Modifiers: int64(modifier)}
			if kind == kb.KeyDown {
				key.Text = "\r"
			}
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, key)
			return err
		})
	}
}

// chat returns the ID of the chat that is shown, once it has one.
func (p *tab) chat() string {
	p.t.Helper()
	p.until("location.hash.startsWith('#/c/')")
	return strings.TrimPrefix(eval[string](p, "location.hash"), "#/c/")
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

func (p *tab) run(js string) {
	p.t.Helper()
	eval[any](p, js+"; null")
}
