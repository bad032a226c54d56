package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

// soakDoubt are the calls of which the daemon could not know whether they were carried out.
type soakDoubt struct {
	mu    sync.Mutex
	calls map[int]bool
}

func (d *soakDoubt) add(call int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = map[int]bool{}
	}
	d.calls[call] = true
}

func (d *soakDoubt) has(call int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[call]
}

// soakPauses are the times in which this process, and so probably the machine, stood still for so
// long that calls may have got no answer in time.
type soakPauses struct {
	mu  sync.Mutex
	all [][2]time.Time // beginning and end
}

// watch looks for pauses until the test ends.
func (p *soakPauses) watch(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for last := time.Now(); ; {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			now := time.Now()
			if now.Sub(last) > 5*time.Second {
				p.mu.Lock()
				p.all = append(p.all, [2]time.Time{last, now})
				p.mu.Unlock()
			}
			last = now
		}
	})
	t.Cleanup(func() { close(done); work.Wait() })
}

// during reports whether a call that arrived at a time waited for its answer during a pause.
func (p *soakPauses) during(at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(pause [2]time.Time) bool {
		return at.After(pause[0].Add(-time.Second)) && at.Before(pause[1].Add(time.Second))
	})
}

// soakInbounds knows what a turn was about that a daemon reports. Telegram shows no reference
// between two people.
type soakInbounds struct {
	mu    sync.Mutex
	state store.Store
	texts map[string]string
}

func (i *soakInbounds) message(s *soak, inbound string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if text, ok := i.texts[inbound]; ok {
		return text
	}
	if i.state == nil {
		cfg, err := config.Load(s.cfg, environWithoutTestSettings(), extensions())
		if err != nil {
			return "" // it is the one with a mistake at the moment
		}
		if i.state, err = openStore(context.Background(), cfg, true); err != nil {
			s.t.Error(err)
			return ""
		}
		i.texts = map[string]string{}
		s.t.Cleanup(func() { _ = i.state.Close() })
	}
	id, _ := strconv.ParseInt(inbound, 10, 64)
	found, _, err := i.state.Inbound(context.Background(), id)
	if err != nil {
		s.t.Error(err)
	}
	i.texts[inbound] = found.In.Text
	return found.In.Text
}

// closedAfter returns a channel that is closed after a duration.
func closedAfter(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// telegramFault makes a few in a hundred calls fail, in every possible way.
func (s *soak) telegramFault(random *rand.Rand) func(telegramtest.Call) telegramtest.Fault {
	var mu sync.Mutex
	return func(c telegramtest.Call) (f telegramtest.Fault) {
		mu.Lock()
		defer mu.Unlock()
		delay := time.Duration(random.IntN(400)) * time.Millisecond
		switch n := random.IntN(100); {
		case n < 2:
			f = telegramtest.RateLimited(1)
		case n < 3:
			f = telegramtest.BadGateway()
		case n < 4:
			f = telegramtest.ErrorResponse(500, "Internal Server Error")
		case n < 5:
			f = telegramtest.Fault{CutBefore: true}
		case n < 6:
			s.doubt.add(c.ID)
			f = telegramtest.Fault{CutAfter: true}
		case n < 7:
			s.doubt.add(c.ID)
			f = telegramtest.TruncatedJSON()
		case n < 8:
			s.doubt.add(c.ID)
			f = telegramtest.ErrorAfterEffect([]int{500, 502, 503, 504}[random.IntN(4)])
		case n < 11:
			f = telegramtest.Fault{ResponseDelay: delay}
		case n < 15:
			f = telegramtest.Fault{HangUntil: closedAfter(delay)}
		default:
			return f
		}
		s.faults.Add(1)
		return f
	}
}

// discordFault makes a few in a hundred calls fail, in every possible way.
func (s *soak) discordFault(random *rand.Rand) func(discordtest.Call) discordtest.Fault {
	var mu sync.Mutex
	return func(discordtest.Call) (f discordtest.Fault) {
		mu.Lock()
		defer mu.Unlock()
		delay := time.Duration(random.IntN(400)) * time.Millisecond
		switch n := random.IntN(100); {
		case n < 2:
			f = discordtest.RateLimited(500 * time.Millisecond)
		case n < 3:
			f = discordtest.BadGateway()
		case n < 4:
			f = discordtest.ErrorResponse(500, 0, "500: Internal Server Error")
		case n < 5:
			f = discordtest.Fault{CutBefore: true}
		case n < 6:
			f = discordtest.Fault{CutAfter: true}
		case n < 7:
			f = discordtest.TruncatedJSON()
		case n < 11:
			f = discordtest.Fault{ResponseDelay: delay}
		case n < 15:
			f = discordtest.Fault{HangUntil: closedAfter(delay)}
		default:
			return f
		}
		s.faults.Add(1)
		return f
	}
}

// processResources are the memory and the open files of an idle daemon.
type processResources struct{ rss, files int }

// minResources returns the minimum of several readings, because idle connections are closed
// gradually.
func (s *soak) minResources() (lowest processResources) {
	s.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	lowest = s.readResources()
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		now := s.readResources()
		lowest = processResources{min(lowest.rss, now.rss), min(lowest.files, now.files)}
	}
	return lowest
}

