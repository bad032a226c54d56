package page_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"nanobot/internal/musttest"
)

// TestShots takes pictures of the page for people to look at, into the folder that NANOBOT_SHOTS
// names.
func TestShots(t *testing.T) {
	into := os.Getenv("NANOBOT_SHOTS")
	if into == "" {
		t.Skip("NANOBOT_SHOTS names no folder to put pictures into")
	}
	f := newFake(t)
	scene(f)
	shootScene(british(t, f), into)
	german := filepath.Join(into, "de")
	musttest.Do(t, os.MkdirAll(german, 0o700))
	shootScene(openGerman(t, f.url()), german)
}

// shootScene takes pictures of all views.
func shootScene(p *tab, into string) {
	for _, theme := range []string{"light", "dark"} {
		for screen, width := range map[string]int64{"phone": 390, "desktop": 1280} {
			p.size(width, map[string]int64{"phone": 844, "desktop": 800}[screen])
			p.media(theme)
			show := func(name, first, ready string) {
				p.run(first)
				p.until(ready)
				shoot(p, filepath.Join(into, name+"-"+theme+"-"+screen+".png"))
			}
			show("chat", "location.hash = '#/c/trip'", "document.querySelectorAll('#log > li').length > 8 && !document.getElementById('live').hidden")
			show("chat-top", "document.getElementById('scroll').scrollTop = 0", "true")
			show("lightbox", "document.querySelector('.gallery button').click()", "document.getElementById('large').complete")
			p.run("document.getElementById('lightbox').close()")
			show("trouble", "location.hash = '#/c/log'", "document.querySelectorAll('#log > li').length > 3")
			show("board", "location.hash = '#/c/tests'", "document.querySelector('#log video') && !document.getElementById('live').hidden")
			show("board-unfolded", "document.querySelector('details').open = true; document.getElementById('scroll').scrollTop = 0", "true")
			show("hello", "location.hash = '#/new'", "document.getElementById('hello').checkVisibility()")
			show("console", "location.hash = '#/console'", "document.querySelectorAll('#turns tr').length > 5 && !document.activeElement.blur()")
			show("turn", "location.hash = '#/console/41'", "document.querySelectorAll('.story li').length > 5")
			if screen == "phone" {
				show("menu", "location.hash = '#/c/trip'", "document.querySelectorAll('#log > li').length > 8")
				show("menu", "document.getElementById('menu').click()", "document.body.classList.contains('menu')")
				p.run("document.getElementById('menu').click()")
			}
		}
	}
}

// TestSignedOutShots takes pictures of it.
func TestSignedOutShots(t *testing.T) {
	into := os.Getenv("NANOBOT_SHOTS")
	if into == "" {
		t.Skip("NANOBOT_SHOTS names no folder to put pictures into")
	}
	d := newDaemon(t)
	shootSignedOut(open(t, "http://"+d.addr+"/"), filepath.Join(into, "signed-out"), "You are signed out")
	shootSignedOut(openGerman(t, "http://"+d.addr+"/"), filepath.Join(into, "signed-out-de"), "Du bist abgemeldet")
}

func shootSignedOut(p *tab, into, title string) {
	for _, theme := range []string{"light", "dark"} {
		for screen, width := range map[string]int64{"phone": 390, "desktop": 1280} {
			p.size(width, 844)
			p.media(theme)
			p.awaitText("main", title)
			shoot(p, into+"-"+theme+"-"+screen+".png")
		}
	}
}

