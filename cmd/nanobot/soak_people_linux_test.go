package main

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
)

// soakChat is a chat and who writes in it.
type soakChat struct {
	name   string
	say    func(text string) (id string)
	photos func(text string) (id string) // nil: none are sent
	shown  func() []soakShown
	once   bool // its network sees to it that nothing is shown twice
	random *rand.Rand

	asked []soakQuestion // question 1 is the first
	stops int
}

type soakQuestion struct {
	id, kind string
	at       time.Time
}

// soakShown is a message of the bot.
type soakShown struct {
	text   string
	marked bool   // as a repetition
	reply  string // what it answers, of a report: the ID of that message, or its text
	call   int
	files  int
	at     time.Time // where the call does not tell
}

// soakKinds are what people ask for, the usual more often.
var soakKinds = []string{"plain", "plain", "plain", "plain", "two", "two", "two", "slow", "album", "album", "photos", "kids", "daemon", "hang"}

// soakTimeout is how long an answer may take while all kinds of things go wrong. Chats wait for
// each other, and agents that are cut off begin again.
const soakTimeout = 5 * time.Minute

func (s *soak) addChats() {
	for i := range 12 {
		id := int64(6001 + i)
		s.chats = append(s.chats, &soakChat{
			name:   "telegram:" + strconv.FormatInt(id, 10),
			say:    func(text string) string { s.tg.UserSends(id, text); return text },
			photos: func(text string) string { s.telegramPhotos(id, text); return text },
			shown:  func() []soakShown { return s.telegramShown(s.tg.BotMessages(id)) },
		})
	}
	home := s.dc.AddGuild("home")
	for i := range 8 {
		user, lead := strconv.Itoa(4_200_000_000_000_000+i), ""
		s.users = append(s.users, user)
		id := s.dc.DM(user).ID
		if i%2 == 1 {
			id, lead = s.dc.AddChannel(home.ID, "channel").ID, "<@"+s.dc.Bot.ID+"> "
		}
		if i%4 == 3 {
			id = s.dc.AddThread(id, "a thread").ID
		}
		s.chats = append(s.chats, &soakChat{
			name: "discord:" + id, once: true,
			say: func(text string) string { return s.dc.UserSends(id, user, lead+text).ID },
			photos: func(text string) string {
				f := discordtest.File{Name: "x.png", Content: []byte("x")}
				return s.dc.UserSends(id, user, lead+text, f, f, f).ID
			},
			shown: func() []soakShown { return discordShown(s.dc.BotMessages(id)) },
		})
	}
}

func (s *soak) telegramPhotos(chat int64, text string) {
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	s.tg.UserSendsAlbum(telegramtest.UserPost{Chat: chat, Text: text}, picture, picture, picture)
}

// telegramShown puts albums together.
func (s *soak) telegramShown(all []telegramtest.Message) (shown []soakShown) {
	albums := map[string]int{}
	for _, m := range all {
		if i, ok := albums[m.MediaGroupID]; ok && m.MediaGroupID != "" {
			shown[i].files++
			continue
		}
		text, marked := strings.CutPrefix(m.TextOrCaption(), "↻ ")
		one := soakShown{text: text, marked: marked, call: m.Call}
		for _, b := range m.Buttons() {
			if inbound, ok := strings.CutPrefix(b.Data, "again:"); ok {
				one.reply = s.inbounds.message(s, inbound)
			}
		}
		if m.File() != nil {
			one.files = 1
		}
		albums[m.MediaGroupID] = len(shown)
		shown = append(shown, one)
	}
	return shown
}

func discordShown(all []discordtest.Message) (shown []soakShown) {
	for _, m := range all {
		one := soakShown{text: m.Content, files: len(m.Attachments), call: m.Call}
		if m.Reference != nil {
			one.reply = m.Reference.MessageID
		}
		shown = append(shown, one)
	}
	return shown
}

// runLoad lets people write for a time, and waits until they have their answers.
func (s *soak) runLoad(d time.Duration) {
	s.t.Helper()
	end := time.Now().Add(d)
	var people sync.WaitGroup
	for _, c := range s.chats {
		people.Go(func() {
			for time.Now().Before(end) && !s.stuck.Load() {
				s.askQuestion(c)
			}
			s.settled(c, 0)
		})
	}
	people.Wait()
}