func (s *soak) readResources() processResources {
	proc := fmt.Sprintf("/proc/%d/", s.daemon.PID())
	files, err := os.ReadDir(proc + "fd")
	status, serr := os.ReadFile(proc + "status")
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	if err != nil || serr != nil || !found {
		s.t.Errorf("the daemon is gone: %v", err)
		return processResources{}
	}
	rss, _ := strconv.Atoi(strings.Fields(rest)[0])
	open := 0
	for _, f := range files {
		// Empty control groups are kept for later agents, up to a number of their own; they come
		// and go with the load.
		if to, _ := os.Readlink(proc + "fd/" + f.Name()); !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			open++
		}
	}
	return processResources{rss, open}
}

// awaitCleanUp waits until no process runs in the workspace and the daemon has no zombie.
func (s *soak) awaitCleanUp() {
	s.t.Helper()
	var left map[string]string
	for deadline := time.Now().Add(soakTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = s.leftovers(); len(left) == 0 {
			return
		}
	}
	s.t.Errorf("processes are left: %q", left)
}

// checkKilled checks that a daemon which is ready has killed the processes that the daemon before
// it had left, those included that waited for a message.
func (s *soak) checkKilled(before map[string]string) {
	s.t.Helper()
	s.left += len(before)
	now := s.leftovers()
	for process, is := range before {
		if _, found := now[process]; found {
			s.t.Errorf("the next daemon is ready and a process of the one before it runs: %s", is)
		}
	}
}

// leftovers describes the processes in the workspace and the daemon's zombies, by PID and time of
// the start.
func (s *soak) leftovers() map[string]string {
	left := map[string]string{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	parent := fmt.Sprintf(" %d ", s.daemon.PID())
	for _, p := range all {
		stat, _ := os.ReadFile(p + "/stat")
		cwd, _ := os.Readlink(p + "/cwd")
		zombie := strings.Contains(string(stat), ") Z"+parent)
		if cwd == s.dir || zombie {
			line, _ := os.ReadFile(p + "/cmdline")
			fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			if len(fields) > 19 { // else it is gone
				left[p+" "+fields[19]] = strings.TrimSpace(string(stat)) + " " + strings.ReplaceAll(string(line), "\x00", " ")
			}
		}
	}
	return left
}

// wasInDoubt reports whether a daemon could not know whether a call had succeeded.
func (s *soak) wasInDoubt(call int) bool {
	return s.doubt.has(call) || s.pauses.during(s.sent[call])
}

// checkAnswers checks what the chats show: each question answered, in order, and nothing twice but
// what was in doubt and is marked.
func (s *soak) checkAnswers() {
	s.t.Helper()
	last := map[sender]int{} // of each daemon in each chat: a kill can have cut off only those
	s.sent, s.posted = map[int]time.Time{}, map[int]time.Time{}
	for _, c := range s.dc.Calls("") {
		s.posted[c.ID] = c.At
	}
	for _, c := range s.tg.Calls("") {
		s.sent[c.ID] = c.At
		if strings.HasPrefix(c.Method, "send") && c.Method != "sendChatAction" {
			last[sender{c.IntParam("chat_id"), s.daemonOf(c.ID)}] = c.ID
		}
	}
	for _, c := range s.chats {
		chat, _ := strconv.ParseInt(strings.TrimPrefix(c.name, "telegram:"), 10, 64)
		first, latest := map[string]soakShown{}, 0
		for _, m := range c.shown() {
			q, kind := c.question(m), messageKind(m)
			key := kind + strconv.Itoa(q)
			before, again := first[key]
			s.marked += countTrue(m.marked)
			s.reports += countTrue(kind == "report")
			s.doubled += countTrue(again && kind != "passing" && kind != "stop")
			switch {
			case kind == "passing" || kind == "stop":
				continue
			case kind == "" || q < 1 || q > len(c.asked):
				s.t.Errorf("%s shows what nobody said: %+v", c.name, m)
				continue
			case again && (c.once || !m.marked):
				s.t.Errorf("%s shows %s twice, without a mark", c.name, m.text)
			case again && !s.wasInDoubt(before.call) && last[sender{chat, s.daemonOf(before.call)}] != before.call:
				s.t.Errorf("%s shows %s twice, though it was not in doubt", c.name, m.text)
			case !again && (q < latest || kind == "a" && first["b"+strconv.Itoa(q)].call > 0):
				s.t.Errorf("%s shows %s behind what is about %d", c.name, m.text, latest)
			case kind == "b" && c.asked[q-1].kind == "album" && m.files != 3:
				s.t.Errorf("%s shows an album of %d", c.name, m.files)
			}
			if !again {
				first[key], latest = m, max(latest, q)
			}
		}
		if open := c.unanswered(c.shown()); len(open) > 0 {
			s.t.Errorf("%s: %v were never answered", c.name, open)
		}
		s.recordLatency(c, first)
	}
	s.checkAudit()
	if started, served := s.countLines("started"), s.countLines("served"); s.warm() && started <= served {
		s.t.Errorf("%d processes were started and %d got a message: none has waited", started, served)
	}
	for _, word := range []string{"DATA RACE", "panic", "fatal error"} {
		if log := s.log(); strings.Contains(log, word) {
			at := strings.Index(log, word)
			s.t.Errorf("the log has\n%s", log[max(0, at-200):min(len(log), at+4000)])
		}
	}
}

// checkAudit looks whether each turn that ended was written down as begun, and nothing is half a
// line.
func (s *soak) checkAudit() {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, ".nanobot", "audit.jsonl*"))
	begun, ends := map[string]bool{}, 0
	slices.Reverse(files) // the oldest first
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for line := range strings.Lines(string(text)) {
			var r audit.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				s.t.Errorf("the audit log has %q: %v", line, err)
			}
			run := fmt.Sprintf("%d in attempt %d", r.Run, r.Attempt)
			switch r.Event {
			case audit.TurnStart:
				begun[run] = true
			case audit.TurnEnd:
				if ends++; !begun[run] {
					s.t.Errorf("the audit log has the end of turn %s, and not its beginning", run)
				}
			}
		}
	}
	if turns := strings.Count(s.log(), `"turn ended"`); ends < turns {
		s.t.Errorf("%d turns ended, and the audit log has %d", turns, ends)
	}
}

