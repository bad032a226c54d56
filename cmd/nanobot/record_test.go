package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// recorded returns the only cassette of the bot, whose daemon has ended, and its path.
func (b *telegramBot) recorded() (string, *cassette.Cassette) {
	b.t.Helper()
	paths := musttest.Get(filepath.Glob(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "recorded", "*"+cassette.Suffix)))(b.t)
	if len(paths) != 1 {
		b.t.Fatalf("the cassettes are %q", paths)
	}
	return paths[0], musttest.Get(cassette.Read(paths[0]))(b.t)
}

func lineTypes(c *cassette.Cassette) (types []cassette.Type) {
	for _, l := range c.Lines {
		types = append(types, l.Type)
	}
	return types
}

const filingAgent = `read -r line; text=${line#*'"text":"'}
	echo '{"type":"progress","text":"thinking"}'
	echo "a file" >"$NANOBOT_USER_DATA_DIR/out.txt"
	echo "{\"type\":\"message\",\"text\":\"**you** said ${text%%'"'*}\",\"media\":[\"$NANOBOT_USER_DATA_DIR/out.txt\"]}"
	echo '{"type":"message","text":"and ` + "`code`" + `, in 🎉 *two* parts"}'`

func TestATurnOfTheDaemonIsRecordedReplayedAndPlayed(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "nanobot")
	linkProgram(t, program)
	b := startTelegramBot(t, telegramSetup{agent: filingAgent, gateway: `, "record": "recorded"`})
	b.api.UserSends(7, "hello")
	b.api.WaitForText(t, 7, "and code, in 🎉 two parts")
	b.lasting(7)
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)

	path, c := b.recorded()
	types := lineTypes(c)
	for _, want := range []cassette.Type{cassette.TypeFrame, cassette.TypeSend, cassette.TypeReceipt, cassette.TypeExit} {
		if types[0] != cassette.TypeEnvelope || !slices.Contains(types, want) {
			t.Errorf("there is no %s in %v", want, types)
		}
	}
	wanttest.Equal(t, "protocol", c.Header.Protocol, "rich")
	wanttest.Equal(t, "text", c.Lines[0].Envelope.Text, "hello")
	messages := b.api.BotMessages(7)
	var receipts, ids []string
	for _, l := range c.Lines {
		if l.Receipt != nil {
			receipts = append(receipts, l.Receipt.State+" "+l.Receipt.MessageID)
		}
	}
	for _, m := range messages {
		ids = append(ids, fmt.Sprint("sent ", m.ID))
	}
	wanttest.EqualSlices(t, "receipts", receipts, ids)
	for _, private := range []string{path, filepath.Dir(path), cassette.FilesDir(path)} {
		if info := musttest.Get(os.Stat(private))(t); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", private, info.Mode())
		}
	}

	out, status := runProgram(t, "replay", "--config", b.cfg, "--compare", "exact", filepath.Dir(path))
	wanttest.Equal(t, "status of "+out, status, 0)

	played := startTelegramBot(t, telegramSetup{command: terminal.ShellQuote(program) + " replay --as-agent " + terminal.ShellQuote(path)})
	played.api.UserSends(7, "hello")
	played.api.WaitForText(t, 7, "and code, in 🎉 two parts")
	played.lasting(7)
	played.signal(syscall.SIGTERM)
	played.awaitExit()
	shown := func(all []telegramtest.Message) (texts []string) {
		for _, m := range all {
			document := ""
			if m.Document != nil {
				document = m.Document.FileName
			}
			texts = append(texts, fmt.Sprint(m.TextOrCaption(), m.Entities, m.CaptionEntities, document))
		}
		return texts
	}
	wanttest.EqualSlices(t, "played is", shown(played.api.BotMessages(7)), shown(messages))
}

// leakingAgent prints every secret that it has, and a secret answer.
const leakingAgent = `read -r line
	echo '{"type":"ask","id":"q","text":"Password?","secret":true}'
	read -r answer; answer=${answer#*'"text":"'}; answer=${answer%%'"'*}
	say() { echo "{\"type\":\"message\",\"text\":\"$1\"}"; }
	half=${SERVICE_API_KEY%????????}
	echo "{\"type\":\"message\",\"delta\":true,\"text\":\"it is $half\"}"
	echo "{\"type\":\"message\",\"delta\":true,\"text\":\"${SERVICE_API_KEY#$half} ok\"}"
	say "you said $answer"; say "the key is $SERVICE_API_KEY"; say "the token is $NANOBOT_CHAT_TOKEN."
	say "Authorization: Bearer header-of-mine-0815"
	echo "{\"type\":\"progress\",\"text\":\"with $SERVICE_API_KEY\"}"
	echo "{\"type\":\"log\",\"text\":\"$SERVICE_API_KEY\"}"
	echo "oh no: $SERVICE_API_KEY, $answer" >&2
	say "and $(cat "$PWD/token")"
	say end`

func TestNoSecretIsInACassette(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	b := &telegramBot{api: api}
	b.cfg = telegramSetup{agent: leakingAgent, terminal: `, "interactive": true`, gateway: `, "record": "recorded"`}.writeConfig(t, api)
	key := "sv-key-2718281828459045"
	b.program = startProgramWith(t, []string{"SERVICE_API_KEY=" + key}, "serve", "--config", b.cfg)
	api.UserSends(7, "log in")
	b.awaitMessage(7, "Password?")
	api.UserSends(7, password)
	api.WaitForText(t, 7, "end")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	path, c := b.recorded()
	content := musttest.Get(os.ReadFile(path))(t)
	for what, secret := range map[string]string{
		"key": key, "end of the key": key[8:], "beginning of the key": key[:15], "answer": password,
		"header": "header-of-mine-0815", "token of the network": api.Token,
	} {
		if i := bytes.Index(content, []byte(secret)); i >= 0 {
			t.Errorf("the %s is in the cassette: …%s…", what, content[max(0, i-200):i+len(secret)])
		}
	}
	texts := 0
	for _, l := range c.Lines {
		if l.Frame != nil && strings.HasPrefix(l.Frame.Text, "the token is ") {
			texts++
			wanttest.Equal(t, "the chat's token is", l.Frame.Text, "the token is [secret].")
		}
	}
	wanttest.Equal(t, "messages with the token", texts, 1)
}

