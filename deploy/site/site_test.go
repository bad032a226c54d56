// Package site_test tests the manual as a site.
package site_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/html"

	"nanobot/internal/musttest"
)

const top = "../.."

// waitTimeout is how long a test may take with the browser. Only a failing test waits that long.
const waitTimeout = 20 * time.Minute

// TestTheMenuHasEveryPageOnce compares the order of the pages with the files.
func TestTheMenuHasEveryPageOnce(t *testing.T) {
	t.Parallel()
	settings := musttest.Get(os.ReadFile("hugo.toml"))(t)
	var menu, files []string
	for _, m := range regexp.MustCompile(`(?m)^\t\["(.+)", ".+"\],$`).FindAllStringSubmatch(string(settings), -1) {
		menu = append(menu, m[1])
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "deploy/package/*.md", "deploy/examples/*.md"} {
		for _, name := range musttest.Get(filepath.Glob(filepath.Join(top, pattern)))(t) {
			files = append(files, filepath.ToSlash(musttest.Get(filepath.Rel(top, name))(t)))
		}
	}
	slices.Sort(menu)
	slices.Sort(files)
	if !slices.Equal(menu, files) {
		t.Errorf("the menu of hugo.toml has\n%s\nand the manual\n%s", menu, files)
	}
}

// folder is where render makes the site, once for all tests that look at it.
var folder string

var render = sync.OnceValue(func() error { return build(folder) })

func build(dir string) error {
	cmd := exec.Command("sh", "build")
	cmd.Env = append(os.Environ(), "VERSION=v1.2.3", "OUT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	return nil
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nanobot-site-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make folder for the site:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	folder = dir
	return m.Run()
}

// site returns the folder of the rendered manual.
func site(t *testing.T) string {
	t.Helper()
	if os.Getenv("NANOBOT_TEST_RELEASE") != "1" {
		t.Skip("Hugo takes minutes to build: make test-release runs this")
	}
	musttest.Do(t, render())
	return folder
}

// files returns the content of every file below a folder.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	musttest.Do(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[filepath.ToSlash(musttest.Get(filepath.Rel(dir, name))(t))], err = os.ReadFile(name)
		return err
	}))
	return found
}

func TestTwoRunsMakeTheSameSite(t *testing.T) {
	t.Parallel()
	first := files(t, site(t))
	again := t.TempDir()
	musttest.Do(t, build(again))
	second := files(t, again)
	if len(first) < 80 || len(first) != len(second) {
		t.Errorf("%d and %d files", len(first), len(second))
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// htmlPage is what a page of the site has that others can be connected with.
type htmlPage struct {
	ids   map[string]bool
	links []string // of every element, whatever it is for
	h1    int
}

func parse(t *testing.T, content []byte) (p htmlPage) {
	t.Helper()
	p.ids = map[string]bool{}
	for n := range musttest.Get(html.Parse(bytes.NewReader(content)))(t).Descendants() {
		if n.Type == html.ElementNode && n.Data == "h1" {
			p.h1++
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if p.ids[a.Val] {
					t.Errorf("the ID %s is there twice", a.Val)
				}
				p.ids[a.Val] = true
			case "href":
				p.links = append(p.links, a.Val)
			case "src", "srcset", "action", "data":
				p.links = append(p.links, a.Val)
				if strings.Contains(a.Val, ":") {
					t.Errorf("<%s %s=%q> loads something from elsewhere", n.Data, a.Key, a.Val)
				}
			}
		}
		if n.Data == "link" && strings.Contains(p.links[len(p.links)-1], ":") {
			t.Errorf("<link> loads %s", p.links[len(p.links)-1])
		}
	}
	return p
}

func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := files(t, site(t))
	pages := map[string]htmlPage{}
	for name, content := range all {
		if path.Ext(name) != ".html" {
			continue
		}
		pages[name] = parse(t, content)
		if pages[name].h1 != 1 {
			t.Errorf("%s has %d titles", name, pages[name].h1)
		}
		if !bytes.Contains(content, []byte("v1.2.3")) {
			t.Errorf("%s does not say of which version it is", name)
		}
	}
	internal := 0
	for name, p := range pages {
		for _, link := range p.links {
			u := musttest.Get(url.Parse(link))(t)
			if u.Scheme != "" {
				continue // a site that a page speaks of
			}
			internal++
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, ok := all[target]; !ok || strings.HasPrefix(link, "/") {
				t.Errorf("%s links to %s, which does not exist", name, link)
			} else if u.Fragment != "" && !pages[target].ids[u.Fragment] {
				t.Errorf("%s links to %s, and %s has no such heading", name, link, target)
			}
		}
	}
	if internal < 2000 {
		t.Errorf("only %d links", internal)
	}
	if css := all["style.css"]; bytes.Contains(css, []byte("url(")) || bytes.Contains(css, []byte("@import")) {
		t.Error("the style loads something")
	}
}

