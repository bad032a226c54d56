package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/killtest"
)

// discordKillAgent is killAgent, and sees to it that each third question comes with its whole file.
const discordKillAgent = `read -r line; text=${line#*'"text":"'}; n=${text%%'"'*}
	say() { echo "{\"type\":\"message\",\"text\":\"$1$n\"}"; }
	if [ $((n % 3)) -eq 0 ]; then
		path=${line#*'"media":["'}; path=${path%%'"'*}
		[ "$(cat "$path")" = "file $n" ] || { say 'without its file: '; exit; }
	fi
	case $n in *[13579]) say a; sleep 0.0$n;; esac
	say b`

// TestDiscordDaemonKilledAtAnyInstantLosesNothing kills the real daemon with SIGKILL again and
// again, in the midst of its start, its downloads, its turns and its sends, while people write in
// chats of all kinds. Discord takes a key with each message, so there is no exception: nothing is
// lost, nothing changes places, nothing is said twice. With NANOBOT_LONG=1 there are 150 kills.
func TestDiscordDaemonKilledAtAnyInstantLosesNothing(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 8, 150)
	s := newDiscordKillTest(t)
	s.killRepeatedly(kills)
	s.finishAndStop()
	s.checkAnswers()
}

// discordKillTest is a daemon that is killed and restarted while people write.
type discordKillTest struct {
	t       *testing.T
	api     *discordtest.Server
	cfg     string
	random  *rand.Rand // of the kills; the people and the network have their own
	chats   []*discordChat
	kills   int
	unready int
}

// discordChat is a chat and who writes in it.
type discordChat struct {
	id, user string
	lead     string // what leads each question
	asked    int
	ids      map[string]int // questions by the ID of their messages
}

func (s *discordKillTest) askQuestion(c *discordChat) {
	c.asked++
	var files []discordtest.File
	if c.asked%3 == 0 {
		files = append(files, discordtest.File{Name: "question.txt", Content: []byte("file " + strconv.Itoa(c.asked))})
	}
	m := s.api.UserSends(c.id, c.user, c.lead+strconv.Itoa(c.asked), files...)
	c.ids[m.ID] = c.asked
}

func newDiscordKillTest(t *testing.T) *discordKillTest {
	t.Helper()
	seed := killtest.Seed()
	s := &discordKillTest{t: t, api: discordtest.New(t), random: rand.New(rand.NewPCG(seed, 0))}
	s.api.SetFault(discordRandomDelays(rand.New(rand.NewPCG(seed, 1))))
	var allow []string
	for i := range 6 {
		user := strconv.Itoa(4_200_000_000_000_000 + i)
		allow = append(allow, user)
		s.chats = append(s.chats, &discordChat{id: s.api.DM(user).ID, user: user, ids: map[string]int{}})
	}
	g := s.api.AddGuild("home")
	me := "<@" + s.api.Bot.ID + "> "
	forum := s.api.AddForum(g.ID, "help").ID
	for i := range 3 {
		ch := s.api.AddChannel(g.ID, "channel").ID
		post, _ := s.api.AddPost(forum, allow[i], "a post", "to all")
		for _, id := range []string{ch, s.api.AddThread(ch, "a thread").ID, post.ID} {
			s.chats = append(s.chats, &discordChat{id: id, user: allow[i], lead: me, ids: map[string]int{}})
		}
	}
	s.cfg = discordSetup{agent: discordKillAgent, allow: allow, gateway: `, "onCrash": "retry"`}.writeConfig(t, s.api)
	showDaemonLog(t, s.cfg, seed)
	return s
}

// discordRandomDelays makes the network slow now and then, so that a kill finds sends that
// were not carried out yet, or were and are not confirmed, and files that are being downloaded.
func discordRandomDelays(random *rand.Rand) func(discordtest.Call) discordtest.Fault {
	var mu sync.Mutex
	return func(c discordtest.Call) discordtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		delay := time.Duration(random.IntN(80)) * time.Millisecond
		switch {
		case c.Route == discordtest.CDN:
			return discordtest.Fault{ResponseDelay: delay}
		case c.Route != discordtest.CreateMessage:
		case random.IntN(3) == 0:
			return discordtest.Fault{ResponseDelay: delay}
		case random.IntN(3) == 0:
			hang := make(chan struct{})
			time.AfterFunc(delay, func() { close(hang) })
			return discordtest.Fault{HangUntil: hang}
		}
		return discordtest.Fault{}
	}
}

