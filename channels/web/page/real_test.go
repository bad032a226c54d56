package page_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/channels/web/push"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/addrtest"
	"nanobot/internal/httpd"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// daemonFolder is the variable that makes a daemon of the test binary: it names the folder to work
// in.
const daemonFolder = "NANOBOT_PAGE_TEST"

// pushes is the variable that has the daemon push notifications.
const pushes = "NANOBOT_PAGE_PUSH"

// secondAgent is the variable that gives the daemon an agent named writer besides its own.
const secondAgent = "NANOBOT_PAGE_AGENT"

// daemon is a gateway with real agents behind the real channel, in a process of its own that can be
// killed.
type daemon struct {
	t         *testing.T
	dir, addr string
	env       []string
	cmd       *killtest.Child
}

func newDaemon(t *testing.T, env ...string) *daemon {
	t.Helper()
	if browser.why != "" {
		t.Skip(browser.why)
	}
	t.Parallel()
	d := &daemon{t: t, dir: t.TempDir(), env: env}
	script := musttest.Get(os.ReadFile("testdata/agent.sh"))(t)
	d.write("agent.sh", script)
	for i, name := range []string{"view-1.png", "view-2.png", "view-3.png"} {
		d.write(name, picture(i, 60, 40))
	}
	d.write("notes.txt", []byte("some notes"))
	d.addr = addrtest.Reserve(t)
	d.start()
	t.Cleanup(d.kill)
	return d
}

func (d *daemon) write(name string, content []byte) {
	d.t.Helper()
	musttest.Do(d.t, os.WriteFile(filepath.Join(d.dir, name), content, 0o600))
}

// start begins the daemon again on what it left, and waits until it listens.
func (d *daemon) start() {
	d.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), d.env...), daemonFolder+"="+d.dir, "NANOBOT_PAGE_ADDR="+d.addr)
	cmd.Stderr = os.Stderr
	d.cmd = killtest.Start(d.t, cmd)
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", d.addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			d.t.Fatal(err)
		}
	}
}

// kill ends it as a power cut would.
func (d *daemon) kill() {
	d.cmd.Kill()
}

// link is a one-time link into it.
func (d *daemon) link(role httpd.Role) string { return d.linkAs("", role) }

// linkAs is a one-time link of a user; "": a new one.
func (d *daemon) linkAs(user string, role httpd.Role) string {
	d.t.Helper()
	s := musttest.Get(sqlite.Open(d.t.Context(), filepath.Join(d.dir, "state"), sqlite.Options{Shared: true}))(d.t)
	defer s.Close()
	code := musttest.Get(httpd.Grants{Records: s}.Make(d.t.Context(), user, role))(d.t)
	return "http://" + d.addr + httpd.EnterPath + code
}

// enter opens the page by a link.
func (d *daemon) enter(role httpd.Role) *tab {
	d.t.Helper()
	p := open(d.t, d.link(role))
	p.until("location.pathname === '/' && document.getElementById('text')")
	return p
}

