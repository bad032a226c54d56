package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// killAgent answers question 17 with a17 and, a while later, b17; an even one with b alone.
const killAgent = `read -r line; text=${line#*'"text":"'}; n=${text%%'"'*}
	say() { echo "{\"type\":\"message\",\"text\":\"$1$n\"}"; }
	case $n in *[13579]) say a; sleep 0.0$n;; esac
	say b`

// TestTelegramDaemonKilledAtAnyInstantLosesNothing kills the real daemon with SIGKILL again and
// again, in the midst of its start, its downloads, its turns and its sends, while people write in
// twenty chats of a Telegram that outlives it: texts, files and albums. With NANOBOT_LONG=1 there
// are 300 kills for each of the three.
func TestTelegramDaemonKilledAtAnyInstantLosesNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"retry", "report", "webhook"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			kills := killtest.Rounds(t, 5, 300)
			s := newTelegramKillTest(t, how)
			s.killRepeatedly(kills)
			s.finishAndStop()
			s.checkAnswers()
		})
	}
}

// telegramKillTest is a daemon that is killed and restarted while people write.
type telegramKillTest struct {
	t       *testing.T
	api     *telegramtest.Server
	cfg     string
	random  *rand.Rand // of the kills; the people and the network have their own
	asked   map[int64]int
	files   map[question]int // how many files came with a question
	ends    []int            // the last call of each daemon that was killed
	unready int
	state   store.Store // opened beside the last daemon
}

// question is the number of a question in its chat.
type question struct {
	chat int64
	n    int
}

const (
	killChats = 20
	firstChat = int64(5001)
)

// newTelegramKillTest starts a daemon that retries or reports turns that a kill cut off, or that
// retries them and has updates delivered to its webhook.
func newTelegramKillTest(t *testing.T, how string) *telegramKillTest {
	t.Helper()
	seed := killtest.Seed()
	s := &telegramKillTest{t: t, api: telegramtest.New(t), random: rand.New(rand.NewPCG(seed, 0)), asked: map[int64]int{}, files: map[question]int{}}
	s.api.SetFault(randomDelays(rand.New(rand.NewPCG(seed, 1))))
	bot := telegramSetup{agent: killAgent, allow: "*", gateway: `, "onCrash": "` + how + `"`}
	if how == "webhook" {
		listen := freeAddress(t)
		bot.channel = `, "mode": "webhook", "webhookUrl": "http://` + listen + `/telegram"`
		bot.gateway = `, "onCrash": "retry"}, "http": {"listen": "` + listen + `"`
		s.api.SetWebhookRetry(20 * time.Millisecond)
	}
	s.cfg = bot.writeConfig(t, s.api)
	showDaemonLog(t, s.cfg, seed)
	return s
}

// showDaemonLog shows the end of the log of startDaemon's daemons when the test fails.
func showDaemonLog(t *testing.T, cfg string, seed uint64) {
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(cfg + ".log")
			t.Logf("NANOBOT_SEED=%d, the last daemons logged:\n%s", seed, log[max(0, len(log)-8000):])
		}
	})
}

// randomDelays makes the network slow now and then, so that a kill finds sends that were not
// carried out yet, or were and are not confirmed.
func randomDelays(random *rand.Rand) func(telegramtest.Call) telegramtest.Fault {
	var mu sync.Mutex
	return func(c telegramtest.Call) telegramtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		delay := time.Duration(random.IntN(80)) * time.Millisecond
		switch {
		case c.Method == telegramtest.Download && random.IntN(3) == 0:
			return telegramtest.Fault{ResponseDelay: delay}
		case c.Method != "sendMessage":
		case random.IntN(3) == 0:
			return telegramtest.Fault{ResponseDelay: delay}
		case random.IntN(3) == 0:
			hang := make(chan struct{})
			time.AfterFunc(delay, func() { close(hang) })
			return telegramtest.Fault{HangUntil: hang}
		}
		return telegramtest.Fault{}
	}
}

// start begins a daemon.
func (s *telegramKillTest) start() (c *killtest.Child, ready func() bool) {
	s.t.Helper()
	before, _ := os.ReadFile(s.cfg + ".log") // the first has none
	return startDaemon(s.t, s.cfg), func() bool {
		all, _ := os.ReadFile(s.cfg + ".log")
		return strings.Contains(string(all[min(len(before), len(all)):]), `"ready"`)
	}
}

