package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// The people of these tests. Ada is let in.
const (
	ada = "4200000000000000042"
	bob = "4300000000000000043"
)

// discordSetup is a bot on Discord: its agent, and what its sections say beyond the usual, as JSON
// that begins with a comma.
type discordSetup struct {
	agent                      string // a shell script
	command                    string // in its stead
	protocol                   string // "" is rich
	terminal, channel, gateway string
	allow                      []string // whom it lets in; nil is Ada
}

// writeConfig puts the config and the agent into a folder of their own and returns the config's
// path.
func (s discordSetup) writeConfig(t testing.TB, api *discordtest.Server) string {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, filepath.Join(dir, ".nanobot"))
	allow := s.allow
	if allow == nil {
		allow = []string{ada}
	}
	for name, content := range map[string]string{
		"agent.sh": s.agent, "token": api.Token,
		"config.json": `{
			"terminal": {"command": ` + strconv.Quote(cmp.Or(s.command, "sh agent.sh")) + `, "protocol": "` + cmp.Or(s.protocol, "rich") + `"` + s.terminal + `},
			"channels": {"discord": {"enabled": true, "token": "file:token", "apiBase": "` + api.URL + `",
				"allowFrom": ["` + strings.Join(allow, `", "`) + `"]` + s.channel + `}},
			"gateway": {"maxConcurrent": 8` + s.gateway + `},
		}`,
		"a.png": "picture a", "b.png": "picture b", "c.pdf": "paper c",
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return filepath.Join(dir, "config.json")
}

// discordBot is the real daemon against a strict Discord on loopback.
type discordBot struct {
	*program
	test *testing.T
	api  *discordtest.Server
	dm   string // Ada's conversation with the bot
	cfg  string
}

func startDiscordBot(t *testing.T, s discordSetup) *discordBot {
	t.Helper()
	b := &discordBot{test: t, api: discordtest.New(t)}
	b.dm = b.api.DM(ada).ID
	b.cfg = s.writeConfig(t, b.api)
	b.start()
	return b
}

// start starts the daemon and waits until it is connected.
func (b *discordBot) start() {
	b.test.Helper()
	before := b.api.Stats().Readies
	b.program = startProgram(b.test, "serve", "--config", b.cfg)
	b.api.AwaitStats(b.test, func(s discordtest.Stats) bool { return s.Readies > before && s.Connected > 0 })
}

func (b *discordBot) stop() {
	b.t.Helper()
	b.signal(syscall.SIGTERM)
	wanttest.Equal(b.t, "status", b.awaitExit(), 0)
}

// texts are what a chat shows of the bot.
func (b *discordBot) texts(channel string) (all []string) {
	for _, m := range b.api.BotMessages(channel) {
		all = append(all, m.Content)
	}
	return all
}

func TestDiscordTextAndFilesBothWays(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: `read -r line
		case "$line" in *'"media":'*) n=$(printf %s "${line#*'"media":'}" | cut -d']' -f1 | tr -cd , | wc -c); echo "{\"type\":\"message\",\"text\":\"got $((n + 1)) files\"}";;
		*album*) echo '{"type":"message","text":"**three**","media":["'$PWD'/a.png","'$PWD'/b.png","'$PWD'/c.pdf"]}';;
		*) echo '{"type":"message","text":"Hello *there*, @everyone"}';; esac`})
	asked := b.api.UserSends(b.dm, ada, "hi")
	m := b.api.WaitForText(t, b.dm, "Hello *there*, @everyone")
	if m.Pinged || m.Reference == nil || m.Reference.MessageID != asked.ID {
		t.Errorf("shown is %+v", m)
	}
	b.api.UserSends(b.dm, ada, "album please")
	m = b.api.WaitForText(t, b.dm, "**three**")
	if len(m.Attachments) != 3 || string(m.Attachments[2].Content) != "paper c" || m.Attachments[0].Filename != "a.png" {
		t.Errorf("the files are %+v", m.Attachments)
	}
	b.api.UserSends(b.dm, ada, "look", discordtest.File{Name: "x.png", Content: []byte("x")}, discordtest.File{Name: "y.mp4", Content: []byte("y")})
	b.api.WaitForText(t, b.dm, "got 2 files")
	b.stop()
}

func TestDiscordMessagesSentWhileTheDaemonWasDownAreAnswered(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: echo})
	g := b.api.AddGuild("home")
	ch := b.api.AddChannel(g.ID, "general").ID
	me := "<@" + b.api.Bot.ID + "> "
	b.api.UserSends(b.dm, ada, "one")
	b.api.UserSends(ch, ada, me+"one")
	b.api.WaitForText(t, b.dm, "you said one")
	b.api.WaitForText(t, ch, "you said one")
	b.stop()
	b.api.UserSends(b.dm, ada, "two")
	b.api.UserSends(ch, ada, "not to you")
	b.api.UserSends(ch, ada, me+"two")
	b.start()
	b.api.WaitForText(t, b.dm, "you said two")
	b.api.WaitForText(t, ch, "you said two")
	for _, c := range []string{b.dm, ch} {
		if all, ok := b.api.AwaitMessages(c, waitTimeout, func(all []discordtest.Message) bool {
			return !slices.ContainsFunc(all, func(m discordtest.Message) bool { return isTemporary(m.Content) })
		}); !ok {
			t.Fatalf("something temporary stays: %+v", all)
		}
	}
	b.stop()
	for _, c := range []string{b.dm, ch} {
		wanttest.EqualSlices(t, "the chat shows", b.texts(c), []string{"you said one", "you said two"})
	}
}