// askQuestion sends one question and then pauses for a moment.
func (s *soak) askQuestion(c *soakChat) {
	kind := soakKinds[c.random.IntN(len(soakKinds))]
	say := c.say
	if kind == "photos" && c.photos == nil {
		kind = "plain"
	}
	switch kind {
	case "hang": // /stop all would drop what waits in the chat
		s.settled(c, 0)
	case "photos": // a text just before an album would belong to it
		s.settled(c, 0)
		say = c.photos
	}
	q := soakQuestion{kind: kind, at: time.Now()}
	q.id = say(strconv.Itoa(len(c.asked)+1) + " " + kind)
	c.asked = append(c.asked, q)
	if kind == "hang" {
		time.Sleep(time.Duration(c.random.IntN(1500)) * time.Millisecond)
		s.stopTurn(c)
	} else {
		s.settled(c, c.random.IntN(3))
	}
	time.Sleep(time.Duration(c.random.IntN(2000)) * time.Millisecond)
}

// settled waits until all but so many questions of a chat are answered.
func (s *soak) settled(c *soakChat, open int) {
	for deadline := time.Now().Add(soakTimeout); len(c.unanswered(c.shown())) > open; time.Sleep(100 * time.Millisecond) {
		if s.stuck.Load() {
			return
		}
		if time.Now().After(deadline) {
			s.stuck.Store(true)
			s.t.Errorf("chat %s waits for %v since %s", c.name, c.unanswered(c.shown()), soakTimeout)
		}
	}
}

// stopTurn frees a chat from an agent that hangs. When the daemon is killed while it stops the
// turn, nobody is told that it has, so one asks again.
func (s *soak) stopTurn(c *soakChat) {
	q := strconv.Itoa(len(c.asked))
	for end := time.Now().Add(soakTimeout); time.Now().Before(end); {
		before := ended(c.shown())
		c.stops++
		c.say("/stop all")
		for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if shown := c.shown(); ended(shown) > before {
				return
			}
		}
	}
	s.stuck.Store(true)
	s.t.Errorf("chat %s: %s hangs and cannot be stopped", c.name, q)
}

// ended counts what is said when something was stopped, or not, or was cut off.
func ended(shown []soakShown) (n int) {
	for _, m := range shown {
		if messageKind(m) == "stop" {
			n++
		}
	}
	return n
}

var dropped = regexp.MustCompile(`^\d+ waiting messages? dropped\.`)

// messageKind tells what kind of message one is: a or b, a report, an answer to /stop, something
// passing, or nothing that is known.
func messageKind(m soakShown) string {
	for lead, kind := range map[string]string{
		"Queued.": "passing", "⏳": "passing", "I was restarted while working on this": "report", "Error (INTERRUPTED)": "report",
		"Stopped.": "stop", "Nothing is running.": "stop",
	} {
		if strings.HasPrefix(m.text, lead) {
			return kind
		}
	}
	// More than one waits when a kill came between an answer and the end of its turn, which then
	// waits to run again. Were an unanswered question dropped, it would be missed at the end.
	if dropped.MatchString(m.text) {
		return "stop"
	}
	if _, err := strconv.Atoi(strings.TrimLeft(m.text, "ab")); err == nil {
		return m.text[:1]
	}
	return ""
}

// unanswered are the questions without their last answer. One that hangs has none.
func (c *soakChat) unanswered(shown []soakShown) (open []int) {
	done := map[int]bool{}
	for _, m := range shown {
		done[c.question(m)] = done[c.question(m)] || messageKind(m) == "b" || messageKind(m) == "report"
	}
	for i, q := range c.asked {
		if !done[i+1] && q.kind != "hang" {
			open = append(open, i+1)
		}
	}
	return open
}

// question is what a message is about, or 0.
func (c *soakChat) question(m soakShown) int {
	switch messageKind(m) {
	case "a", "b":
		n, _ := strconv.Atoi(m.text[1:])
		return n
	case "report":
		for i := len(c.asked); i > 0; i-- {
			if c.asked[i-1].id == m.reply {
				return i
			}
		}
	}
	return 0
}