// TestTheReadmesPicture takes the picture that the README shows.
func TestTheReadmesPicture(t *testing.T) {
	into := os.Getenv("NANOBOT_SHOTS")
	if into == "" {
		t.Skip("NANOBOT_SHOTS names no folder to put pictures into")
	}
	f := newFake(t)
	now := time.Now()
	ago := func(d time.Duration) obj { return obj{"time": now.Add(-d)} }
	me := func(chat, text string, d time.Duration) {
		f.locked(func() {
			if f.chats[chat] == "" {
				f.chats[chat] = text
			}
			f.append(with(obj{"event": "message", "chat": chat, "from": "user", "kind": "message", "text": text}, ago(d)))
		})
	}
	me("disk", "Is the disk full again?", 26*time.Hour)
	me("log", "Summarise last night's log", 3*time.Hour)
	me("hike", "Draw Saturday's hike", 5*time.Minute)
	var album []obj
	for i, name := range []string{"morning.png", "noon.png", "evening.png"} {
		album = append(album, f.keep(name, "image/png", picture(i, 480, 360)))
	}
	album = append(album, f.keep("ulriken-loop.gpx", "application/gpx+xml", make([]byte, 48213)))
	f.say("hike", "Three views from the way, **morning to evening**, and the track for your watch.", with(ago(4*time.Minute), obj{"media": album}))
	me("hike", "Book the hut, and check the weather", 2*time.Minute)
	f.say("hike", "There are two beds left in the small room. Shall I take them?", with(ago(time.Minute), obj{"buttons": []obj{{"label": "Yes, both", "data": "answer:q:1", "role": "answer"}, {"label": "Ask again tomorrow", "data": "answer:q:2", "role": "answer"}}}))
	f.progress("hike", "p", "Asking three forecasts, 2 of 3 done", now.Add(-14*time.Second))
	p := british(t, f)
	p.size(1120, 910)
	p.awaitText("#live", "Asking")
	shoot(p, filepath.Join(into, "readme.png"))
}

// TestTheManualsPictureOfDev takes the picture that docs/kit.md shows.
func TestTheManualsPictureOfDev(t *testing.T) {
	into := os.Getenv("NANOBOT_SHOTS")
	if into == "" {
		t.Skip("NANOBOT_SHOTS names no folder to put pictures into")
	}
	f, _, _ := newDevFake(t, strings.Join([]string{
		`{"type":"cassette","version":1,"agent":"default","protocol":"rich","config":{},"nanobot":"v1.0.0"}`,
		`{"at":0,"type":"envelope","envelope":{"text":"Count the logs","user":{"name":"ann"},"chat_id":"web-1"}}`,
		`{"at":21,"type":"frame","frame":{"type":"progress","text":"Reading 3 files"}}`,
		`{"at":142,"type":"frame","frame":{"type":"message","text":"**3 files**, 1,204 lines"}}`,
		`{"at":150,"type":"exit","exit":{"status":"done","code":0}}`,
		`{"at":158,"type":"send","send":{"id":"3","kind":"message","text":"3 files, 1,204 lines"}}`,
		`{"at":160,"type":"receipt","receipt":{"id":"3","message_id":"m7","state":"sent"}}`,
	}, "\n")+"\n")
	f.locked(func() {
		f.chats["c1"] = "Count the logs"
		f.append(obj{"event": "message", "chat": "c1", "from": "user", "kind": "message", "text": "Count the logs"})
	})
	f.say("c1", "**3 files**, 1,204 lines", nil)
	p := british(t, f)
	p.size(1120, 440)
	p.run("location.hash = '#/c/c1'")
	p.awaitText("#dev li:last-child", "receipt")
	shoot(p, filepath.Join(into, "dev.png"))
}

// british opens the page with British times.
func british(t *testing.T, f *fake) *tab {
	p := open(t, f.url())
	must(p, emulation.SetLocaleOverrideParams{Locale: "en_GB"}, func(ctx context.Context, v emulation.SetLocaleOverrideParams) error {
		_, err := chromedp.Call(ctx, emulation.SetLocaleOverride, v)
		return err
	})
	p.do(reload)
	return p
}