func TestDiscordStopButtonAndStrangers(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: `echo '{"type":"progress","text":"working"}'; exec sleep 300`})
	b.api.UserSends(b.dm, ada, "work")
	transient := b.api.WaitForText(t, b.dm, "⏳ working")
	for deadline := time.Now().Add(discordtest.WaitLimit); b.api.TypingCount(b.dm) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody has typed")
		}
	}
	i := musttest.Get(b.api.UserPresses(ada, transient.ID, "stop:1"))(t)
	b.api.AwaitInteraction(t, i.ID)
	b.api.WaitForText(t, b.dm, "Stopped.")
	if shown, gone := b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool { return len(all) == 1 }); !gone {
		t.Errorf("the progress stays: %+v", shown)
	}
	dm := b.api.DM(bob).ID
	b.api.UserSends(dm, bob, "let me in")
	if shown := b.api.WaitForCount(t, dm, 1); !strings.Contains(shown[0].Content, "nanobot pair ") {
		t.Errorf("a stranger is told %q", shown[0].Content)
	}
	b.stop()
}

func TestDiscordQuestionsAreAnsweredByButtonOrList(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{
		agent: `read -r line
			case "$line" in *many*) options='"o1","o2","o3","o4","o5","o6","o7","o8","o9","o10","o11","o12"';; *) options='"Red","Blue"';; esac
			echo "{\"type\":\"ask\",\"id\":\"q\",\"text\":\"Which one?\",\"options\":[$options]}"
			read -r answer; text=${answer#*'"text":"'}; echo "{\"type\":\"message\",\"text\":\"you chose ${text%%'"'*}\"}"`,
		terminal: `, "interactive": true`,
	})
	// Who is quicker than the end of the last turn is first told that they wait, with a button.
	open := func(m discordtest.Message) bool {
		return len(m.Buttons()) > 0 && !strings.HasPrefix(m.Content, queuedNotice)
	}
	ask := func(text string) discordtest.Message {
		t.Helper()
		b.api.UserSends(b.dm, ada, text)
		shown, ok := b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
			return len(all) > 0 && open(all[len(all)-1])
		})
		if !ok {
			t.Fatalf("no question is shown: %+v", shown)
		}
		return shown[len(shown)-1]
	}
	few := ask("few")
	musttest.Get(b.api.UserPresses(ada, few.ID, few.Buttons()[1].CustomID))(t)
	b.api.WaitForText(t, b.dm, "you chose Blue")
	many := ask("many")
	list := many.Buttons()[0]
	musttest.Get(b.api.UserPresses(ada, many.ID, list.CustomID, list.Options[11].Value))(t)
	b.api.WaitForText(t, b.dm, "you chose o12")
	if shown, ok := b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
		return !slices.ContainsFunc(all, open)
	}); !ok {
		t.Errorf("questions that were answered can be answered again: %+v", shown)
	}
	b.stop()
}

func TestDiscordSlashCommands(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: echo})
	g := b.api.AddGuild("home")
	ch := b.api.AddChannel(g.ID, "general").ID
	if calls, ok := b.api.AwaitCalls(discordtest.PutCommands, discordtest.WaitLimit, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done }); !ok {
		t.Fatalf("the commands are registered with %+v", calls)
	}
	musttest.Get(b.api.UserRunsCommand(ch, ada, "ask", map[string]any{"text": "hello"}))(t)
	asked := b.api.WaitForText(t, ch, "> hello")
	if m := b.api.WaitForText(t, ch, "you said hello"); m.Reference == nil || m.Reference.MessageID != asked.ID {
		t.Errorf("the answer refers to %+v", m.Reference)
	}
	musttest.Get(b.api.UserRunsCommand(ch, ada, "whoami", nil))(t)
	b.api.WaitForText(t, ch, "user id: "+ada+"\nchat: discord:"+ch)
	b.stop()
	b.start()
	b.api.UserSends(b.dm, ada, "again")
	b.api.WaitForText(t, b.dm, "you said again")
	b.stop()
	wanttest.Equal(t, "the same commands were registered … times:", len(b.api.Calls(discordtest.PutCommands)), 1)
}

func TestDiscordThreads(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: echo, channel: `, "thread": true`})
	g := b.api.AddGuild("home")
	ch := b.api.AddChannel(g.ID, "general").ID
	m := b.api.UserSends(ch, ada, "<@"+b.api.Bot.ID+"> one")
	b.api.WaitForText(t, m.ID, "you said one") // a thread has the ID of its first message
	b.api.UserSends(m.ID, ada, "two")
	b.api.WaitForText(t, m.ID, "you said two")
	b.stop()
}