// killRepeatedly kills one daemon after the other while people write.
func (s *discordKillTest) killRepeatedly(kills int) {
	s.t.Helper()
	var sessions int
	killtest.KillLoop{
		Random: s.random, Kills: kills, Write: s.sendQuestions,
		Start: func() (c *killtest.Child, ready func() bool) {
			sessions = s.api.Stats().Readies
			return startDaemon(s.t, s.cfg), func() bool { return s.api.Stats().Readies > sessions }
		},
		Killed: func() {
			if s.kills++; s.api.Stats().Readies == sessions {
				s.unready++
			}
		},
	}.Run(s.t)
}

// sendQuestions sends questions of people, a few at the same time.
func (s *discordKillTest) sendQuestions(random *rand.Rand) {
	c := s.chats[random.IntN(len(s.chats))]
	if c.asked-s.countAnswered(c) < 3 {
		s.askQuestion(c)
	}
}

// countAnswered returns how many questions of a chat have their last answer, or the report that
// there may be none.
func (s *discordKillTest) countAnswered(c *discordChat) int {
	settled := map[string]bool{}
	for _, text := range s.shownTexts(c) {
		if text[0] != 'a' {
			settled[text[1:]] = true
		}
	}
	return len(settled)
}

// shownTexts returns the texts of a chat, without notices about the queue. The report of a turn
// that was cut off too often is r and its question.
func (s *discordKillTest) shownTexts(c *discordChat) (all []string) {
	for _, m := range s.api.BotMessages(c.id) {
		switch {
		case strings.HasPrefix(m.Content, "Queued"):
		case strings.HasPrefix(m.Content, "I was restarted") && m.Reference != nil:
			all = append(all, "r"+strconv.Itoa(c.ids[m.Reference.MessageID]))
		default:
			all = append(all, m.Content)
		}
	}
	return all
}

// finishAndStop starts a last daemon, waits until it has answered everything, and stops it.
func (s *discordKillTest) finishAndStop() {
	s.t.Helper()
	daemon := startDaemon(s.t, s.cfg)
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		open := 0
		for _, c := range s.chats {
			open += max(c.asked-s.countAnswered(c), 0)
		}
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%d questions were never answered", open)
			break
		}
	}
	if err := daemon.End(); err != nil {
		s.t.Errorf("the last daemon: %v", err)
	}
}

// checkAnswers checks what the chats show: for each question, in order, a if it is odd, then b,
// each once; and a report if the turn was cut off three times, without b, or with it when that was
// the last thing before the end.
func (s *discordKillTest) checkAnswers() {
	s.t.Helper()
	asked, reports := 0, 0
	for _, c := range s.chats {
		asked += c.asked
		shown := strings.Join(s.shownTexts(c), " ") + " "
		rest := shown
		for q := 1; q <= c.asked; q++ {
			n := strconv.Itoa(q) + " "
			next, a := strings.CutPrefix(rest, "a"+n)
			next, b := strings.CutPrefix(next, "b"+n)
			next, r := strings.CutPrefix(next, "r"+n)
			if a && q%2 == 0 || !b && !r || b && a != (q%2 == 1) {
				s.t.Errorf("chat %s: from question %d of %d on it is wrong: %s", c.id, q, c.asked, shown)
				break
			}
			if rest = next; r {
				reports++
			}
		}
		if rest != "" && !s.t.Failed() {
			s.t.Errorf("chat %s shows more than was asked: %s", c.id, rest)
		}
	}
	if n, _ := checkProof(s.t, s.cfg, asked); n != reports {
		s.t.Errorf("the chats show %d reports, and the state has %d", reports, n)
	}
	s.t.Logf("%d kills (%d before it was connected), %d questions (%d reported), %d sends", s.kills, s.unready, asked, reports, len(s.api.Calls(discordtest.CreateMessage)))
}