func (s *soak) daemonOf(call int) int {
	n, _ := slices.BinarySearch(s.ends, call)
	return n
}

// recordLatency records how long answers took until they were sent.
func (s *soak) recordLatency(c *soakChat, first map[string]soakShown) {
	at := s.sent
	if c.once {
		at = s.posted
	}
	for i, q := range c.asked {
		if m, ok := first["b"+strconv.Itoa(i+1)]; ok {
			when := at[m.call]
			if !m.at.IsZero() {
				when = m.at
			}
			took := when.Sub(q.at)
			if s.answered = append(s.answered, took); took > s.slowest {
				s.slowest, s.slowestIs = took, fmt.Sprintf("%d %s in %s, asked at %s", i+1, q.kind, c.name, q.at.UTC().Format(time.TimeOnly))
			}
		}
	}
}

// countLines counts the lines of a file in the workspace.
func (s *soak) countLines(name string) int {
	b, _ := os.ReadFile(filepath.Join(s.dir, name))
	return bytes.Count(b, []byte("\n"))
}

// logReport logs what happened.
func (s *soak) logReport(span time.Duration) {
	s.t.Helper()
	asked, stops, turns := 0, 0, strings.Count(s.log(), `"turn ended"`)
	for _, c := range s.chats {
		asked, stops = asked+len(c.asked), stops+c.stops
	}
	slices.Sort(s.answered)
	nth := func(percent int) time.Duration {
		if len(s.answered) == 0 {
			return 0
		}
		return s.answered[min(len(s.answered)-1, len(s.answered)*percent/100)].Round(time.Millisecond)
	}
	s.t.Logf(`soak of %s, NANOBOT_SEED=%d
	%d questions in %d chats, %d turns ended, %d answers, %d reports of turns that were cut off three times, %d /stop
	%d kill -9, %d SIGTERM, %d SIGHUP, %d cuts of Discord's gateway, %d faults in %d calls
	%d agents were started, %d of them got a message (warm: %t); %d processes outlived their daemon until the next one was ready
	%d messages marked as repetitions, of which %d were shown before
	answered after p50 %s, p99 %s, at most %s (%s)`,
		span, s.seed, asked, len(s.chats), turns, len(s.answered), s.reports, stops,
		s.kills, s.drains, s.reloads, s.cuts, s.faults.Load(), len(s.sent)+len(s.posted),
		s.countLines("started"), s.countLines("served"), s.warm(), s.left,
		s.marked, s.doubled, nth(50), nth(99), nth(100), s.slowestIs)
	s.t.Logf("the log's errors and warnings: %v", s.countWarnings())
}

// checkResources checks that the daemon's memory and open files have not grown.
func (s *soak) checkResources(before, after processResources) {
	s.t.Helper()
	s.t.Logf("the daemon that ran on: RSS %d KiB at first, %d KiB at the end; descriptors %d, %d", before.rss, after.rss, before.files, after.files)
	for i := range min(10, len(s.samples)) {
		now := s.samples[i*len(s.samples)/10]
		s.t.Logf("at work after %d tenths: RSS %d KiB, descriptors %d", i, now.rss, now.files)
	}
	if after.rss > before.rss+before.rss/4 {
		s.t.Errorf("memory grew from %d to %d KiB", before.rss, after.rss)
	}
	if after.files > before.files+8 {
		s.t.Errorf("descriptors grew from %d to %d", before.files, after.files)
	}
}

// countWarnings counts the warnings and errors of the log, by message.
func (s *soak) countWarnings() map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(s.log()) {
		var entry struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Level != "info" {
			count[entry.Level+": "+entry.Msg]++
		}
	}
	return count
}
