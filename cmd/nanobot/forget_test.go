package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/runbook"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// peopleBot is a bot with people on Telegram, who are in a group together, and on the page.
// Everything that a person writes begins with a word of theirs.
type peopleBot struct {
	*webBot
	api    *telegramtest.Server
	people []*botPerson
}

// botPerson is a person of the bot.
type botPerson struct {
	name, word string
	// say sends a text and waits until it was answered. The first error is that of the test.
	say  func(text string) error
	said []string
	// answers returns the texts of the bot that the person sees.
	answers func() []string
}

const peopleGroup = int64(-7077)

// notingAgent echoes a text, and stores it in the folder of a private chat.
const notingAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
	case $NANOBOT_CHAT_ID in -*) ;; *) echo "$text" >>"$NANOBOT_USER_DATA_DIR/notes.txt";; esac
	echo "{\"type\":\"message\",\"text\":\"you said $text.\"}"
`

// newPeopleBot starts a bot with settings of the gateway; "": none.
func newPeopleBot(t *testing.T, gateway string) *peopleBot {
	t.Helper()
	c := &peopleBot{webBot: newWebBot(t), api: telegramtest.New(t)}
	c.kill()
	dir := filepath.Dir(c.cfg)
	text := string(musttest.Get(os.ReadFile(c.cfg))(t))
	text = strings.Replace(text, `"channels": {`, `"audit": {"text": true}, "channels": {"telegram": {"enabled": true,
		"token": "file:telegram", "apiBase": "`+c.api.URL+`", "allowFrom": ["501", "502", "503", "504", "505"]}, `, 1)
	text = strings.Replace(text, `"gateway": {`, `"gateway": {`+gateway, 1)
	for name, content := range map[string]string{"config.json": text, "telegram": c.api.Token, "agent.sh": notingAgent} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	c.start()
	c.api.AddChat(telegramtest.Chat{ID: peopleGroup})
	for id := int64(501); id <= 505; id++ {
		c.people = append(c.people, c.onTelegram(id))
	}
	for _, name := range []string{"ann", "bob", "cid", "dan", "eve"} {
		c.people = append(c.people, c.onPage(name))
	}
	return c
}

func (c *peopleBot) onTelegram(id int64) *botPerson {
	p := &botPerson{name: fmt.Sprint("telegram:", id), word: fmt.Sprint("word", id, "x")}
	p.answers = func() (all []string) {
		for _, chat := range []int64{id, peopleGroup} {
			for _, m := range c.api.BotMessages(chat) {
				all = append(all, m.TextOrCaption())
			}
		}
		return all
	}
	p.say = func(text string) error {
		p.said = append(p.said, text)
		c.api.UserSends(id, text)
		return p.await(text)
	}
	return p
}

func (c *peopleBot) onPage(user string) *botPerson {
	p, b := &botPerson{name: "web:" + user, word: "word" + user + "x"}, c.signIn("--user", user)
	path := "/api/chats/" + b.newChat() + "/messages"
	p.answers = func() (all []string) {
		for before, more := int64(0), true; more; {
			status, answer, err := b.tryRequest("GET", fmt.Sprintf("%s?before=%d", path, before), "", nil)
			var read struct {
				Messages []struct {
					Seq        int64
					From, Text string
				}
				More bool
			}
			if err != nil || status != http.StatusOK || json.Unmarshal([]byte(answer), &read) != nil {
				return []string{fmt.Sprint(status, answer, err)}
			}
			for _, m := range read.Messages {
				if m.From == "bot" {
					all = append(all, m.Text)
				}
			}
			if more = read.More; more {
				before = read.Messages[0].Seq
			}
		}
		return all
	}
	p.say = func(text string) error {
		p.said = append(p.said, text)
		body, _ := json.Marshal(map[string]string{"text": text})
		status, answer, err := b.tryRequest("POST", path, isJSON, bytes.NewReader(body))
		if err != nil || status != http.StatusAccepted {
			return fmt.Errorf("%s: %d %s: %w", text, status, answer, err)
		}
		return p.await(text)
	}
	return p
}

// await waits until a text was answered.
func (p *botPerson) await(text string) error {
	for deadline := time.Now().Add(waitTimeout); p.countAnswers(text) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%q of %s was never answered: %q", text, p.name, p.answers())
		}
	}
	return nil
}

func (p *botPerson) countAnswers(text string) (n int) {
	for _, answer := range p.answers() {
		if strings.Contains(answer, "you said "+text+".") {
			n++
		}
	}
	return n
}

// meet has everybody write, and those on Telegram in the group, where one quotes another and the
// answer to them.
func (c *peopleBot) meet() {
	c.t.Helper()
	for _, p := range c.people {
		musttest.Do(c.t, p.say(p.word+"first"))
	}
	post := func(from int64, replyTo int, text string) telegramtest.Message {
		m := c.api.UserPosts(telegramtest.UserPost{Chat: peopleGroup, From: from, ReplyTo: replyTo, Text: "@nano_test_bot " + text})
		p := c.people[from-501]
		p.said = append(p.said, text)
		musttest.Do(c.t, p.await(text))
		return m
	}
	m := post(505, 0, "word505xgroup")
	post(501, m.ID, "word501xquoting")
	answers := c.api.BotMessages(peopleGroup)
	post(502, answers[0].ID, "word502xquoting")
	picture := telegramtest.Media{Kind: "document", Content: []byte("word505xfile"), Name: "word505x.txt"}
	c.api.UserPosts(telegramtest.UserPost{Chat: 505, Text: "word505xdocument", Media: &picture})
	musttest.Do(c.t, c.people[4].await("word505xdocument"))
	c.api.UserSends(505, "/remind 3d word505xreminder")
	c.awaitLogTimes("turn ended", len(c.people)+4) // which is later than its answer
}

// filesWith returns the files of the bot that have a word in their content or name.
func (c *peopleBot) filesWith(word string) (found []string) {
	c.t.Helper()
	musttest.Do(c.t, filepath.WalkDir(filepath.Dir(c.cfg), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() {
			return ignoreMissing(err)
		}
		content, err := os.ReadFile(path)
		if i := bytes.Index(content, []byte(word)); i >= 0 || strings.Contains(path, word) {
			found = append(found, fmt.Sprintf("%s: %q", path, content[max(i-150, 0):min(max(i, 0)+80, len(content))]))
		}
		return ignoreMissing(err)
	}))
	return found
}

// export returns what export prints, and its exit status.
func (c *peopleBot) export(p *botPerson, args ...string) (string, int) {
	c.t.Helper()
	return runProgram(c.t, append([]string{"export", "--config", c.cfg, p.name}, args...)...)
}

// checkForgotten checks that nothing is left of a person.
func (c *peopleBot) checkForgotten(p *botPerson) {
	c.t.Helper()
	for _, found := range c.filesWith(p.word) {
		c.t.Errorf("of %s: %s", p.name, found)
	}
	out, status := c.export(p)
	if status != 1 || !strings.Contains(out, "nothing is stored of "+p.name) {
		c.t.Errorf("export prints %d %s", status, out)
	}
}

func TestOfTenPeopleOneIsForgottenAndTheOthersLoseNothing(t *testing.T) {
	t.Parallel()
	c := newPeopleBot(t, `"record": "recorded", `)
	out := testForget(t, c)
	if strings.Contains(out, "PostgreSQL") {
		t.Errorf("forget says %s", out)
	}
	// What others have written is still there.
	if len(c.filesWith("word501xquoting")) < 2 {
		t.Errorf("it is only in %q", c.filesWith("word501xquoting"))
	}
}

func TestOfTenPeopleOneIsForgottenOnAServer(t *testing.T) {
	t.Parallel()
	c := newPeopleBot(t, fmt.Sprintf(`"store": %q, "bot": "forget%d", "member": {"name": "a", "ttl": 60}, `, postgrestest.URL(t), killtest.Seed()))
	out := testForget(t, c)
	if !strings.Contains(out, "PostgreSQL server, which are yours") {
		t.Errorf("forget says %s", out)
	}
}

// testForget forgets two people of the bot under load, and returns what forget prints.
func testForget(t *testing.T, c *peopleBot) string {
	t.Helper()
	c.meet()
	telegram, page := c.people[4], c.people[9]
	for _, p := range []*botPerson{telegram, page} {
		if len(c.filesWith(p.word)) < 2 {
			t.Errorf("%s is only in %q", p.name, c.filesWith(p.word))
		}
		copies := t.TempDir()
		out, status := c.export(p, "--files", copies)
		var document map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &document); err != nil || status != 0 {
			t.Fatalf("export: %d, %v: %s", status, err, out)
		}
		for _, text := range p.said {
			if !strings.Contains(out, text) {
				t.Errorf("%s is not in the export of %s", text, p.name)
			}
		}
		for _, other := range c.people {
			if other != p && strings.Contains(out, other.word) {
				t.Errorf("%s is in the export of %s", other.word, p.name)
			}
		}
		notes, _ := filepath.Glob(filepath.Join(copies, "*-notes.txt"))
		if len(notes) != 1 || !strings.Contains(string(musttest.Get(os.ReadFile(notes[0]))(t)), p.word) {
			t.Errorf("the copies are %q", notes)
		}
	}

	var end atomic.Bool
	var work sync.WaitGroup
	for _, p := range c.people {
		if p == telegram || p == page {
			continue
		}
		work.Go(func() {
			for n := 0; !end.Load() || n < 3; n++ {
				if err := p.say(fmt.Sprint(p.word, n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	out, status := runProgram(t, "forget", "--config", c.cfg, "--yes", telegram.name)
	if status != 0 || !strings.Contains(out, "telegram:505 is removed") || !strings.Contains(out, "channels.telegram.allowFrom") {
		t.Errorf("forget: %d %s", status, out)
	}
	again, status := runProgram(t, "forget", "--config", c.cfg, "--yes", page.name)
	wanttest.Equal(t, "forget: "+again, status, 0)
	end.Store(true)
	work.Wait()
	c.checkForgotten(telegram)
	c.checkForgotten(page)
	for _, p := range c.people {
		if p == telegram || p == page {
			continue
		}
		for _, text := range p.said {
			if n := p.countAnswers(text); n != 1 {
				t.Errorf("%s was answered %d times: %.200q", text, n, p.answers())
			}
		}
		exported, _ := c.export(p)
		for _, text := range p.said {
			if strings.Count(exported, text) < 2 {
				t.Errorf("%s is not in the export of %s", text, p.name)
			}
		}
	}
	musttest.Do(t, telegram.say("again")) // is a new message
	if out, status := c.export(telegram); status != 0 || strings.Contains(out, telegram.word) {
		t.Errorf("export: %d %s", status, out)
	}
	return out
}

func TestAForgetThatIsKilledEndsWithTheNext(t *testing.T) {
	t.Parallel()
	c := newPeopleBot(t, "")
	c.meet()
	log := musttest.Get(os.OpenFile(filepath.Join(filepath.Dir(c.cfg), ".nanobot", "audit.jsonl"), os.O_RDWR, 0))(t)
	defer log.Close()
	for _, p := range []*botPerson{c.people[4], c.people[9]} {
		// In the middle, it waits for the audit log.
		musttest.Do(t, syscall.Flock(int(log.Fd()), syscall.LOCK_EX))
		forget := startProgram(t, "forget", "--config", c.cfg, "--yes", p.name)
		if strings.HasPrefix(p.name, "web:") {
			history := filepath.Join(filepath.Dir(c.cfg), ".nanobot", "web", "history.db")
			for deadline := time.Now().Add(waitTimeout); strings.Contains(string(musttest.Get(os.ReadFile(history))(t)), p.word); {
				if time.Now().After(deadline) {
					t.Fatal("the history is never forgotten")
				}
				time.Sleep(10 * time.Millisecond)
			}
		} else {
			c.awaitLog("the agents of a person who is being forgotten have ended")
		}
		forget.signal(syscall.SIGKILL)
		forget.awaitExit()
		musttest.Do(t, syscall.Flock(int(log.Fd()), syscall.LOCK_UN))
		if len(c.filesWith(p.word)) == 0 {
			t.Errorf("%s was forgotten before the kill", p.name)
		}
		mustRunProgram(t, "forget", "--config", c.cfg, "--yes", p.name)
		c.checkForgotten(p)
		log = musttest.Get(os.OpenFile(log.Name(), os.O_RDWR, 0))(t)
		defer log.Close()
	}
}

func TestForgetRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	c := newPeopleBot(t, "")
	for _, wrong := range []struct {
		args, says string
		status     int
	}{
		{"forget telegram:505", "add --yes", 2},
		{"forget --yes telegram:505", "nothing is stored of telegram:505", 1},
		{"export telegram:505", "nothing is stored of telegram:505", 1},
		{"forget --yes telegram:ada", "telegram:ID", 2},
		{"forget --yes sms:1", `there is no channel "sms"`, 2},
		{"export web:a/b", "web:USER: must be 1 to 40 letters", 2},
		{"forget", "CHANNEL:USER", 2},
	} {
		out, status := runProgram(t, append(strings.Fields(wrong.args), "--config", c.cfg)...)
		if status != wrong.status || !strings.Contains(out, wrong.says) {
			t.Errorf("%s: %d %s", wrong.args, status, out)
		}
	}
}

func TestVerifyNamesTheRecordsOfAForgottenPerson(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	text := "# Deploy\n\n## Ask\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\"}}}\n```\n"
	book, mistakes, _ := runbook.Parse(text)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	s := b.openState()
	runs := runbook.Runs{Records: s}
	r, _, err := runs.Begin(t.Context(), runbook.Start{Runbook: book, Source: runbook.WorkspaceSource("deploy"), Chat: "web:web-other"})
	musttest.Do(t, err)
	_, _, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Approve, runbook.Approval{Step: 1, By: "web:ann", Name: "Ann", Confirmation: "marker"})
	musttest.Do(t, err)
	musttest.Do(t, s.Close())
	mustRunProgram(t, "runbook", "verify", "--config", b.cfg, "--complete", r.ID)
	out, status := runProgram(t, "export", "--config", b.cfg, "web:ann")
	if status != 0 || !strings.Contains(out, `"confirmation": "marker"`) {
		t.Errorf("export: %d %s", status, out)
	}
	mustRunProgram(t, "forget", "--config", b.cfg, "--yes", "web:ann")
	for _, args := range []string{"--json", ""} {
		out, status = runProgram(t, append(strings.Fields("runbook verify "+args), "--config", b.cfg, r.ID)...)
		if status != 0 || strings.Contains(out, "marker") || !strings.Contains(out, `"forgotten":[1]`) && !strings.Contains(out, "have lost their text: step 1") {
			t.Errorf("verify %s: %d %s", args, status, out)
		}
	}
	out, status = runProgram(t, "runbook", "verify", "--config", b.cfg, "--complete", r.ID)
	if status != 1 || !strings.Contains(out, "have lost their text: step 1") {
		t.Errorf("verify: %d %s", status, out)
	}
}
