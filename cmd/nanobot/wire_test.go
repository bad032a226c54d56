package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/keys"
)

const (
	telegramToken = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
	discordToken  = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"
)

// brokenConfigs are configs that serve refuses with 78, and a part of the reason.
var brokenConfigs = map[string]struct {
	config string
	want   string
}{
	"no JSON":                  {`{"terminal": `, "config.json:1:"},
	"unknown key":              {`{"terminal": {"comand": "x"}}`, "terminal.comand"},
	"message as code":          {`{"terminal": {"command": "sh -c {message}"}}`, "sh would evaluate {message} as code"},
	"stdin that is unknown":    {`{"terminal": {"command": "x", "stdin": "json"}}`, "terminal.stdin"},
	"file is missing":          {configWith(`"telegram": {"enabled": true, "token": "file:missing.txt"}`), "channels.telegram.token: read secret"},
	"file is empty":            {configWith(`"telegram": {"enabled": true, "token": "file:empty.txt"}`), "empty.txt is empty"},
	"file is a folder":         {configWith(`"telegram": {"enabled": true, "token": "file:folder"}`), "is a directory"},
	"variable is unset":        {configWith(`"telegram": {"enabled": true, "token": "env:NO_SUCH_TOKEN"}`), "environment variable NO_SUCH_TOKEN is not set"},
	"variable as in a shell":   {configWith(`"telegram": {"enabled": true, "token": "$TOKEN"}`), `channels.telegram.token: would be used literally; write "env:TOKEN" to use the value of the variable`},
	"variable in braces":       {configWith(`"discord": {"enabled": true, "token": "${DISCORD_TOKEN}"}`), `write "env:DISCORD_TOKEN"`},
	"key as in a shell":        {`{"terminal": {"command": "x", "providers": {"a": {"apiKeys": ["$KEY"]}}}}`, `write "env:KEY"`},
	"Discord's for Telegram":   {configWith(`"telegram": {"enabled": true, "token": "` + discordToken + `"}`), "channels.telegram.token: must look like"},
	"Telegram's for Discord":   {configWith(`"discord": {"enabled": true, "token": "` + telegramToken + `"}`), "channels.discord.token: must look like"},
	"Discord's in a file":      {configWith(`"telegram": {"enabled": true, "token": "file:discord.txt"}`), "channels.telegram.token: must look like"},
	"both networks":            {configWith(`"telegram": {"enabled": true, "token": "file:missing.txt"}, "discord": {"enabled": true, "token": "env:NO_SUCH_TOKEN"}`), "channels.telegram.token: read secret"},
	"secret of the webhook":    {configWith(`"telegram": {"enabled": true, "token": "`+telegramToken+`", "mode": "webhook", "webhookUrl": "https://x.example/t", "webhookSecret": "env:NO_SUCH"}`, `, "http": {"listen": "127.0.0.1:0"}`), "webhookSecret: environment variable"},
	"form of the secret":       {configWith(`"telegram": {"enabled": true, "token": "`+telegramToken+`", "mode": "webhook", "webhookUrl": "https://x.example/t", "webhookSecret": "file:odd.txt"}`, `, "http": {"listen": "127.0.0.1:0"}`), "webhookSecret: must be"},
	"token of the server":      {configWith(`"web": {"enabled": true}`, `, "http": {"listen": "127.0.0.1:0", "token": "file:missing.txt"}`), "http.token: read secret"},
	"short token":              {configWith(`"web": {"enabled": true}`, `, "http": {"listen": "127.0.0.1:0", "token": "file:odd.txt"}`), "http.token: must have at least 16"},
	"key of a provider":        {`{"terminal": {"command": "x", "providers": {"a": {"apiKeys": ["file:missing.txt"]}}}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`, "terminal.providers.a.apiKeys[0]: read secret"},
	"sandbox that is unknown":  {`{"terminal": {"command": "x", "sandbox": "landlok"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`, `did you mean "landlock"?)`},
	"sandbox that is required": {`{"terminal": {"command": "x", "sandbox": "no-such-wrapper --x", "sandboxRequired": true}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`, "no-such-wrapper"},
	"user that is unknown":     {`{"terminal": {"command": "x", "user": "no-such-user"}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`, "terminal.user"},
	"state of a channel":       {`{"terminal": {"command": "x"}, "gateway": {"stateDir": "damaged"}, "channels": {"telegram": {"enabled": true, "token": "` + telegramToken + `", "apiBase": "http://127.0.0.1:1"}}}`, "read which groups have moved"},
	"agent and channel":        {`{"terminal": {"command": "x", "sandbox": "landlok"}, "channels": {"telegram": {"enabled": true, "token": "file:missing.txt"}}}`, "terminal.sandbox: must be"},
}

func configWith(channels string, more ...string) string {
	return `{"terminal": {"command": "x"}, "channels": {` + channels + `}` + strings.Join(more, "") + `}`
}

// runOnConfig runs a command on a config and returns its status and what it says, without warnings
// and the log.
func runOnConfig(t *testing.T, command, dir string, environ ...string) (status int, said string) {
	t.Helper()
	killtest.SkipIfShort(t)
	// A serve that is not refused would run on.
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], command, "--config", "config.json")
	cmd.Dir = dir
	cmd.Env = append(append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1"), environ...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "{") {
			said += line
		}
	}
	return cmd.ProcessState.ExitCode(), said
}