// tab is a page of the site in a browser, read from the disk without a server.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp represents a tab by its context
	dir string
}

func browse(t *testing.T, name string) tab {
	t.Helper()
	dir := site(t)
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no Chromium here (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, waitTimeout)
	t.Cleanup(cancel)
	p := tab{t, ctx, dir}
	_, err = chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	musttest.Do(t, err)
	p.look(1280, "light")
	p.visit(name)
	return p
}

func (p tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	musttest.Do(p.t, chromedp.Do(p.ctx, actions...))
}

func (p tab) visit(name string) { p.do(chromedp.Navigate("file://" + filepath.Join(p.dir, name))) }

// look sets the size of the window and the colours that a person prefers.
func (p tab) look(width int64, scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 844, DeviceScaleFactor: 1, Mobile: width < 700})
	musttest.Do(p.t, err)
	_, err = chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	musttest.Do(p.t, err)
}

func eval[T any](p tab, js string) T {
	p.t.Helper()
	value, err := evaluate[T](p, js)
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return value
}

func evaluate[T any](p tab, js string) (T, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
}

// until waits for a condition, at which the browser looks before each frame. The condition may be
// one of the page that comes next.
func (p tab) until(condition string) {
	p.t.Helper()
	for {
		_, err := evaluate[bool](p, "new Promise((done) => (function look() { "+condition+" ? done(true) : requestAnimationFrame(look) })())")
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "navigated") {
			p.t.Fatalf("%s: %v", condition, err)
		}
	}
}

// violations lists what is wrong with the page that is open, by some rules of axe-core. The rules
// "undefined" are all.
func (p tab) violations(rules string) []string {
	p.t.Helper()
	found := eval[[]string](p, `(() => {
		const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
		const missing = [...document.images].filter((i) => i.complete && !i.naturalWidth)
		const tight = [...document.querySelectorAll('td:last-child')].filter((cell) => cell.innerText.length > 40 && cell.clientWidth < 110)
		const high = innerWidth < 1000 ? [] : [...document.querySelectorAll('tr')].filter((row) => row.offsetHeight > 180)
		const hidden = [...document.querySelectorAll('pre:has(> .language-sh)')].filter((pre) => pre.scrollWidth > pre.clientWidth)
		return [...(wide > 0 ? ['is ' + wide + ' pixels too wide'] : []), ...missing.map((i) => i.src + ' is not shown'),
			...(document.querySelector('nav:not(:has(a))') ? ['has an empty menu'] : []),
			...tight.concat(high).map((at) => 'has a column that is too narrow: ' + at.innerText), ...hidden.map((pre) => 'hides the end of ' + pre.innerText)]
	})()`)
	axe, err := os.ReadFile(top + "/.cache/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		p.t.Log("axe-core is not there (.ci/test fetches it), so this is left out: its rules")
		return found
	}
	eval[bool](p, "window.axe ? true : (() => {"+string(axe)+"; return true})()")
	return append(found, eval[[]string](p, `axe.run(document, { runOnly: `+rules+`, resultTypes: ['violations'], elementRef: false }).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.target + ': ' + n.html)))`)...)
}

// shoot puts a picture for people to look at into the folder that NANOBOT_SHOTS names.
func (p tab) shoot(name string) {
	p.t.Helper()
	if shots := os.Getenv("NANOBOT_SHOTS"); shots != "" {
		picture := musttest.Get(chromedp.Run(p.ctx, chromedp.CaptureScreenshot()))(p.t)
		musttest.Do(p.t, os.WriteFile(filepath.Join(shots, name+".png"), picture, 0o600))
	}
}

func TestEveryPageIsReadableOnAPhoneAndOnADesk(t *testing.T) {
	t.Parallel()
	p := browse(t, "index.html")
	grounds := map[string]bool{}
	for _, page := range musttest.Get(filepath.Glob(filepath.Join(p.dir, "*.html")))(t) {
		name := filepath.Base(page)
		if strings.HasPrefix(name, "deploy-examples-") && name != "deploy-examples-llm.html" {
			continue // they look alike
		}
		p.visit(name)
		for _, view := range []struct {
			width         int64
			scheme, rules string
		}{{390, "light", "undefined"}, {1280, "dark", "['color-contrast']"}} {
			p.look(view.width, view.scheme)
			for _, v := range p.violations(view.rules) {
				t.Errorf("%s, %d pixels, %s: %s", name, view.width, view.scheme, v)
			}
			grounds[eval[string](p, "getComputedStyle(document.body).backgroundColor")] = true
			p.shoot(fmt.Sprintf("%s-%d", strings.TrimSuffix(name, ".html"), view.width))
		}
	}
	if len(grounds) != 2 {
		t.Errorf("light and dark have the grounds %v", grounds)
	}
}