// beDaemon is what the process does until it is killed.
func beDaemon(dir, addr string) error {
	ctx, log, state := context.Background(), zap.NewNop(), filepath.Join(dir, "state")
	t := config.Default().Terminal
	t.Command, t.Protocol, t.Interactive = "sh agent.sh", "rich", true
	runner, err := terminal.NewRunner(terminal.Options{Config: t, Workspace: dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: log})
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, state, sqlite.Options{})
	if err != nil {
		return err
	}
	access, err := httpd.NewAccess(ctx, httpd.Options{Records: store})
	if err != nil {
		return err
	}
	var notifications *push.Options
	if os.Getenv(pushes) != "" {
		notifications = &push.Options{Allow: []string{"127.0.0.1"}, SignedIn: access.Grants().SignedIn}
	}
	ch, err := web.New(web.Options{
		Push: notifications, SignIn: func(r *http.Request) string { return httpd.SignIn(r.Context()) },
		State: filepath.Join(state, "web"), MaxUpload: 1 << 20, Log: log,
		Folder: func(chat string) (*os.Root, error) { return terminal.UserRoot(dir, "web", chat) },
		Requester: func(r *http.Request) (string, bool) {
			id := httpd.IdentityOf(r.Context())
			return id.User, id.Role == httpd.Operator
		},
	})
	if err != nil {
		return err
	}
	agents := map[string]gateway.Agent{"default": {Runner: runner, Progress: "edit"}}
	if os.Getenv(secondAgent) != "" {
		agents["writer"] = agents["default"]
	}
	watch := console.New(store, log)
	g := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{web.Name: ch}, Store: store, MaxConcurrent: 4, Log: log, Events: watch.Observe,
		Settings: gateway.Settings{Agents: agents, WhileRunning: "queue", QueueLimit: 20, OnCrash: "report", DrainTimeout: time.Second},
	})
	mux := http.NewServeMux()
	access.Mount(mux, log)
	_, chat := ch.Mount()
	mux.Handle("/", access.Require(httpd.Chat, chat))
	for _, path := range []string{"/api/turns", "/api/turns/", "/api/undelivered", "/api/schedules", "/api/usage", "/api/health"} {
		mux.Handle(path, access.Require(httpd.Operator, watch.Handler(g)))
	}
	server, err := httpd.Listen(ctx, addr, log)
	if err != nil {
		return err
	}
	var work errgroup.Group
	work.Go(func() error { return server.Run(ctx, httpd.Guard{Listen: addr}.Wrap(mux)) })
	work.Go(func() error { return g.Run(ctx, nil) })
	work.Go(func() error { watch.Run(ctx, ch.Publish); return nil })
	return errors.Join(work.Wait(), io.EOF)
}

func TestTheDaemonShowsProgressAndThenTheAnswer(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.awaitText("#hello", "Say hello")
	p.send("wait for it")
	p.awaitText("#log .mine", "wait for it")
	p.awaitText("#live", "Looking around")
	p.awaitText("#chats a[aria-current]", "wait for it")
	p.awaitHidden("#hello")
	d.write("go", nil)
	p.awaitText("#log .theirs strong", "sunny")
	p.awaitHidden("#live")
	p.awaitText("#say", "sunny") // for those who listen
	p.until("document.activeElement.id === 'text' && !document.getElementById('text').value")
	p.awaitBrief(func() { p.click(".code button") }, ".code button", "Copied")
	wanttest.Equal(t, "got", p.count("#log > li"), 2)
	p.awaitHidden("#views") // which is for operators
}

func TestTheStopButtonStopsTheTurn(t *testing.T) {
	p := newDaemon(t).enter(httpd.Chat)
	p.send("slow work")
	p.awaitText("#live", "Counting slowly")
	p.click("#acts button")
	p.awaitText("#log .theirs", "Stopped")
	p.awaitHidden("#live")
}

func TestAMessageThatWaitsIsShownBesideTheRunningTurnInAllTabs(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Operator)
	p.send("slow work")
	p.awaitText("#live", "Counting slowly")
	p.send("hello")
	other := d.enter(httpd.Operator)
	bothShown := func() {
		t.Helper()
		for _, x := range []*tab{p, other} {
			x.awaitText("#queue", "Queued.")
			x.awaitText("#queue button", "Cancel")
			x.awaitText("#now", "Counting slowly")
			x.awaitText("#acts button", "Stop")
		}
	}
	bothShown()
	d.kill()
	p.awaitText("#line", "Reconnecting")
	d.start()
	for _, x := range []*tab{p, other} {
		x.awaitText("#log .theirs", "Answer to hello")
		x.awaitHidden("#live")
	}
	p.send("slow work")
	p.awaitText("#live", "Counting slowly")
	p.send("cancelled")
	p.send("the last one")
	bothShown()
	p.until("document.querySelectorAll('#queue > li').length === 2")
	other.click("#queue > li:first-child button")
	p.until("document.querySelectorAll('#queue > li').length === 1")
	bothShown()
	other.click("#acts button")
	p.awaitText("#log .theirs", "Stopped")
	p.awaitText("#log .theirs", "Answer to the last one")
	p.awaitHidden("#live")
	wanttest.Equal(t, "answers to the cancelled message:", eval[int](p, "[...document.querySelectorAll('#log .theirs')].filter((e) => e.innerText.includes('Answer to cancelled')).length"), 0)
}