// startDaemon starts the real daemon, whose log goes to a file beside its config.
func startDaemon(t *testing.T, cfg string) *killtest.Child {
	t.Helper()
	log := musttest.Get(os.OpenFile(cfg+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
	defer log.Close()
	cmd := daemonCommand(cfg)
	cmd.Stderr = log
	return killtest.Start(t, cmd)
}

// daemonCommand returns the command of the real daemon.
func daemonCommand(cfg string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "serve", "--config", cfg)
	cmd.Dir = filepath.Dir(cfg)
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1", "TEST_ALBUM_QUIET=1h")
	return cmd
}

// killRepeatedly kills one daemon after the other while people write.
func (s *telegramKillTest) killRepeatedly(kills int) {
	s.t.Helper()
	var ready func() bool
	killtest.KillLoop{
		Random: s.random, Kills: kills, Write: s.sendQuestions,
		Start: func() (c *killtest.Child, _ func() bool) {
			c, ready = s.start()
			return c, ready
		},
		Killed: func() {
			if !s.api.AwaitDisconnected(telegramtest.WaitLimit) {
				s.t.Fatal("the daemon is dead and its connections are not")
			}
			s.ends = append(s.ends, len(s.api.Calls("")))
			if !ready() {
				s.unready++
			}
		},
	}.Run(s.t)
}

// sendQuestions sends questions of people, a few at the same time. An album is full, so that it is
// complete however long a daemon takes to get all of it.
func (s *telegramKillTest) sendQuestions(random *rand.Rand) {
	chat := firstChat + random.Int64N(killChats)
	settled := map[string]bool{}
	for _, h := range s.shownMessages(chat) {
		if h.what != "a" {
			settled[h.key] = true
		}
	}
	if s.asked[chat]-len(settled) < 2 {
		answered := s.asked[chat] == 0 || settled["b"+strconv.Itoa(s.asked[chat])] // the last question
		s.asked[chat]++
		p := telegramtest.UserPost{Chat: chat, Text: strconv.Itoa(s.asked[chat])}
		media := fullAlbum()
		kind := random.IntN(5)
		if kind == 0 && !answered {
			kind = 2 // a text just before an album would belong to it
		}
		switch kind {
		case 0:
			s.api.UserSendsAlbum(p, media...)
			s.files[question{chat, s.asked[chat]}] = len(media)
		case 1:
			p.Media = &media[0]
			s.files[question{chat, s.asked[chat]}] = 1
			fallthrough
		default:
			s.api.UserPosts(p)
		}
	}
}

// finishAndStop starts a last daemon, waits until it has answered everything, and stops it.
func (s *telegramKillTest) finishAndStop() {
	s.t.Helper()
	c, ready := s.start()
	for deadline := time.Now().Add(waitTimeout); !ready(); time.Sleep(20 * time.Millisecond) { // then there is a state
		if time.Now().After(deadline) {
			s.t.Fatal("the last daemon was never ready")
		}
	}
	cfg := musttest.Get(config.Load(s.cfg, environWithoutTestSettings(), extensions()))(s.t)
	s.state = musttest.Get(openStore(s.t.Context(), cfg, true))(s.t)
	s.t.Cleanup(func() { _ = s.state.Close() })
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		open := 0
		for chat, asked := range s.asked {
			settled := map[int]bool{}
			for _, h := range s.shownMessages(chat) {
				if h.what != "a" {
					settled[s.questionOf(h)] = true
				}
			}
			open += asked - len(settled)
		}
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%d questions were never answered", open)
			break
		}
	}
	if err := c.End(); err != nil {
		s.t.Errorf("the last daemon: %v", err)
	}
}

// shownMessage is one message of a daemon: a or b with its question, or the report of a turn that
// was cut off, with its inbound message.
type shownMessage struct {
	what     string
	question int    // of a and b
	inbound  int64  // of a report
	key      string // the same for the same send
	marked   bool   // as a repetition
	call     int
}

// shownMessages returns what a chat was shown, without the notices about the queue.
func (s *telegramKillTest) shownMessages(chat int64) (all []shownMessage) {
	for _, m := range s.api.BotMessages(chat) {
		text, marked := strings.CutPrefix(m.TextOrCaption(), "↻ ")
		h := shownMessage{key: text, marked: marked, call: m.Call}
		if len(m.Buttons()) > 0 {
			h.key = m.Buttons()[0].Data
		}
		switch {
		case strings.HasPrefix(h.key, "cancel:"):
			continue
		case strings.HasPrefix(h.key, "again:"):
			h.what = "report"
			h.inbound, _ = strconv.ParseInt(strings.TrimPrefix(h.key, "again:"), 10, 64)
		case text != "":
			h.what = text[:1]
			h.question, _ = strconv.Atoi(text[1:])
		}
		all = append(all, h)
	}
	return all
}