// search types words into the search, as a person does who has only a keyboard.
func (p tab) search(words string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](
		"field.value = ''; field.blur(); document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))"),
		chromedp.KeyEvent(words))
	p.until(fmt.Sprintf("sections?.length && field.value === %q && !results.hidden", words))
}

func TestTheSearchFindsSectionsWithoutAServer(t *testing.T) {
	t.Parallel()
	p := browse(t, "telegram.html")
	for words, first := range map[string]string{
		"maxconcurrent": "configuration.html#gateway:~:text=maxConcurrent",
		"backup":        "operations.html#backup",
		"webh poll":     "telegram.html#webhook-instead-of-polling",
	} {
		p.search(words)
		if got := eval[string](p, "list.querySelector('a')?.getAttribute('href') ?? ''"); !strings.HasPrefix(got, first) {
			t.Errorf("%q finds %s first", words, got)
		}
	}
	// The title of a page and a heading of it, typed together, find the section. Every third is
	// tried.
	for _, missed := range eval[[]string](p, `sections.filter((s, i) => {
		if (i % 3) return false
		field.value = s.title + ' ' + s.heading
		show()
		return ![...list.querySelectorAll('a')].slice(0, 10).some((a) => a.getAttribute('href').startsWith(s.page + '#' + s.anchor))
	}).map((s) => s.title + ': ' + s.heading)`) {
		t.Errorf("the search does not find %s", missed)
	}
	// Sections that have most of the words come after those that have all.
	for words, want := range map[string]string{
		"webh poll xylophone": `^0 sections with every word, [1-9]\d* with most of them telegram\.html#webhook-instead-of-polling$`,
		"telegram token file": `^[1-9]\d* sections? with every word, [1-9]\d* with most of them \w+\.html#\S+$`,
	} {
		p.search(words)
		got := eval[string](p, "status.textContent + ' ' + list.querySelector('a').getAttribute('href').split(':~:')[0]")
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q finds %s", words, got)
		}
	}
	p.search("xylophone")
	if got := eval[string](p, "status.textContent + list.children.length"); got != "Nothing found. Try fewer or shorter words.0" {
		t.Errorf("a search for nothing says %s", got)
	}
	for width, scheme := range map[int64]string{390: "dark", 1280: "light"} {
		p.look(width, scheme)
		p.search("backup")
		for _, v := range p.violations("undefined") {
			t.Errorf("the results, %d pixels: %s", width, v)
		}
		p.shoot(fmt.Sprintf("search-%d", width))
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("results.hidden && document.activeElement === field")
	p.search("maxconcurrent")
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	p.until("location.pathname.endsWith('/configuration.html') && location.hash === '#gateway' && scrollY > 1000")
}

// A server answers with 404.html wherever there is no page.
func TestAMissingPageAtAnyDepthIsPartOfTheManual(t *testing.T) {
	t.Parallel()
	p := browse(t, "index.html")
	manual := http.FileServer(http.Dir(p.dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, below := strings.CutPrefix(r.URL.Path, "/below/manual/")
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil && below {
			http.StripPrefix("/below/manual", manual).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(musttest.Get(os.ReadFile(filepath.Join(p.dir, "404.html")))(t))
	}))
	t.Cleanup(server.Close)
	for _, page := range []string{"gone.html", "docs/old/gone.html?from=a/b"} {
		p.do(chromedp.Navigate(server.URL + "/below/manual/" + page))
		p.until("!document.querySelector('form').hidden && getComputedStyle(document.body).fontFamily.includes('system-ui')")
		p.search("backup")
		if got := eval[string](p, "document.querySelector('main a').href"); got != server.URL+"/below/manual/index.html" {
			t.Errorf("%s leads to %s", page, got)
		}
		for _, v := range p.violations("undefined") {
			t.Errorf("%s: %s", page, v)
		}
	}
}

func TestThePagesAndSectionsOpenFromTwoButtonsOnAPhone(t *testing.T) {
	t.Parallel()
	p := browse(t, "telegram.html")
	p.look(390, "light")
	for _, step := range []struct{ nav, link, then string }{
		{"toc", "#what-people-see", "location.hash === '#what-people-see' && !nav.checkVisibility()"},
		{"menu", "discord.html", "location.pathname.endsWith('/discord.html')"},
	} {
		p.do(chromedp.Evaluate[chromedp.Void]("var nav = document.getElementById('" + step.nav + "')"))
		if eval[bool](p, "nav.checkVisibility()") {
			t.Errorf("%s is open from the beginning", step.nav)
		}
		p.do(chromedp.Click("[popovertarget=" + step.nav + "]"))
		p.until("nav.checkVisibility()")
		for _, v := range p.violations("undefined") {
			t.Errorf("%s: %s", step.nav, v)
		}
		p.shoot("phone-" + step.nav)
		p.do(chromedp.Click(fmt.Sprintf("#%s a[href='%s']", step.nav, step.link)))
		p.until(step.then)
	}
}
