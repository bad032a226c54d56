package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// accountsBot is the real daemon with two accounts of Telegram and two of Discord, each on a server
// of its own. The first of each has no name, the second is called work.
type accountsBot struct {
	*program
	tg     [2]*telegramtest.Server
	dc     [2]*discordtest.Server
	dir    string
	cfg    string
	listen string
}

// accountsAgent says what its envelope says of the chat, and what is in the file that it got.
const accountsAgent = `read -r line
	f() { case "$line" in *"\"$1\":\""*) v=${line#*"\"$1\":\""}; printf %s "${v%%'"'*}";; *) printf -;; esac; }
	case "$line" in *'"media":["'*) v=${line#*'"media":["'}; file=" $(cat "${v%%'"'*}")";; esac
	folder=$(f user_data_dir)
	case "$line" in *'"text":"sleep'*) exec sleep 300;; esac
	echo "{\"type\":\"message\",\"text\":\"$(f text)$file: $(f channel) $(f account) $(f session_key) ${folder##*/}\"}"`

// adaDM is Ada's conversation with both accounts of Discord.
const adaDM = "5500000000000000055"

func newAccountsBot(t *testing.T) *accountsBot {
	t.Helper()
	b := &accountsBot{dir: t.TempDir(), listen: freeAddress(t)}
	b.cfg = filepath.Join(b.dir, "config.json")
	for i := range 2 {
		b.tg[i], b.dc[i] = telegramtest.New(t), discordtest.New(t)
		b.dc[i].SetDM(ada, adaDM)
	}
	b.tg[1].Token, b.tg[1].Bot.ID = "222222222:BBBdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", 222222222
	b.dc[1].Token = "MTE0OTg3NjU0MzIxMDEyMzQ1Nw.GnanoB.9876543210abcdefghijklmnopqrstuvwxyzAB"
	b.configure(t, "", `, "name": "work"`)
	return b
}

// configure writes the config. The arguments are more keys of the accounts of Telegram.
func (b *accountsBot) configure(t *testing.T, first, second string) {
	t.Helper()
	telegram := func(i int, more string) string {
		return fmt.Sprintf(`{"enabled": true, "token": %q, "apiBase": %q%s}`, b.tg[i].Token, b.tg[i].URL, more)
	}
	discord := func(i int) string {
		return fmt.Sprintf(`{"enabled": true, "token": %q, "apiBase": %q, "allowFrom": [%q]`, b.dc[i].Token, b.dc[i].URL, ada)
	}
	musttest.Do(t, os.WriteFile(filepath.Join(b.dir, "agent.sh"), []byte(accountsAgent), 0o600))
	musttest.Do(t, os.WriteFile(b.cfg, []byte(`{
		"terminal": {"command": "sh agent.sh", "protocol": "rich"},
		"channels": {
			"telegram": [`+telegram(0, `, "allowFrom": ["7"]`+first)+`, `+telegram(1, `, "allowFrom": ["7", "8"]`+second)+`],
			"discord": [`+discord(0)+`}, `+discord(1)+`, "name": "work"}],
		},
		"http": {"listen": "`+b.listen+`", "token": "`+webToken+`"},
	}`), 0o600))
}

// edit replaces a part of the config.
func (b *accountsBot) edit(t *testing.T, old, replacement string) {
	t.Helper()
	text := string(musttest.Get(os.ReadFile(b.cfg))(t))
	musttest.Do(t, os.WriteFile(b.cfg, []byte(strings.Replace(text, old, replacement, 1)), 0o600))
}

func (b *accountsBot) start(t *testing.T) {
	t.Helper()
	b.program = startProgram(t, "serve", "--config", b.cfg)
	for _, s := range b.dc {
		s.AwaitStats(t, func(s discordtest.Stats) bool { return s.Connected > 0 })
	}
}

func (b *accountsBot) stop(t *testing.T) {
	t.Helper()
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
}