func TestACommonVariableOfAnMCPServerIsNoSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true", "protocol": "acp", "mcpServers": {"a": {
		"command": "true", "env": {"DEBUG": "1", "KEY": "a-literal-key"}}}}}`), 0o600))
	environ, secrets, _ := cassetteSecrets(musttest.Get(config.Load(path, nil, extensions()))(t))
	text := cassette.NewRedactor(environ, secrets...).Text("step 1 with a-literal-key")
	wanttest.Equal(t, "text", text, "step 1 with [secret]")
}

func TestAKilledDaemonLeavesWhatItHasRecorded(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		agent:   `echo '{"type":"message","text":"begun"}'; [ -e go ] || exec sleep 300; echo '{"type":"message","text":"over"}'`,
		gateway: `, "record": "recorded", "onCrash": "retry"`,
	})
	b.api.UserSends(7, "work")
	b.api.WaitForText(t, 7, "begun")
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	path, c := b.recorded()
	wanttest.EqualSlices(t, "it has", lineTypes(c)[:2], []cassette.Type{cassette.TypeEnvelope, cassette.TypeFrame})
	if slices.Contains(lineTypes(c), cassette.TypeExit) {
		t.Errorf("it has %v", lineTypes(c))
	}
	// a line that the crash has cut
	f := musttest.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	musttest.Get(f.WriteString(`{"at":12,"type":"fra`))(t)
	musttest.Do(t, f.Close())
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.api.WaitForText(t, 7, "over")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	_, c = b.recorded()
	attempt := musttest.Get(c.Attempt())(t)
	wanttest.Equal(t, "attempt", attempt[0].Envelope.Attempt, 2)
	if !slices.Contains(lineTypes(c), cassette.TypeExit) || c.Cut {
		t.Errorf("the second attempt has %v", lineTypes(c))
	}
}

func TestAFolderOfCassettesThatAgentsReachIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	musttest.Do(t, os.Mkdir(open, 0o755))
	musttest.Do(t, os.Chmod(open, 0o755))
	musttest.Do(t, os.Symlink(filepath.Join(dir, "work"), filepath.Join(dir, "link")))
	for _, test := range []struct{ record, cwd, state, want string }{
		{"recorded", "", "", ""},
		{"/srv/cassettes", "", "", ""},
		{filepath.Join(dir, "beside"), "", "", ""},
		{"../users/7", "", "", "must not be in or around"},
		{"../recorded", "", "", "must be out of reach of agents"},
		{"..", "", "", "must not be in or around"},
		{dir, "", "", "must not be in or around"},
		{filepath.Join(dir, "link", "recorded"), "", "", "must be out of reach of agents"},
		{filepath.Join(dir, "agent", "recorded"), filepath.Join(dir, "agent"), "", "must be out of reach of agents"},
		{filepath.Join(dir, "agent"), filepath.Join(dir, "agent", "deep"), "", "must be out of reach of agents"},
		{"recorded", "", ".", "must be out of reach of agents"},
		{"recorded", ".nanobot", "", "must be out of reach of agents"},
		{"spool", "", "", "must be a folder of its own"},
		{".", "", "", "must be a folder of its own"},
		{open, "", "", "can be used by others: run chmod 700"},
	} {
		t.Run(test.record, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			musttest.Do(t, os.WriteFile(path, fmt.Appendf(nil, `{
				"workspace": %q,
				"terminal": {"command": "true"},
				"agents": {"other": {"command": "true", "cwd": %q}},
				"gateway": {"stateDir": %q,
					"record": %q},
			}`, filepath.Join(dir, "work"), test.cwd, test.state, test.record), 0o600))
			cfg := musttest.Get(config.Load(path, nil, extensions()))(t)
			_, err := newSettings(cfg, agentHost{}, zap.NewNop())
			switch {
			case test.want == "" && (err != nil || !slices.Contains(privatePaths(cfg), cfg.Gateway.Record)):
				t.Errorf("%v; private are %q", err, privatePaths(cfg))
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), "config.json:6:") ||
				!strings.Contains(err.Error(), "gateway.record: ") || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestAReloadBeginsToRecordAlsoMessagesDuringATurn(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		agent: `read -r line; case $line in *'"before"'*) echo '{"type":"message","text":"not recorded"}'; exit;; esac
			echo '{"type":"message","text":"go on"}'; read -r more; echo '{"type":"message","text":"over"}'`,
		terminal: `, "interactive": true`, gateway: `, "whileRunning": "inject"`,
	})
	b.api.UserSends(7, "before")
	b.api.WaitForText(t, 7, "not recorded")
	b.replaceInConfig(`"whileRunning": "inject"`, `"whileRunning": "inject", "record": "recorded"`)
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.api.UserSends(7, "begin")
	b.api.WaitForText(t, 7, "go on")
	b.api.UserSends(7, "and this")
	b.api.WaitForText(t, 7, "over")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	_, c := b.recorded()
	for _, l := range c.Lines {
		if l.Inject != nil && l.Inject.Text == "and this" && l.Inject.User != nil && l.Inject.User.ID == "7" {
			return
		}
	}
	t.Errorf("no message is in %+v", c.Lines)
}
