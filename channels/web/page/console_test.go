package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheConsoleShowsTurnsLiveAndLetsThemBeStoppedAndRetried(t *testing.T) {
	f := newFake(t)
	scene(f)
	due := time.Now().Add(-time.Hour)
	f.schedules = []obj{{"name": "weekly", "next": due.Add(2 * time.Hour), "timezone": "UTC", "occurrences": []obj{
		{"due": due, "outcome": "skipped", "reason": "the previous occurrence is still running"},
	}}, {"name": "once", "next": nil, "timezone": "UTC", "occurrences": []obj{}}}
	used := obj{"turns": 12, "seconds": 75, "input_tokens": 1200, "output_tokens": 34, "cost": 0.25}
	f.usage = map[string][]obj{
		"user 24h":  {with(used, obj{"user": "web:u"}), {"user": "", "turns": 1, "seconds": 2, "input_tokens": 0, "output_tokens": 0, "cost": 0}},
		"chat 24h":  {with(used, obj{"chat": "web:trip"})},
		"chat 720h": {},
	}
	p := open(t, f.url()+"#/console")
	p.awaitText("#usage li:first-child", "web:u")
	p.awaitText("#usage li:first-child", "12 turns · 1 min 15 s · 1,234 tokens · $0.25")
	p.awaitText("#usage li:last-child", "nobody")
	p.run(choosing("usage-by", "chat"))
	p.awaitText("#usage li:last-child", "12 turns")
	p.run(choosing("usage-last", "720h"))
	p.awaitText("#usage li", "No turn has ended.")
	p.awaitText("#turns tr:first-child", "and the bus timetable")
	p.awaitText("#schedules li", "weekly")
	p.awaitText("#schedules li", "next ")
	p.awaitText("#schedules small", "skipped: the previous occurrence is still running")
	p.awaitText("#schedules li:last-child", "not again")
	p.awaitText("#tiles", "Undelivered")
	p.awaitText("#channels .bad", "discord is down: gateway closed the connection")
	p.awaitText("#undelivered", "502 Bad Gateway")
	p.until("document.querySelectorAll('#depth rect').length > 10 && document.querySelectorAll('#took circle').length > 10 && document.querySelectorAll('#took path').length > 5")

	at := time.Now()
	turn := obj{"id": 50, "chat": "web:trip", "agent": "coder", "user": obj{"id": "u"}, "text": "brand new", "state": "pending", "attempt": 0, "received": at, "sends": obj{}}
	f.turn(turn)
	p.awaitText("#turns tr:first-child", "Waiting")
	f.turn(with(turn, obj{"state": "running", "attempt": 1, "started": at}))
	p.awaitText("#turns tr:first-child", "Running")
	p.click("#turns tr:first-child a")
	p.awaitText("#turn h2", "Turn 50 Running")
	p.click("#turn .stop")
	f.awaitAction(t, "stop 50")
	f.locked(func() {
		f.details[50] = obj{
			"frames": []obj{{"time": at, "kind": "message", "text": "so far"}, {"time": at, "kind": "log", "level": "error", "text": "out of paper"}},
			"parts":  []obj{{"id": 1, "state": "failed", "tries": 2, "error": "blocked by the user", "queued": at, "text": "so far"}}, "stderr": "oh no\n",
			"cpu": 1.25, "memory": 48_300_000, "cassette": true,
		}
	})
	f.turn(with(turn, obj{"state": "done", "status": "stopped", "signal": "SIGTERM", "attempt": 1, "started": at, "ended": at.Add(3 * time.Second)}))
	p.awaitText(".story", "Stopped, by SIGTERM")
	p.awaitText(".story", "Not sent, 2 tries: blocked by the user")
	p.awaitText(".lines", "out of paper")
	p.awaitText("#turn pre", "oh no")
	p.awaitText("#turn dl", "1.3 s")
	p.awaitText("#turn dl", "48.3 MB")
	p.awaitText("#turn dl", "coder")
	p.awaitText("#turns tr:first-child", "Stopped")
	p.awaitText("#turns tr:first-child", "3.0 s")
	p.awaitHidden("#turn .stop")
	p.awaitText("#turn .save[download][href='api/turns/50/cassette']", "Save as test")
	p.click("#turn .retry")
	f.awaitAction(t, "retry 50")
	p.click("#turn header a.icon")
	p.awaitHidden("#turn")
}

// choosing is the script that chooses from a list.
func choosing(id, value string) string {
	return fmt.Sprintf("{const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event('change'))}", id, value)
}