// get reads a page of the operators.
func (b *accountsBot) get(t *testing.T, path string) string {
	t.Helper()
	_, body := httpGet(t, "http://"+b.listen+path, httpHeaders{"Authorization": "Bearer " + webToken})
	return body
}

// expectParts fails the test unless a text has all parts.
func expectParts(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q in %s", what, part, text)
		}
	}
}

// expectShown compares everything that the bots have said to user 7 and to Ada, by account.
func (b *accountsBot) expectShown(t *testing.T, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for i, name := range []string{"", ".work"} {
		for _, m := range b.tg[i].BotMessages(7) {
			got["telegram"+name] = append(got["telegram"+name], m.TextOrCaption())
		}
		for _, m := range b.dc[i].BotMessages(adaDM) {
			got["discord"+name] = append(got["discord"+name], m.Content)
		}
	}
	for name := range want {
		wanttest.EqualSlices(t, name+" said", got[name], want[name])
	}
}

func TestAccountsOfANetworkShareNothing(t *testing.T) {
	t.Parallel()
	b := newAccountsBot(t)
	b.start(t)
	want := map[string][]string{}
	say := func(word string) { // to all accounts, whose servers number their messages alike
		t.Helper()
		for i, where := range []string{"telegram - telegram:7 7", "telegram work telegram.work:7 work@7"} {
			text := fmt.Sprintf("%s %d contents %s %d: %s", word, i, word, i, where)
			b.tg[i].UserPosts(telegramtest.UserPost{
				Chat: 7, Text: fmt.Sprintf("%s %d", word, i),
				Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: fmt.Appendf(nil, "contents %s %d", word, i)},
			})
			b.tg[i].WaitForText(t, 7, text)
			name := []string{"telegram", "telegram.work"}[i]
			want[name] = append(want[name], text)
		}
		for i, where := range []string{"discord - discord:" + adaDM + " " + adaDM, "discord work discord.work:" + adaDM + " work@" + adaDM} {
			text := fmt.Sprintf("%s %d contents %s %d: %s", word, i, word, i, where)
			b.dc[i].UserSends(adaDM, ada, fmt.Sprintf("%s %d", word, i), discordtest.File{
				Name: "a.txt", Content: fmt.Appendf(nil, "contents %s %d", word, i),
			})
			b.dc[i].WaitForText(t, adaDM, text)
			name := []string{"discord", "discord.work"}[i]
			want[name] = append(want[name], text)
		}
	}
	say("one")
	b.expectShown(t, want)

	// Access: user 8 is on the list of one account only.
	b.tg[1].UserSends(8, "hi")
	b.tg[1].WaitForText(t, 8, "hi: telegram work telegram.work:8 work@8")
	b.tg[0].UserSends(8, "hi")
	expectParts(t, "a stranger", b.tg[0].WaitForCount(t, 8, 1)[0].TextOrCaption(), "nanobot pair ")
	mustRunProgram(t, "pair", "--config", b.cfg, "telegram.work:9")
	b.tg[1].UserSends(9, "hi")
	b.tg[1].WaitForText(t, 9, "hi: telegram work telegram.work:9 work@9")
	b.tg[0].UserSends(9, "hi")
	expectParts(t, "a stranger", b.tg[0].WaitForCount(t, 9, 1)[0].TextOrCaption(), "nanobot pair ")
	list, _ := runProgram(t, "pair", "--config", b.cfg, "--list")
	expectParts(t, "pair --list", list, "telegram.work:9", "telegram:8", "telegram.work:8", "discord.work:"+ada)
	out, status := runProgram(t, "pair", "--config", b.cfg, "telegram.wrok:9")
	wanttest.Equal(t, "status of an unknown account", status, 2)
	expectParts(t, "pair", out, `there is no channel "telegram.wrok"; use discord or discord.work or telegram or telegram.work`)

	// What operators see.
	wanttest.Equal(t, "/readyz", b.get(t, "/readyz"), "ready\n")
	expectParts(t, "/metrics", b.get(t, "/metrics"), `nanobot_channel_up{channel="telegram.work"} 1`, `nanobot_channel_up{channel="discord.work"} 1`,
		`nanobot_channel_up{channel="telegram"} 1`)
	expectParts(t, "/api/turns", b.get(t, "/api/turns"), `"telegram.work:7"`, `"discord.work:`+adaDM+`"`)
	expectParts(t, "/api/health", b.get(t, "/api/health"), `"telegram.work":{"ok":true`)
	audit := string(musttest.Get(os.ReadFile(filepath.Join(b.dir, ".nanobot", "audit.jsonl")))(t))
	expectParts(t, "audit", audit, `"channel":"telegram.work","chat":"7"`, `"channel":"telegram","chat":"7"`, `"channel":"discord.work"`)
	for _, s := range b.tg {
		if len(s.Commands("default")) == 0 {
			t.Error("an account has no menu")
		}
	}
	mustRunProgram(t, "send", "--config", b.cfg, "--chat", "telegram.work:7", "posted")
	b.tg[1].WaitForText(t, 7, "posted")
	want["telegram.work"] = append(want["telegram.work"], "posted")

	// A backup has all accounts, and each resumes after its own last message.
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	b.stop(t)
	musttest.Do(t, os.RemoveAll(filepath.Join(b.dir, ".nanobot")))
	mustRunProgram(t, "restore", "--config", b.cfg, file)
	b.start(t)
	say("two")
	b.expectShown(t, want)
	for folder, content := range map[string]string{"7": "one 0", "work@7": "one 1", adaDM: "one 0", "work@" + adaDM: "one 1"} {
		matches, _ := filepath.Glob(filepath.Join(b.dir, "users", folder, "*"))
		found := false
		for _, path := range matches {
			text := string(musttest.Get(os.ReadFile(path))(t))
			found = found || text == "contents "+content
			if !strings.HasSuffix(text, content[len(content)-1:]) {
				t.Errorf("%s has %q", path, text)
			}
		}
		if !found {
			t.Errorf("the folder %s has %q", folder, matches)
		}
	}
	records := column(t, openDatabase(t, filepath.Join(b.dir, ".nanobot", "nanobot.db")), "SELECT DISTINCT substr(key, 1, instr(key, '/')) FROM record WHERE key LIKE 'file:%' ORDER BY 1")
	wanttest.EqualSlices(t, "records", records, []string{"file:" + adaDM + "/", "file:7/", "file:work@" + adaDM + "/", "file:work@7/"})
}

func TestAnAccountThatFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := newAccountsBot(t)
	b.start(t)
	answered := func(word string) {
		t.Helper()
		b.tg[1].UserSends(7, word)
		b.tg[1].WaitForText(t, 7, word+": telegram work telegram.work:7 work@7")
		b.dc[1].UserSends(adaDM, ada, word)
		b.dc[1].WaitForText(t, adaDM, word+": discord work discord.work:"+adaDM+" work@"+adaDM)
	}
	b.tg[0].SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendMessage" {
			return telegramtest.RateLimited(3600)
		}
		return telegramtest.Fault{}
	})
	b.tg[0].UserSends(7, "too much")
	b.awaitLog("send failed, will retry")
	answered("while one is told to wait")

	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	hung := make(chan struct{}, 100)
	b.tg[0].SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendMessage" {
			hung <- struct{}{}
			return telegramtest.Fault{HangUntil: hang}
		}
		return telegramtest.Fault{}
	})
	b.dc[0].SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.CreateMessage {
			return discordtest.Fault{HangUntil: hang}
		}
		return discordtest.Fault{}
	})
	b.tg[0].UserSends(8, "a stranger is told nothing")
	b.dc[0].UserSends(adaDM, ada, "hung")
	<-hung
	answered("while one hangs")
	b.tg[0].UserSends(7, "sleep")
	answered("while an agent hangs")
	if shown := b.tg[0].BotMessages(7); len(shown) > 0 {
		t.Errorf("the account that fails says %+v", shown)
	}
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	b.tg[0].SetFault(nil)
	b.dc[0].SetFault(nil)

	b.edit(t, b.tg[0].Token, "333333333:CCCdqTcvCH1vGWJxfSeofSAs0K5PALDsaw")
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.awaitLog("ready")
	awaitResponse(t, "http://"+b.listen+"/readyz", 503, "not ready telegram\n")
	answered("while a token is wrong")
	expectParts(t, "/metrics", b.get(t, "/metrics"), `nanobot_channel_up{channel="telegram"} 0`, `nanobot_channel_up{channel="telegram.work"} 1`)
	b.stop(t)
	out, _ := runProgram(t, "doctor", "--config", b.cfg, "--no-turn")
	expectParts(t, "doctor", out, "where channels.telegram[0].token says", "telegram.work.token", "discord.work.token")
}