func TestAQuestionIsAnsweredByAButtonInAllTabs(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Operator)
	p.send("ask me")
	p.awaitText(".choices", "Blue")
	other := d.enter(httpd.Operator)
	other.awaitText(".choices", "Red")
	p.click(".choices button:nth-child(2)")
	for _, x := range []*tab{p, other} {
		x.awaitText(".result", "→ Blue (by operator)")
		x.awaitText(".theirs", "Blue it is")
		x.awaitHidden("#log .choices")
	}
	p.do(reload)
	p.awaitText(".result", "→ Blue (by operator)")
}

func TestAQuestionAnsweredByTypingLosesItsButtons(t *testing.T) {
	p := newDaemon(t).enter(httpd.Operator)
	p.send("ask me")
	p.awaitText(".choices", "Blue")
	p.send("2")
	p.awaitText(".theirs", "Blue it is")
	for range 2 {
		p.awaitText(".result", "→ Blue (by operator)")
		p.awaitHidden("#log .choices")
		p.do(reload)
	}
}

func TestAnAlbumIsAGalleryWithALightbox(t *testing.T) {
	p := newDaemon(t).enter(httpd.Chat)
	p.send("album please")
	p.until("document.querySelectorAll('.gallery img').length === 3 && [...document.querySelectorAll('.gallery img')].every(i => i.complete && i.naturalWidth === 60)")
	p.awaitText("a.file[download='notes.txt']", "notes.txt")
	lookAtAlbum(p)
}

func TestUploadedFilesReachTheAgentAndKeepTheirNames(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.awaitText("#hello", "Say hello")
	attachThree(p, d.dir)
	p.send("look at these")
	small, large := len(picture(0, 30, 20)), len(picture(1, 30, 20))
	p.awaitText("#log .theirs", "Sizes: "+itoa(small)+" "+itoa(large)+" 2")
	p.until("document.querySelectorAll('.mine .gallery img').length === 2 && [...document.querySelectorAll('.mine .gallery img')].every(i => i.naturalWidth === 30)")
	p.awaitText(".mine a.file", "pasted.txt")
	p.awaitHidden("#chosen")
	sent, err := filepath.Glob(filepath.Join(d.dir, "users", "*", "*-pasted.txt"))
	if err != nil || len(sent) != 1 || os.Remove(sent[0]) != nil {
		t.Fatalf("saved are %v, %v", sent, err)
	}
	p.do(reload)
	p.awaitText(".mine .missing", "This file was removed or moved after it was sent.")
	p.run(`{const d = new DataTransfer(); d.items.add(new File(['hi'], 'My Übersicht (1).txt', {type: 'text/plain'}));
		document.getElementById('text').dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true, cancelable: true}))}`)
	p.send("return this")
	for _, whose := range []string{".mine", ".theirs"} {
		p.awaitText(whose+" a.file[download='My Übersicht (1).txt']", "My Übersicht (1).txt")
	}
	header := eval[string](p, "fetch([...document.querySelectorAll('.theirs a.file')].at(-1).href).then(r => r.headers.get('Content-Disposition'))")
	if !strings.Contains(header, "%C3%9Cbersicht%20%281%29.txt") {
		t.Errorf("the download is named %s", header)
	}
	p.run(`{const d = new DataTransfer(); d.items.add(new File([new Uint8Array(3 << 20)], 'huge.bin'));
		document.getElementById('text').dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true, cancelable: true}))}`)
	p.send("too much")
	p.awaitText(".stuck .fate", "Not sent: The files of a message may have")
}