func shoot(p *tab, file string) {
	p.t.Helper()
	p.do(chromedp.Sleep(300 * time.Millisecond)) // for pictures and scrolling
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, png, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// scene is a conversation and a console as they may look on a good day.
func scene(f *fake) {
	now := time.Now()
	ago := func(d time.Duration) obj { return obj{"time": now.Add(-d)} }
	me := func(chat, text string, d time.Duration, extra obj) {
		f.locked(func() {
			if f.chats[chat] == "" {
				f.chats[chat] = text
			}
			f.append(with(with(obj{"event": "message", "chat": chat, "from": "user", "kind": "message", "text": text}, ago(d)), extra))
		})
	}
	me("disk", "Is the disk full again?", 26*time.Hour, nil)
	f.say("disk", "`/var` is at **71 %**. Nothing to do.", ago(26*time.Hour))
	me("log", "Summarise last night's error log", 3*time.Hour, nil)
	f.say("log", "Quiet: 3 warnings, no errors.", ago(3*time.Hour))
	f.say("log", "Error (E_QUOTA): the log service refused the question 3 times", with(ago(2*time.Hour), obj{"kind": "error"}))
	f.say("log", "Here is a voice note instead.", with(ago(2*time.Hour), obj{"media": []obj{f.keep("summary.ogg", "audio/ogg", nil)}, "buttons": []obj{{"label": "Again", "data": "1"}}, "pressed": "1"}))
	me("trip", "Plan a weekend hike near Bergen for two, please", 14*time.Minute, nil)
	f.say("trip", "## Two days around Ulriken\n\nA calm loop with one night in a hut. It stays **below 650 m**, so early October is fine.\n\n"+
		"| Day | From | To | Hours |\n| --- | --- | --- | --- |\n| Sat | Montana | Turnerhytten | 4½ |\n| Sun | Turnerhytten | Fløyen | 5 |\n\n"+
		"1. Bring rain clothes, it *is* Bergen.\n2. Water is everywhere above the tree line.", ago(13*time.Minute))
	me("trip", "Show me what it looks like", 9*time.Minute, nil)
	var album []obj
	for i, name := range []string{"ulriken.png", "hut.png", "floyen.png"} {
		album = append(album, f.keep(name, "image/png", picture(i, 480, 360)))
	}
	f.say("trip", "Three views from the way, morning to evening.", with(ago(8*time.Minute), obj{"media": album}))
	f.say("trip", "The track for your watch:", with(ago(8*time.Minute), obj{"media": []obj{f.keep("ulriken-loop.gpx", "application/gpx+xml", make([]byte, 48213))}}))
	me("trip", "How do I load it onto the watch?", 4*time.Minute, nil)
	f.say("trip", "Connect it by cable, then:\n\n```sh\ncp ulriken-loop.gpx /media/$USER/GARMIN/NewFiles/\nsync && udisksctl unmount -b /dev/sdb1\n```\n\nIt appears under *Courses* after the next start.", ago(4*time.Minute))
	me("trip", "Book the hut for Saturday", 2*time.Minute, nil)
	f.say("trip", "There are two beds left in the small room. Shall I take them?", with(ago(2*time.Minute), obj{"buttons": []obj{{"label": "Yes, book both", "data": "answer:q:1", "role": "answer"}, {"label": "Ask again tomorrow", "data": "answer:q:2", "role": "answer"}}}))
	me("trip", "And check the weather, too", 20*time.Second, nil)
	f.progress("trip", "p1", "Asking three forecasts, 2 of 3 done…", now.Add(-14*time.Second))
	me("tests", "Make the tests pass", 5*time.Minute, nil)
	f.say("tests", "✓ 20 steps", with(ago(4*time.Minute), obj{"html": "<p>✓ 20 steps · 3 min · 4 files · $0.12</p><details><summary>Details</summary>" +
		"<p>✏️ 2 files changed, +2 −2</p><pre><code class=\"language-diff\">--- a/walk.go\n+++ b/walk.go\n@@ -1 +1 @@\n-old\n+new\n</code></pre><p>📖 walk.go ✓<br>💻 go test ./... ✓</p></details>"}))
	f.say("tests", "All tests pass now.", ago(3*time.Minute))
	film := musttest.Get(os.ReadFile("../testdata/videos/portrait.webm"))(f.t)
	me("tests", "Record what the page does", 2*time.Minute, nil)
	recorded := f.keep("The page, recorded.webm", "video/webm", film)
	recorded["width"], recorded["height"] = 64, 96
	f.say("tests", "A film of the page:", with(ago(time.Minute), obj{"media": []obj{recorded}}))
	me("tests", "And measure it", 30*time.Second, nil)
	f.progress("tests", "p2", "⏳ … 7 earlier steps<br>📖 walk.go ✓<br>💻 go test ./... …<br>step 9 · 41 s", now.Add(-41*time.Second))
	board(f, now)
}

func board(f *fake, now time.Time) {
	words := []string{
		"Plan a weekend hike near Bergen for two, please", "Show me what it looks like", "Is the disk full again?", "Restart the staging database",
		"Summarise last night's error log", "translate the attached letter", "/report weekly", "What changed in the last release?",
	}
	chats := []string{"web:trip", "telegram:4711", "discord:90210", "telegram:815"}
	titles := []string{"Plan a weekend hike near Bergen for two, please", "Operations", "#staging", "Ada Lovelace"}
	states := []string{"done", "done", "done", "failed", "done", "done", "timeout", "done", "stopped", "done"}
	for i := 1; i <= 40; i++ {
		at := now.Add(-time.Duration(41-i)*75*time.Second - time.Duration(i*i%17)*time.Second)
		wait := time.Duration(i*i*37%1900) * time.Millisecond
		if i > 18 && i < 26 {
			wait += time.Duration(26-i) * 25 * time.Second
		}
		took := time.Duration(math10(i)) * time.Millisecond
		t := obj{
			"id": i, "chat": chats[i%4], "title": titles[i%4], "user": obj{"id": "u", "name": "Ada"}, "text": words[i%8], "state": "done", "status": states[i%10],
			"attempt": 1, "received": at, "started": at.Add(wait), "ended": at.Add(wait + took), "sends": obj{"sent": 1 + i%3},
		}
		if t["status"] == "failed" {
			t["exit_code"] = 1
		}
		f.turn(t)
	}
	start := now.Add(-14 * time.Second)
	f.turn(obj{
		"id": 41, "chat": "web:trip", "title": titles[0], "user": obj{"id": "u", "name": "Ada"}, "text": "And check the weather, too", "state": "running", "attempt": 1,
		"received": start.Add(-900 * time.Millisecond), "started": start, "sends": obj{"sent": 1},
	})
	f.turn(obj{"id": 42, "chat": "web:trip", "title": titles[0], "user": obj{"id": "u", "name": "Ada"}, "text": "and the bus timetable", "state": "pending", "attempt": 0, "received": now.Add(-5 * time.Second), "sends": obj{}})
	after := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	f.details[41] = obj{
		"frames": []obj{
			{"time": after(0.2), "kind": "log", "level": "info", "text": "cache miss for 60.37,5.34"},
			{"time": after(0.4), "kind": "progress", "text": "Asking three forecasts…"},
			{"time": after(2.1), "kind": "progress", "text": "Asking three forecasts, 1 of 3 done…"},
			{"time": after(2.3), "kind": "message", "text": "Yr says: dry until Saturday evening."},
			{"time": after(6.4), "kind": "log", "level": "warning", "text": "storm.no is slow (4.1 s), retrying"},
			{"time": after(9.8), "kind": "progress", "text": "Asking three forecasts, 2 of 3 done…"},
		},
		"parts":  []obj{{"id": 1, "state": "sent", "tries": 1, "queued": after(2.31), "text": "Yr says: dry until Saturday evening."}},
		"stderr": "warning: TZ is not set, using UTC\n",
	}
	f.locked(func() {
		f.health = obj{"ok": false, "running": 1, "waiting": 1, "channels": obj{
			"web": obj{"ok": true, "since": now.Add(-9 * time.Hour)}, "telegram": obj{"ok": true, "since": now.Add(-9 * time.Hour)},
			"discord": obj{"ok": false, "since": now.Add(-4 * time.Minute), "error": "gateway closed the connection (4000), reconnecting"},
		}}
		used := obj{"turns": 21, "seconds": 412, "input_tokens": 184_200, "output_tokens": 20_950, "cost": 1.37}
		f.usage = map[string][]obj{"user 24h": {with(used, obj{"user": "telegram:4711"}), with(used, obj{"user": "discord:90210", "turns": 9, "seconds": 96, "input_tokens": 40_310, "cost": 0.42})}}
		f.lost = []obj{{"id": 9, "chat": "discord:90210", "turn": 38, "state": "pending", "tries": 3, "error": "try again in 8 s: 502 Bad Gateway", "queued": now.Add(-3 * time.Minute), "text": "Nothing changed but the docs."}}
	})
}

// math10 spreads durations over three powers of ten.
func math10(i int) int {
	return []int{180, 900, 2400, 310, 5200, 14000, 760, 1300, 42000, 450, 220}[i%11] * (10 + i%7) / 10
}