func writeConfigDir(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"folder", "damaged/telegram-updates"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	for name, text := range map[string]string{
		"config.json": config, "empty.txt": "\n", "odd.txt": "a b!", "discord.txt": discordToken + "\n", "damaged/telegram-updates/moved.json": "{",
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestCheckConfigRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range brokenConfigs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeConfigDir(t, c.config)
			status, said := runOnConfig(t, "check-config", dir)
			if status != exit.Config || !strings.Contains(said, c.want) {
				t.Errorf("check-config ends with %d and says %s", status, said)
			}
			if again, same := runOnConfig(t, "serve", dir); again != status || same != said {
				t.Errorf("check-config ends with %d and says %s\nserve ends with %d and says %s", status, said, again, same)
			}
			if status, _ := runOnConfig(t, "doctor", dir); status != exit.Config {
				t.Errorf("doctor ends with %d", status)
			}
			for _, secret := range []string{telegramToken, discordToken} {
				if strings.Contains(said, secret) {
					t.Errorf("it shows a secret: %s", said)
				}
			}
		})
	}
}

func TestOnlyTheServiceChecksItsCredentials(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"token":    configWith(`"telegram": {"enabled": true, "token": "cred:telegram"}`),
		"provider": `{"terminal": {"command": "x", "providers": {"a": {"apiKeys": ["cred:a"]}}}, "channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`,
		"unused":   configWith(`"telegram": {"enabled": true, "token": "` + telegramToken + `", "webhookSecret": "cred:hook"}`),
		"server":   configWith(`"web": {"enabled": true}`, `, "http": {"listen": "127.0.0.1:0", "token": "cred:http"}`),
		"webhook":  configWith(`"telegram": {"enabled": true, "token": "`+telegramToken+`", "mode": "webhook", "webhookUrl": "https://x.example/t", "webhookSecret": "cred:hook"}`, `, "http": {"listen": "127.0.0.1:0"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeConfigDir(t, config)
			if status, said := runOnConfig(t, "check-config", dir); status != 0 || said != "" {
				t.Errorf("outside: %d %s", status, said)
			}
			inside := "CREDENTIALS_DIRECTORY=" + filepath.Join(dir, "folder")
			status, said := runOnConfig(t, "check-config", dir, inside)
			if status != exit.Config || !strings.Contains(said, "read secret") {
				t.Errorf("inside: %d %s", status, said)
			}
			if again, same := runOnConfig(t, "serve", dir, inside); again != status || same != said {
				t.Errorf("check-config: %d %s\nserve: %d %s", status, said, again, same)
			}
		})
	}
	// What else is wrong is said all the same.
	dir := writeConfigDir(t, configWith(`"telegram": {"enabled": true, "token": "cred:telegram"}, "discord": {"enabled": true, "token": "file:missing.txt"}`))
	if status, said := runOnConfig(t, "check-config", dir); status != exit.Config || !strings.Contains(said, "channels.discord.token: read secret") {
		t.Errorf("%d %s", status, said)
	}
}

func TestAProtocolSaysThatItKeepsProcessesIfItDoes(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		_, keeps := p.Open(terminal.OpenOptions{Config: config.Default().Terminal}).(terminal.PersistentProtocol)
		if p.Name == keys.Name { // it keeps the shell, and starts its command for each message
			keeps = false
		}
		if keeps != p.Persistent {
			t.Errorf("%s: keeps processes: %v, and its description says %v", p.Name, keeps, p.Persistent)
		}
	}
}

func TestAConfigForRunAndChatAloneIsGood(t *testing.T) {
	t.Parallel()
	dir := writeConfigDir(t, `{"terminal": {"command": "x"}}`)
	if status, said := runOnConfig(t, "check-config", dir); status != 0 || said != "" {
		t.Errorf("check-config: %d %s", status, said)
	}
	if status, said := runOnConfig(t, "serve", dir); status != exit.Config || !strings.Contains(said, "no channel") {
		t.Errorf("serve: %d %s", status, said)
	}
}

func TestSandboxedAgentsCannotMakeTheFolderOfRunbooks(t *testing.T) {
	dir := t.TempDir()
	workspace, elsewhere := filepath.Join(dir, "work"), filepath.Join(dir, "elsewhere")
	for _, folder := range []string{workspace, elsewhere} {
		musttest.Do(t, os.Mkdir(folder, 0o755))
	}
	cfg := config.Default()
	cfg.Workspace, cfg.Runbooks.Folder = workspace, filepath.Join(workspace, "runbooks")
	wanttest.Equal(t, "without a sandbox it is", runbooksFolder(&cfg), cfg.Runbooks.Folder)
	cfg.Terminal.Sandbox = "landlock"
	wanttest.Equal(t, "before it is made it is", runbooksFolder(&cfg), "")
	musttest.Do(t, os.Symlink(elsewhere, cfg.Runbooks.Folder))
	wanttest.Equal(t, "a link leads to", runbooksFolder(&cfg), "")
	cfg.Runbooks.Folder = elsewhere
	wanttest.Equal(t, "outside the workspace it is", runbooksFolder(&cfg), elsewhere)
}