func TestEachChatShowsItsOwnMessages(t *testing.T) {
	p := newDaemon(t).enter(httpd.Chat)
	p.send("first")
	p.awaitText(".theirs", "Answer to first")
	one := p.chat()
	p.click("#new")
	p.awaitText("#hello", "Say hello")
	p.send("second")
	p.awaitText(".theirs", "Answer to second")
	p.until("document.querySelectorAll('#chats li').length === 2")
	p.click("#chats a[href='#/c/" + one + "']")
	p.awaitText("#log", "Answer to first")
	if text := innerText(p, "#log"); strings.Contains(text, "second") {
		t.Errorf("one chat shows what is in another: %s", text)
	}
	p.do(reload)
	p.awaitText("#log", "Answer to first")
	p.awaitText("#title", "first")
}

func TestNoMessageIsLostOrDuplicatedWhenTheDaemonIsKilled(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.send("before")
	p.awaitText(".theirs", "Answer to before")
	d.kill()
	p.awaitText("#line", "Reconnecting")
	p.send("during")
	p.awaitText(".stuck", "Not sent yet")
	p.send("and this")
	d.start()
	p.awaitText(".theirs", "Answer to and this")
	p.awaitHidden("#line:not(:empty)")
	p.send("after")
	p.awaitText(".theirs", "Answer to after")
	said := []string{"before", "during", "and this", "after"}
	answered := []string{"Answer to before", "Answer to during", "Answer to and this", "Answer to after"}
	shows(p, ".mine", said...)
	shows(p, ".theirs", answered...)
	p.do(reload)
	p.awaitText(".theirs", "Answer to after")
	shows(p, ".mine", said...)
	shows(p, ".theirs", answered...)
}

func TestATurnInterruptedByAKillCanBeRunAgain(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Chat)
	p.send("wait for it")
	p.awaitText("#live", "Looking around")
	d.kill()
	p.awaitText("#line", "Reconnecting")
	d.start()
	p.awaitText("#log .choices", "un again")
	p.awaitHidden("#live")
	p.click("#log .choices button")
	p.awaitText("#live", "Looking around")
	d.write("go", nil)
	p.awaitText("#log .theirs", "sunny")
	shows(p, ".mine", "wait for it")
}

func TestTheConsoleStopsATurnOfTheDaemonAndRunsItAgain(t *testing.T) {
	d := newDaemon(t)
	p := d.enter(httpd.Operator)
	p.awaitText("#views", "Console")
	p.click("#views a:last-child")
	p.awaitText("#no-turns", "No turns match")
	p.awaitText("#channels .good", "web works")
	person := d.enter(httpd.Chat)
	person.send("slow work")
	p.awaitText("#turns tr", "Running")
	p.awaitText("#turns td:nth-child(2)", "slow work · web") // the title of the chat
	p.until("document.querySelector('#by-chat').lastChild.textContent === 'slow work · web'")
	p.awaitText("#tiles", "Running\n1")
	p.click("#turns a")
	p.awaitText(".story", "Counting slowly")
	p.awaitText(".lines", "began to count")
	p.click("#turn .stop")
	p.awaitText(".story", "Stopped, by SIGTERM")
	p.awaitText("#turn pre", "one line of stderr")
	p.awaitText("#turns tr", "Stopped")
	person.awaitText("#log", "Stopped")
	p.click("#turn .retry")
	p.awaitText(".story", "Running, attempt 2")
	person.awaitText("#live", "Counting slowly")
	p.click("#turn .stop")
	p.awaitText("#turns tr", "Stopped")
}