func TestAccountsAreReadAtTheStartAndTheirAccessListsAtSIGHUP(t *testing.T) {
	t.Parallel()
	b := newAccountsBot(t)
	b.start(t)
	b.tg[1].UserSends(7, "hi")
	b.tg[1].WaitForText(t, 7, "hi: telegram work telegram.work:7 work@7")
	b.configure(t, `, "name": "home"`, `, "name": "work"`)
	b.edit(t, `["7", "8"]`, `["7", "11"]`)
	b.signal(syscall.SIGHUP)
	b.awaitLog("the accounts in the config have changed; restart the daemon to use them")
	b.awaitLog("config reloaded")
	for i, where := range []string{"telegram - telegram:7 7", "telegram work telegram.work:7 work@7"} {
		b.tg[i].UserSends(7, "still here")
		b.tg[i].WaitForText(t, 7, "still here: "+where)
		b.tg[i].UserSends(10, "let me in")
		expectParts(t, "a stranger", b.tg[i].WaitForCount(t, 10, 1)[0].TextOrCaption(), "nanobot pair ")
	}
	b.tg[1].UserSends(11, "me too")
	b.tg[1].WaitForText(t, 11, "me too: telegram work telegram.work:11 work@11")
	b.configure(t, `, "name": "home"`, `, "name": "elsewhere"`) // the list of work stays as it was last
	b.signal(syscall.SIGHUP)
	b.awaitLog(`"telegram.elsewhere"`)
	b.tg[1].UserSends(11, "still me")
	b.tg[1].WaitForText(t, 11, "still me: telegram work telegram.work:11 work@11")
	b.tg[1].UserSends(8, "let me in")
	expectParts(t, "somebody who was removed", b.tg[1].WaitForCount(t, 8, 1)[0].TextOrCaption(), "nanobot pair ")
	b.configure(t, `, "name": "home"`, `, "name": "work"`)
	b.stop(t)

	const warning = `the state has chats of the account without a name, which is no longer in channels.telegram`
	out, status := runProgram(t, "check-config", "--config", b.cfg)
	if status != 0 || !strings.Contains(out, warning) || strings.Contains(out, `"work"`) {
		t.Errorf("check-config: status %d, %s", status, out)
	}
	b.start(t)
	expectParts(t, "log", b.log(), warning)
	b.tg[0].UserSends(7, "again")
	b.tg[0].WaitForText(t, 7, "again: telegram home telegram.home:7 home@7")
	b.stop(t)
	b.configure(t, "", `, "name": "other"`)
	out, _ = runProgram(t, "check-config", "--config", b.cfg)
	expectParts(t, "check-config", out, `the account "home"`, `the account "work"`)
	musttest.Do(t, os.RemoveAll(filepath.Join(b.dir, ".nanobot")))
	if out, _ = runProgram(t, "check-config", "--config", b.cfg); strings.Contains(out, "the state has") {
		t.Errorf("without a state: %s", out)
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".nanobot")); err == nil {
		t.Error("check-config has made a state")
	}
}