func TestTheConsoleIsFilteredByChatAndOutcome(t *testing.T) {
	f := newFake(t)
	scene(f)
	p := open(t, f.url()+"#/console")
	p.awaitText("#turns", "and the bus timetable")
	choose := func(id, value string) { p.run(choosing(id, value)) }
	choose("by-outcome", "timeout")
	p.until("[...document.querySelectorAll('#turns tr')].length === 4 && [...document.querySelectorAll('#turns tr')].every(r => r.innerText.includes('Timed out'))")
	choose("by-chat", "telegram:815")
	p.awaitHidden("#turns tr:nth-child(3)")
	f.turn(obj{"id": 60, "chat": "web:trip", "user": obj{"id": "u"}, "text": "not wanted", "state": "running", "attempt": 1, "received": time.Now(), "started": time.Now(), "sends": obj{}})
	f.turn(obj{"id": 61, "chat": "telegram:815", "user": obj{"id": "u"}, "text": "wanted", "state": "done", "status": "timeout", "attempt": 1, "received": time.Now(), "started": time.Now(), "ended": time.Now(), "sends": obj{}})
	p.awaitText("#turns tr:first-child", "wanted")
	if p.count("#turns tr td a[href='#/console/60']") > 0 {
		t.Error("a turn is listed that was filtered out")
	}
}

func TestTheConsoleNamesTheMemberThatHasTheStepsOfATurn(t *testing.T) {
	f := newFake(t)
	f.turn(with(aTurn(60, ""), obj{"state": "running", "ended": nil, "member": "host-b", "elsewhere": true}))
	p := open(t, f.url()+"#/console/60")
	p.awaitText("#turn dl", "host-b")
	p.awaitText("#turn .story", "Its steps are on host-b until it ends")
}

func TestTheConsoleShowsMessagesThatGotNoTurn(t *testing.T) {
	f := newFake(t)
	f.turn(with(aTurn(60, ""), obj{"status": "revoked"}))
	f.turn(with(aTurn(61, ""), obj{"status": "read"}))
	p := open(t, f.url()+"#/console")
	p.awaitText("#turns tr:first-child", "Done")
	p.awaitText("#turns tr:last-child", "Stopped")
}

func with(o, more obj) obj {
	n := obj{}
	for _, m := range []obj{o, more} {
		for k, v := range m {
			n[k] = v
		}
	}
	return n
}

func (f *fake) awaitAction(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		found := false
		f.locked(func() { found = slices.Contains(f.acted, what) })
		if found {
			return
		}
	}
	t.Fatalf("nobody asked to %s", what)
}

// many adds turns of two chats, of which nobody is told.
func many(f *fake, from, to int) {
	f.locked(func() {
		for id := from; id <= to; id++ {
			f.note(aTurn(id, "done"))
		}
	})
}

func aTurn(id int, status string) obj {
	at := time.Now().Add(time.Duration(id-1000) * time.Second)
	return obj{
		"id": id, "chat": []string{"web:even", "web:odd"}[id%2], "user": obj{"id": "u"}, "text": fmt.Sprintf("turn %d.", id), "state": "done", "status": status,
		"attempt": 1, "received": at, "started": at, "ended": at, "sends": obj{},
	}
}

// lists waits until just these turns are listed: every step-th, from the newest to the oldest.
func (p *tab) lists(newest, oldest, step int) {
	p.t.Helper()
	var want []string
	for id := newest; id >= oldest; id -= step {
		want = append(want, fmt.Sprintf("turn %d.", id))
	}
	p.until("[...document.querySelectorAll('#turns a')].map(a => a.textContent).join() === '" + strings.Join(want, ",") + "'")
}

func TestListedTurnsAreUpdatedAfterAReloadOrReconnect(t *testing.T) {
	f := newFake(t)
	many(f, 1, 900)
	p := open(t, f.url()+"#/console/350")
	p.lists(900, 701, 1)
	p.awaitText("#turn h2", "Done")
	p.run(choosing("by-chat", "web:even"))
	p.lists(900, 502, 2)
	p.run("document.getElementById('more').click()")
	p.lists(900, 102, 2)

	f.locked(func() {
		f.note(aTurn(350, "timeout"))
		f.note(aTurn(899, "failed"))
	})
	many(f, 901, 1000)
	f.locked(func() { f.publish(obj{"event": "reload"}) })
	p.lists(1000, 2, 2) // a page more than was listed, since new ones came
	p.awaitText("#turns tr:has([href$='/350'])", "Timed out")
	p.awaitText("#turn h2", "Timed out")
	p.until("document.getElementById('by-chat').value === 'web:even'")
	p.awaitText("#tiles .problem", "Failed, last hour") // which is in the other chat
	p.awaitHidden("#more")

	f.stop()
	p.awaitText("#line", "Reconnecting")
	f.locked(func() { f.note(aTurn(350, "stopped")) })
	many(f, 1001, 1002)
	f.start(f.addr)
	p.lists(1002, 2, 2)
	p.awaitText("#turns tr:has([href$='/350'])", "Stopped")
	p.awaitText("#turn h2", "Stopped")
}

func TestAnOldTurnThatRunsAgainLeavesNoGapInTheList(t *testing.T) {
	f := newFake(t)
	many(f, 1, 450)
	p := open(t, f.url()+"#/console")
	p.lists(450, 251, 1)
	f.turn(aTurn(5, "failed"))
	f.turn(aTurn(451, "done"))
	p.lists(451, 251, 1)
	p.run("document.getElementById('more').click()")
	p.lists(451, 51, 1)
	p.run("document.getElementById('more').click()")
	p.lists(451, 1, 1)
	p.awaitText("#turns tr:has([href$='/5'])", "Failed")
	p.awaitHidden("#more")
}