// questionOf returns the question of a message; that of a report is in the state.
func (s *telegramKillTest) questionOf(h shownMessage) int {
	if h.inbound == 0 {
		return h.question
	}
	inbound, _, err := s.state.Inbound(s.t.Context(), h.inbound)
	if err != nil {
		s.t.Fatal(err)
	}
	n, _ := strconv.Atoi(inbound.In.Text)
	return n
}

// checkAnswers checks what the chats show.
func (s *telegramKillTest) checkAnswers() {
	s.t.Helper()
	asked, doubles, reported, shown, last := 0, 0, 0, 0, s.lastCalls()
	for chat, n := range s.asked {
		asked += n
		first, count, latest := map[string]shownMessage{}, map[string]int{}, 0
		for _, h := range s.shownMessages(chat) {
			q := s.questionOf(h)
			before, again := first[h.key]
			switch {
			case h.what != "a" && h.what != "b" && h.what != "report" || q < 1 || q > n:
				s.t.Errorf("chat %d shows what nobody said: %+v", chat, h)
			case again && !h.marked:
				s.t.Errorf("chat %d shows %s twice, the second time without a mark", chat, h.key)
			case again && last[sender{chat, s.daemonOf(before.call)}] != before.call:
				s.t.Errorf("chat %d shows %s twice, though it was not in flight when its daemon was killed", chat, h.key)
			case again:
				doubles++
			case q < latest:
				s.t.Errorf("chat %d shows %s behind what is about %d", chat, h.key, latest)
			case h.what == "a" && count["b"+strconv.Itoa(q)] > 0:
				s.t.Errorf("chat %d shows %s behind b", chat, h.key)
			}
			if !again {
				first[h.key] = h
				count[h.what+strconv.Itoa(q)]++
				latest = max(latest, q)
			}
		}
		for q := 1; q <= n; q++ {
			if count["b"+strconv.Itoa(q)]+count["report"+strconv.Itoa(q)] == 0 {
				s.t.Errorf("chat %d: %d was never answered", chat, q)
			}
			reported += min(count["report"+strconv.Itoa(q)], 1)
		}
		shown += len(first)
		s.checkInbox(chat, n)
	}
	if n, receipts := checkProof(s.t, s.cfg, asked); n != reported || receipts != shown {
		s.t.Errorf("the chats show %d messages and %d reports, and the state has %d and %d", shown, reported, receipts, n)
	}
	s.t.Logf("%d kills (%d before it was ready), %d questions (%d with files), %d sends, %d in flight repeated", len(s.ends), s.unready, asked, len(s.files), len(s.api.Calls("sendMessage")), doubles)
}

// checkInbox sees that each question was received once, in order, with all its files, and that no
// part is left over.
func (s *telegramKillTest) checkInbox(chat int64, asked int) {
	s.t.Helper()
	name := channels.Chat{Channel: telegram.Name, ID: strconv.FormatInt(chat, 10)}
	inbounds := musttest.Get(s.state.Recent(s.t.Context(), name, asked+100))(s.t)
	slices.Reverse(inbounds)
	if len(inbounds) != asked {
		s.t.Errorf("chat %d: %d were asked and %d received", chat, asked, len(inbounds))
	}
	for i, inbound := range inbounds {
		if want := s.files[question{chat, i + 1}]; inbound.In.Text != strconv.Itoa(i+1) || len(inbound.In.Media) != want {
			s.t.Errorf("chat %d: message %d is %q with %d files and not %d", chat, i+1, inbound.In.Text, len(inbound.In.Media), want)
		}
	}
	parts, err := s.state.Parts(s.t.Context(), telegram.Name)
	if err != nil || len(parts) > 0 {
		s.t.Errorf("%d parts are left (%v)", len(parts), err)
	}
}

// sender is a daemon in a chat.
type sender struct {
	chat   int64
	daemon int
}

// daemonOf returns the number of the daemon that made a call.
func (s *telegramKillTest) daemonOf(call int) int {
	n, _ := slices.BinarySearch(s.ends, call)
	return n
}

// lastCalls are the last sends of each daemon in each chat, the only ones that a kill can have cut
// off: a chat's sends wait for each other.
func (s *telegramKillTest) lastCalls() map[sender]int {
	last := map[sender]int{}
	for _, c := range s.api.Calls("sendMessage") {
		last[sender{c.IntParam("chat_id"), s.daemonOf(c.ID)}] = c.ID
	}
	return last
}
