package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// killedAccountsAgent answers question 17 with its own name, 17 and the chat's folder, which also
// gets the question.
const killedAccountsAgent = `read -r line; text=${line#*'"text":"'}; n=${text%%'"'*}
	echo "$1 $n" >>"$NANOBOT_USER_DATA_DIR/seen"
	echo "{\"type\":\"message\",\"text\":\"$1 $n ${NANOBOT_USER_DATA_DIR##*/}\"}"`

// TestFourAccountsOfAKilledDaemonLoseAndMixNothing kills a daemon with two Telegram and two Discord
// accounts again and again, while the same person writes to all of them, in chats whose IDs are the
// same on both accounts of a network. With NANOBOT_LONG=1 there are 150 kills.
func TestFourAccountsOfAKilledDaemonLoseAndMixNothing(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 8, 150)
	seed := killtest.Seed()
	all, cfg := newAccounts(t, seed)
	showDaemonLog(t, cfg, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killtest.KillLoop{
		Random: random, Kills: kills,
		Write: func(random *rand.Rand) {
			if a := all[random.IntN(len(all))]; a.asked-a.countAnswered() < 3 {
				a.asked++
				a.ask(fmt.Sprint(a.asked), 0)
			}
		},
		Start: func() (*killtest.Child, func() bool) {
			before, _ := os.ReadFile(cfg + ".log") // the first has none
			return startDaemon(t, cfg), func() bool {
				log, _ := os.ReadFile(cfg + ".log")
				return strings.Contains(string(log[min(len(before), len(log)):]), `"ready"`)
			}
		},
		Killed: func() {
			for _, a := range all {
				if a.disconnected != nil && !a.disconnected(telegramtest.WaitLimit) {
					t.Fatal("the daemon is dead and its connections are not")
				}
			}
		},
	}.Run(t)
	daemon := startDaemon(t, cfg)
	open := func() (n int) {
		for _, a := range all {
			n += a.asked - a.countAnswered()
		}
		return n
	}
	for deadline := time.Now().Add(waitTimeout); open() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d questions were never answered", open())
		}
	}
	if err := daemon.End(); err != nil {
		t.Errorf("the last daemon: %v", err)
	}
	asked := 0
	for _, a := range all {
		a.check(t, filepath.Dir(cfg))
		asked += a.asked
	}
	t.Logf("%d kills, %d questions", kills, asked)
}

// testAccount is one of several accounts and the chat of a person with it.
type testAccount struct {
	agent, folder string
	url           string
	telegram      *telegramtest.Server // nil: it is on another network
	marks         bool                 // a repeated answer is marked, since the network has no key for it
	ask           func(text string, files int)
	messages      func() []accountMessage
	disconnected  func(time.Duration) bool // waits until no daemon is connected; nil: it need not be awaited
	receivers     func() []string          // the addresses that have received on this account, in order
	album         int                      // how many files a person sends at once
	asked         int
}

// accountMessage is a message of the bot with its files; an album is one message.
type accountMessage struct {
	text  string
	files int
}

// telegramMessages returns the bot's messages in a chat.
func telegramMessages(api *telegramtest.Server, chat int64) (all []accountMessage) {
	group := ""
	for _, m := range api.BotMessages(chat) {
		files := 0
		if m.File() != nil {
			files = 1
		}
		if group != "" && m.MediaGroupID == group {
			all[len(all)-1].files += files
			continue
		}
		group = m.MediaGroupID
		all = append(all, accountMessage{m.TextOrCaption(), files})
	}
	return all
}

