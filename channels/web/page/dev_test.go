package page_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"nanobot/channels/web/page"
	"nanobot/cmd/nanobot/dev"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

const recordedTurn = `{"type":"cassette","version":1,"agent":"default","protocol":"rich","config":{},"nanobot":"test"}
{"at":0,"type":"envelope","envelope":{"text":"hello","chat_id":"web-1"}}
{"at":12,"type":"frame","frame":{"type":"progress","text":"Looking around"}}
{"at":140,"type":"frame","frame":{"type":"message","text":"A <b>first</b> answer"}}
`

const recordedEnd = `{"at":150,"type":"exit","exit":{"status":"done","code":0}}
{"at":160,"type":"send","send":{"id":"3","kind":"message","text":"A first answer"}}
{"at":170,"type":"receipt","receipt":{"id":"3","message_id":"m7","state":"sent"}}
`

// newDevFake returns a fake with the panel of nanobot dev, and the folders that it reads from and
// saves to.
// There is a note about the turn with these lines.
func newDevFake(t *testing.T, lines string) (f *fake, recorded, tests string) {
	t.Helper()
	f = newFake(t)
	recorded, tests = t.TempDir(), filepath.Join(t.TempDir(), "tests")
	panel := &dev.Page{Folder: recorded, Tests: tests, Replay: "nanobot replay", Words: f.words, Log: zap.NewNop()}
	if lines != "" {
		record(t, recorded, "1-a", lines)
	}
	panel.SetNote(words.NewError(words.DevFiles, "agent.py", 1))
	mux := http.NewServeMux()
	for pattern, h := range panel.Handlers() {
		mux.Handle(pattern, h)
	}
	mux.Handle("/", f.handler())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		document, err := page.Document(f.words.For(r.Header.Get("Accept-Language")), page.Bot{Dev: true})
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, document)
	})
	f.serve(mux)
	return f, recorded, tests
}

// record appends to a cassette.
func record(t *testing.T, folder, name, lines string) {
	t.Helper()
	file := musttest.Get(os.OpenFile(filepath.Join(folder, name+".nbt.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
	musttest.Get(file.WriteString(lines))(t)
	musttest.Do(t, file.Close())
}

// saveByKey presses Ctrl+S.
func (p *tab) saveByKey() {
	p.t.Helper()
	p.run("dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true, cancelable: true }))")
}

func TestTheDevPanelShowsTheLastTurnLiveAndSavesIt(t *testing.T) {
	f, recorded, tests := newDevFake(t, "")
	f.locked(func() { f.chats["c1"] = "Hello" })
	f.say("c1", "A first answer", nil)
	p := open(t, f.url()+"#/c/c1")
	p.awaitText("#dev", "Send a message.")
	p.awaitText("#dev", "agent.py has changed")
	record(t, recorded, "1-a", recordedTurn)
	p.awaitText("#dev li:nth-child(4)", "A <b>first</b> answer")
	p.awaitText("#dev li:nth-child(3)", "+12 ms")
	p.awaitText("#dev li:nth-child(2)", "envelope")
	p.until("!document.getElementById('dev').innerText.includes('agent.py')") // which was before the turn
	p.click("#dev li:nth-child(2) summary")
	p.awaitText("#dev li:nth-child(2) pre", `"chat_id": "web-1"`)

	name := func(text string) {
		t.Helper()
		p.until("document.activeElement.matches('dialog input')")
		p.do(chromedp.KeyEvent(text))
		p.enter(0)
	}
	p.saveByKey()
	name("early")
	p.awaitText("#dev [role=status]", "The turn has not ended.")
	record(t, recorded, "1-a", recordedEnd)
	p.awaitText("#dev li:last-child", "receipt sent m7")
	p.click("#dev header button")
	name("one")
	path := filepath.Join(tests, "one.nbt.jsonl")
	p.awaitText("#dev", "nanobot replay "+path)
	wanttest.Equal(t, "saved", string(musttest.Get(os.ReadFile(path))(t)), recordedTurn+recordedEnd)
	p.saveByKey()
	name("one")
	p.awaitText("dialog", "There is a test one already.")
	name("../two")
	p.awaitText("dialog", "A name has up to 60 letters")
	name("two")
	p.awaitText("#dev", filepath.Join(tests, "two.nbt.jsonl"))

	record(t, recorded, "3-c", strings.NewReplacer(`"default"`, `"writer"`, "Looking", "Writing").Replace(recordedTurn)+recordedEnd)
	p.awaitText("#dev li:nth-child(3)", "Writing around")
	p.saveByKey()
	name("three")
	p.awaitText("#dev", "nanobot replay --agent writer "+filepath.Join(tests, "three.nbt.jsonl"))
	record(t, recorded, "2-b", recordedTurn)
	record(t, recorded, "2-b", strings.Repeat(`{"at":200,"type":"frame","frame":{"type":"log","text":"`+strings.Repeat("x", 1000)+"\"}}\n", 400))
	p.awaitText("#dev", "more are in the file 2-b.")
	if n := p.count("#dev li"); n < 200 || n > 260 {
		t.Errorf("%d lines are shown", n)
	}
}

func TestTheDevPanelFitsTheScreenAndIsAccessible(t *testing.T) {
	f, _, _ := newDevFake(t, recordedTurn+recordedEnd)
	f.locked(func() { f.chats["c1"] = "Hello" })
	f.say("c1", "A first answer", nil)
	p := open(t, f.url()+"#/c/c1")
	german := openGerman(t, f.url()+"#/c/c1")
	german.awaitText("#dev h2", "Letzter Durchgang")
	german.awaitText("#dev", "hat sich geändert")
	into := os.Getenv("NANOBOT_SHOTS")
	for name, width := range map[string]int64{"phone": 390, "desktop": 1280} {
		p.size(width, 844)
		p.awaitText("#dev li:last-child", "receipt")
		below := eval[bool](p, "document.getElementById('dev').getBoundingClientRect().top >= document.getElementById('main').getBoundingClientRect().bottom - 1")
		wanttest.Equal(t, name+": below the chat", below, name == "phone")
		wanttest.Equal(t, name+": wider than the screen", eval[bool](p, "document.documentElement.scrollWidth > innerWidth"), false)
		wanttest.Equal(t, name+": higher than the screen", eval[bool](p, "document.documentElement.scrollHeight > innerHeight"), false)
		checkAccess(t, p, name)
		if into != "" {
			shoot(p, filepath.Join(into, "dev-"+name+".png"))
		}
	}
}

func TestOnlyDevHasThePanelAndItsTexts(t *testing.T) {
	t.Parallel()
	document := func(b page.Bot) string { return musttest.Get(page.Document(words.Words{}, b))(t) }
	if strings.Contains(document(page.Bot{}), "dev/") || strings.Contains(document(page.Bot{}), "devTitle") {
		t.Error("the page without dev has it")
	}
	script := musttest.Get(page.DevFiles.ReadFile("dev/dev.js"))(t)
	var missing []string
	used := regexp.MustCompile(`\btext\('(\w+)'`).FindAllStringSubmatch(string(script), -1)
	for _, call := range used {
		if !strings.Contains(document(page.Bot{Dev: true}), `"`+call[1]+`":`) {
			missing = append(missing, call[1])
		}
	}
	if slices.Sort(missing); len(missing) > 0 || len(used) < 7 {
		t.Errorf("missing are %q of %d", missing, len(used))
	}
}