func TestScriptsInAnAgentsAnswerDoNotRun(t *testing.T) {
	p := newDaemon(t).enter(httpd.Chat)
	p.send("evil plans")
	p.awaitText("#log .theirs", "onerror=window.hacked=1")
	p.run("document.querySelectorAll('#log .theirs *').forEach(e => e.click?.())")
	if p.count("#log script, #log img, #log [onclick], #log a[href^=javascript]") > 0 || eval[bool](p, "'hacked' in window") {
		t.Errorf("the agent's script came through: %s", eval[string](p, "document.querySelector('#log .theirs').outerHTML"))
	}
}

// TestWhatAPersonHasBegunInTwoBrowsersIsDoneAfterARestart kills the daemon twice, while the page
// waits for the person: for a name, a result of a search to be chosen, and the end of a voice
// note; and then while the person runs a message again and chooses an agent.
func TestWhatAPersonHasBegunInTwoBrowsersIsDoneAfterARestart(t *testing.T) {
	d := newDaemon(t, secondAgent+"=1")
	p, other := device{1280, "mouse"}.use(t, d.linkAs("ann", httpd.Chat)), device{320, "touch"}.use(t, d.linkAs("ann", httpd.Chat))
	p.awaitText("#hello", "Say hello")
	p.send("first")
	p.awaitText("#log .theirs", "Answer to first")
	other.run("location.hash = '#/c/" + p.chat() + "'")
	other.awaitText("#log .theirs", "Answer to first")
	restart := func(whileDown func()) {
		t.Helper()
		d.kill()
		p.awaitText("#line", "Reconnecting")
		other.awaitText("#line", "Reconnecting")
		whileDown()
		d.start()
		p.awaitHidden("#line:not(:empty)")
		other.awaitHidden("#line:not(:empty)")
	}

	p.choose("#search")
	p.do(chromedp.KeyEvent("first"))
	p.awaitText("#found mark", "first")
	p.choose("#me")
	p.until("document.activeElement.matches('dialog input')")
	p.do(chromedp.KeyEvent("Ann Lee"))
	other.choose("#theme")
	other.choose("#theme")
	other.choose("#record")
	other.until("/^[1-9].* (s|min)/.test(document.getElementById('recorded').innerText)")
	restart(func() {
		other.choose("#keep")
		other.awaitText(".stuck .file, .stuck .chosen", "voice.")
	})
	p.enter(chromedp.ModifierNone)
	p.awaitText("#me", "Your name: Ann Lee")
	p.choose("#found li:has(p) a")
	p.awaitText("#log .hit", "first")
	for _, x := range []person{p, other} {
		x.until("document.querySelector('.mine audio')?.readyState > 0 && document.querySelectorAll('.mine').length === 2")
	}

	p.send("second")
	p.awaitText("#log .theirs", "Answer to second")
	p.awaitText("#agent", "default")
	other.awaitText("#log .theirs", "Answer to second")
	restart(func() {
		p.choose("#log [aria-label='Run again']")
		p.awaitText(".stuck", "Not sent yet")
		p.run("{ const a = document.getElementById('agent'); a.value = 'writer'; a.dispatchEvent(new Event('change')) }")
	})
	for _, x := range []person{p, other} {
		x.until("[...document.querySelectorAll('#log .theirs')].filter((e) => e.innerText.includes('Answer to second')).length === 2")
		x.until("document.getElementById('agent').value === 'writer'")
		x.do(reload)
		x.until("document.getElementById('agent').value === 'writer' && document.querySelector('.mine audio')")
		x.until("document.getElementById('me').textContent === 'Your name: Ann Lee'")
	}
	wanttest.Equal(t, "themes", eval[string](p.tab, "document.documentElement.dataset.theme")+" "+eval[string](other.tab, "document.documentElement.dataset.theme"), "system dark")
	files := eval[string](other.tab, "fetch('api/chats/' + location.hash.split('/')[2] + '/export').then((r) => r.text()).then((zip) => String(zip.match(/voice\\.\\w+/)))")
	if !strings.HasPrefix(files, "voice.") {
		t.Errorf("the export has %s", files)
	}
}