// newAccounts starts the networks of four accounts, each of which has its own agent, and writes
// their config.
func newAccounts(t *testing.T, seed uint64) (all []*testAccount, cfg string) {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, filepath.Join(dir, ".nanobot"))
	sections := map[string][]string{}
	add := func(network, name, section string, a *testAccount) {
		if a.agent = strings.TrimSuffix(network+"-"+name, "-"); name != "" {
			section = `"name": "` + name + `", ` + section
			a.folder = name + "@" + a.folder
		}
		sections[network] = append(sections[network], `{`+section+`}`)
		all = append(all, a)
	}
	const user = "7000000000000000007"
	for i, name := range []string{"", "work"} {
		api := telegramtest.New(t)
		api.SetFault(randomDelays(rand.New(rand.NewPCG(seed, uint64(i+1)))))
		token := fmt.Sprintf("telegram%d", i)
		musttest.Do(t, os.WriteFile(filepath.Join(dir, token), []byte(api.Token), 0o600))
		add("telegram", name, `"enabled": true, "token": "file:`+token+`", "apiBase": "`+api.URL+`", "allowFrom": ["7", "8"]`, &testAccount{
			folder: "7", url: api.URL, telegram: api, marks: true, disconnected: api.AwaitDisconnected, album: len(fullAlbum()),
			ask:      func(text string, files int) { askOnTelegram(api, 7, text, files) },
			messages: func() []accountMessage { return telegramMessages(api, 7) },
			receivers: func() (all []string) {
				for _, c := range api.Calls("getUpdates") {
					all = append(all, c.From)
				}
				return all
			},
		})
	}
	for i, name := range []string{"", "work"} {
		api := discordtest.New(t)
		api.SetFault(discordRandomDelays(rand.New(rand.NewPCG(seed, uint64(i+3)))))
		const chat = "8000000000000000008"
		api.SetDM(user, chat)
		token := fmt.Sprintf("discord%d", i)
		musttest.Do(t, os.WriteFile(filepath.Join(dir, token), []byte(api.Token), 0o600))
		add("discord", name, `"enabled": true, "token": "file:`+token+`", "apiBase": "`+api.URL+`", "allowFrom": ["`+user+`"]`, &testAccount{
			folder: chat, url: api.URL, album: 3, receivers: func() []string { return api.Stats().From },
			ask: func(text string, files int) {
				api.UserSends(chat, user, text, slices.Repeat([]discordtest.File{{Name: "a.png", Content: telegramtest.PNG(30, 30)}}, files)...)
			},
			messages: func() (all []accountMessage) {
				for _, m := range api.BotMessages(chat) {
					all = append(all, accountMessage{m.Content, len(m.Attachments)})
				}
				return all
			},
		})
	}
	var agents, routes []string
	for _, a := range all {
		channel := strings.Replace(a.agent, "-", ".", 1)
		agents = append(agents, `"`+a.agent+`": {"command": "sh agent.sh `+a.agent+`", "protocol": "rich"}`)
		routes = append(routes, `{"match": {"channel": "`+channel+`"}, "agent": "`+a.agent+`"}`)
	}
	cfg = filepath.Join(dir, "config.json")
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(killedAccountsAgent), 0o600))
	musttest.Do(t, os.WriteFile(cfg, []byte(`{
		"terminal": {"command": "sh agent.sh nobody", "protocol": "rich"},
		"agents": {`+strings.Join(agents, ", ")+`},
		"routes": [`+strings.Join(routes, ", ")+`],
		"channels": {"telegram": [`+strings.Join(sections["telegram"], ", ")+`], "discord": [`+strings.Join(sections["discord"], ", ")+`]},
		"gateway": {"maxConcurrent": 8, "onCrash": "retry"},
	}`), 0o600))
	return all, cfg
}

// askOnTelegram sends a question: a text, a photo or an album.
func askOnTelegram(api *telegramtest.Server, chat int64, text string, files int) {
	p := telegramtest.UserPost{Chat: chat, Text: text}
	switch media := fullAlbum(); files {
	case len(media):
		api.UserSendsAlbum(p, media...)
	case 1:
		p.Media = &media[0]
		fallthrough
	default:
		api.UserPosts(p)
	}
}

// shown returns the answers and the reports of turns that were cut off too often, in order. A board
// stays when nobody got the answer to the call that has sent it.
func (a *testAccount) shown() (all []string) {
	for _, m := range a.messages() {
		if !strings.HasPrefix(m.text, "Queued") && !strings.HasPrefix(m.text, "⏳") {
			all = append(all, m.text)
		}
	}
	return all
}

// countAnswered returns how many questions have their answer or a report.
func (a *testAccount) countAnswered() int {
	settled := map[string]bool{}
	for i, text := range a.shown() {
		text = strings.TrimPrefix(text, "↻ ")
		if strings.HasPrefix(text, "I was restarted") {
			text = fmt.Sprint(text, i)
		}
		settled[text] = true
	}
	return len(settled)
}

// check checks what the chat shows: the answers of its own agent, in order, each once.
func (a *testAccount) check(t *testing.T, workspace string) {
	t.Helper()
	for _, fault := range a.findFaults() {
		t.Errorf("%s, which shows %q", fault, a.shown())
	}
	if a.asked == 0 || a.countAnswered() < a.asked {
		t.Errorf("%s: %d asked, %d answered or reported", a.agent, a.asked, a.countAnswered())
	}
	log := musttest.Get(os.ReadFile(filepath.Join(workspace, "users", a.folder, "seen")))(t)
	for line := range strings.Lines(string(log)) {
		if !strings.HasPrefix(line, a.agent+" ") {
			t.Errorf("the folder %s was used by another agent: %q", a.folder, line)
		}
	}
}

// findFaults returns what the chat shows that it must not.
func (a *testAccount) findFaults() (faults []string) {
	latest, seen := 0, map[int]bool{}
	for _, text := range a.shown() {
		text, marked := strings.CutPrefix(text, "↻ ")
		if strings.HasPrefix(text, "I was restarted") {
			continue
		}
		var agent, folder string
		var n int
		if _, err := fmt.Sscan(text, &agent, &n, &folder); err != nil || agent != a.agent || folder != a.folder || n < 1 || n > a.asked {
			faults = append(faults, fmt.Sprintf("%s: nobody said %q", a.agent, text))
			continue
		}
		if seen[n] && (!marked || !a.marks) {
			faults = append(faults, fmt.Sprintf("%s: the answer %d is there twice", a.agent, n))
		}
		if !seen[n] && n < latest {
			faults = append(faults, fmt.Sprintf("%s: the answer %d is behind %d", a.agent, n, latest))
		}
		seen[n], latest = true, max(latest, n)
	}
	return faults
}
