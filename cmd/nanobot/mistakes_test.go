package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// configMistakes are configs with one mistake each, and what check-config says about it: the place
// and what to do.
var configMistakes = []struct{ name, config, want string }{
	{"YAML", "# my bot\nterminal:\n  command: ./bot\n", `config.json:2:1: this is YAML, and the config is JSON: write {"terminal": {"command": …}}`},
	{"YAML after a marker", "---\nterminal: {}\n", `config.json:1:1: this is YAML, and the config is JSON: write {"terminal": {"command": …}}`},
	{"TOML", `[terminal]
command = "./bot"
`, `config.json:1:1: this is TOML, and the config is JSON: write {"terminal": {"command": …}}`},
	{"typographic quotes around a key", `{“terminal”: {"command": "x"}}`, `config.json:1:2: this is the typographic quote “; write the straight quote "`},
	{"typographic quotes around a value", `{"terminal": {
  "command": “x”}}`, `config.json:2:14: this is the typographic quote “; write the straight quote "`},
	{"German quotes", `{"terminal": {"command": „x“}}`, `config.json:1:26: this is the typographic quote „; write the straight quote "`},
	{"guillemets", `{"terminal": {"command": «x»}}`, `config.json:1:26: this is the typographic quote «; write the straight quote "`},
	{"single typographic quotes", `{"terminal": {"command": ‘x’}}`, `config.json:1:26: this is the typographic quote ‘; write the straight quote "`},
	{"typographic quote at the end of a key", `{"terminal”: {"command": "x"}}`, `config.json:1:11: this is the typographic quote ”; write the straight quote "`},
	{"typographic quote at the end of a value", `{"terminal": {
  "command": "x”,
  "timeout": 5}}`, `config.json:2:16: this is the typographic quote ”; write the straight quote "`},
	{"single quotes", "{'terminal': {}}", "config.json:1:2: must be in double quotes, not in single quotes"},
	{"key without quotes", `{terminal: {"command": "x"}}`, "config.json:1:2: a key must be in double quotes"},
	{"text without quotes", `{"terminal": {"command": x}}`, "config.json:1:26: text must be in double quotes"},
	{"comma is missing", `{
  "terminal": {"command": "x"}
  "log": {}
}`, "config.json:3:3: a comma is missing before this"},
	{"comment with a hash", `{
  # my bot
  "terminal": {}
}`, "config.json:2:3: a comment begins with //, not with #"},
	{"bracket is missing", `{"terminal": {"command": "x"}`, `config.json:1:1: this "{" is never closed`},
	{"backslash", `{"terminal": {"command": "C:\windows"}}`, "config.json:1:29: a backslash in a string must be written \\\\"},
	{"key twice", `{"terminal": {"command": "x"},
 "terminal": {"command": "y"}}`, "config.json:2:2: terminal: duplicate key (first set on line 1)"},
	{"file is empty", " \n", `config.json: is empty; run "nanobot init" to write one, or put {} in it`},
	{"no object", `["x"]`, "config.json:1:1: must be an object (got a list)"},
	{"misspelt key", `{"terminal": {"comand": "x"}}`, `config.json:1:15: terminal.comand: unknown key (did you mean "command"?)`},
	{"key in the wrong section", `{"terminal": {"command": "x"}, "sandbox": "landlock"}`, "config.json:1:32: sandbox: unknown key (belongs in terminal)"},
	{"key of another spelling", `{"terminal": {"command": "x"}, "channels": {"telegram": {"allow_from": ["7"]}}}`, `config.json:1:58: channels.telegram.allow_from: unknown key (did you mean "allowFrom"?)`},
	{"unknown channel", `{"channels": {"telegramm": {}}}`, `config.json:1:15: channels.telegramm: unknown key (did you mean "telegram"?)`},
	{"unknown protocol", `{"terminal": {"command": "x", "protocol": "ritch"}}`, `config.json:1:43: terminal.protocol: must be "plain", "rich", "acp", "keys", "screen" or "blocks" (got "ritch"; did you mean "rich"?)`},
	{"unknown level", `{"log": {"level": "warning"}}`, `config.json:1:19: log.level: must be "debug", "info", "warn" or "error" (got "warning"; did you mean "warn"?)`},
	{"seconds with a unit", `{"terminal": {"command": "x",
  "timeout": "60s"}}`, `config.json:2:14: terminal.timeout: must be a whole number of seconds (got "60s"; write 60)`},
	{"minutes instead of seconds", `{"gateway": {"drainTimeout": "5m"}}`, `config.json:1:30: gateway.drainTimeout: must be a whole number of seconds (got "5m"; write 300)`},
	{"hours and minutes", `{"terminal": {"command": "x", "limits": {"cpu": "1h30m"}}}`, `config.json:1:49: terminal.limits.cpu: must be a whole number of seconds (got "1h30m"; write 5400)`},
	{"memory with a unit", `{"terminal": {"command": "x",
  "limits": {"memory": "512M"}}}`, `config.json:2:24: terminal.limits.memory: must be a whole number of MiB (got "512M"; write 512)`},
	{"memory in gigabytes", `{"terminal": {"command": "x", "limits": {"memory": "2 GiB"}}}`, `config.json:1:52: terminal.limits.memory: must be a whole number of MiB (got "2 GiB"; write 2048)`},
	{"bytes with a unit", `{"channels": {"telegram": {"maxDownload": "20MB"}}}`, `config.json:1:43: channels.telegram.maxDownload: must be a whole number of bytes (got "20MB"; write 20971520)`},
	{"milliseconds with a unit", `{"gateway": {"gather": "1.5s"}}`, `config.json:1:24: gateway.gather: must be a whole number of milliseconds (got "1.5s"; write 1500)`},
	{"days with a unit", `{"gateway": {"files": {"keepDays": "30 days"}}}`, `config.json:1:36: gateway.files.keepDays: must be a whole number of days (got "30 days"; write 30)`},
	{"unit that is unknown", `{"terminal": {"command": "x", "timeout": "two minutes"}}`, `config.json:1:42: terminal.timeout: must be a whole number of seconds (got "two minutes")`},
	{"number in quotes", `{"gateway": {"maxConcurrent": "4"}}`, `config.json:1:31: gateway.maxConcurrent: must be a whole number (got "4"; write 4)`},
	{"number out of bounds", `{"terminal": {"command": "x", "timeout": -1}}`, "config.json:1:42: terminal.timeout: must be at least 1 (got -1)"},
	{"truth in quotes", `{"channels": {"web": {"enabled": "yes"}}}`, `config.json:1:34: channels.web.enabled: must be true or false (got "yes"; write true)`},
	{"list without brackets", `{"channels": {"telegram": {"allowFrom": "123456"}}}`, `config.json:1:41: channels.telegram.allowFrom: must be a list (got "123456"; write ["123456"])`},
	{"number in a list of IDs", `{"channels": {"telegram": {"allowFrom": [123456]}}}`, `config.json:1:42: channels.telegram.allowFrom[0]: must be a string in quotes (got 123456; write "123456")`},
	{"user name in a list of IDs", `{"channels": {"telegram": {"allowFrom": ["@ann"]}}}`, `config.json:1:42: channels.telegram.allowFrom[0]: must be a numeric user ID or "*" (got "@ann"; usernames can change hands)`},
	{"token is missing", `{"channels": {"telegram": {
  "enabled": true}}}`, "config.json:2:14: channels.telegram.token: must be set, because channels.telegram.enabled is true"},
	{"token as in a shell", `{"channels": {"telegram": {"enabled": true, "token": "$TOKEN"}}}`, `config.json:1:54: channels.telegram.token: would be used literally; write "env:TOKEN" to use the value of the variable`},
	{"token in a variable that is not set", `{"channels": {"telegram": {"enabled": true,
  "token": "env:NO_SUCH_TOKEN"}}}`, `config.json:2:12: channels.telegram.token: environment variable NO_SUCH_TOKEN is not set; set it for the daemon, or write "file:/path" to read the secret from a file`},
	{"token in a file that is missing", `{"channels": {"discord": {"enabled": true,
  "token": "file:missing.txt"}}}`, "config.json:2:12: channels.discord.token: read secret: open ./missing.txt: no such file or directory; put it there, readable for the daemon's user"},
	{"token in a file that is empty", `{"channels": {"discord": {"enabled": true, "token": "file:empty.txt"}}}`, "config.json:1:53: channels.discord.token: read secret: ./empty.txt is empty; put it there"},
	{"reference without a name", `{"channels": {"discord": {"enabled": true, "token": "env:"}}}`, `config.json:1:53: channels.discord.token: must have a variable name after "env:"`},
	{"malformed token of Telegram", `{"channels": {"telegram": {"enabled": true, "token": "abc"}}}`, "config.json:1:54: channels.telegram.token: must look like 123456789:AAE… as @BotFather gave it"},
	{"malformed token of Discord", `{"channels": {"discord": {"enabled": true, "token": "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"}}}`, "config.json:1:53: channels.discord.token: must look like MTE….GxY….abc… as the Developer Portal gave it, under Bot → Reset Token"},
	{"token with a space", `{"channels": {"telegram": {"enabled": true, "token": "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc "}}}`, "config.json:1:54: channels.telegram.token: must not contain spaces, line breaks or invisible characters"},
	{"key of a provider", `{"terminal": {"command": "x", "providers": {"a": {"apiKeys": [
  "env:NO_SUCH_KEY"]}}}}`, `config.json:2:3: terminal.providers.a.apiKeys[0]: environment variable NO_SUCH_KEY is not set; set it for the daemon, or write "file:/path" to read the secret from a file`},
	{"key of another agent", `{"terminal": {"command": "x"}, "agents": {"b": {"command": "y",
  "providers": {"a": {"apiKeys": ["file:missing.txt"]}}}}}`, "config.json:2:35: agents.b.providers.a.apiKeys[0]: read secret: open ./missing.txt: no such file or directory; put it there, readable for the daemon's user"},
	{"variable of an MCP server", `{"terminal": {"command": "x", "protocol": "acp",
  "mcpServers": {"m": {"command": "y", "env": {"KEY": "env:NO_SUCH_KEY"}}}}}`, `config.json:2:55: terminal.mcpServers.m.env.KEY: environment variable NO_SUCH_KEY is not set; set it for the daemon, or write "file:/path" to read the secret from a file`},
	{"secret of the webhook", `{"http": {"listen": "127.0.0.1:0"}, "channels": {"telegram": {"enabled": true, "token": "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
  "mode": "webhook", "webhookUrl": "https://x.example/t", "webhookSecret": "env:NO_SUCH_SECRET"}}}`, `config.json:2:76: channels.telegram.webhookSecret: environment variable NO_SUCH_SECRET is not set; set it for the daemon, or write "file:/path" to read the secret from a file`},
	{"token of the HTTP server in a variable", `{"http": {"listen": "127.0.0.1:0", "token": "env:NO_SUCH_TOKEN"}}`, `config.json:1:45: http.token: environment variable NO_SUCH_TOKEN is not set; set it for the daemon, or write "file:/path" to read the secret from a file`},
	{"token of the HTTP server is short", `{"http": {"listen": "127.0.0.1:0", "token": "file:short.txt"}}`, "config.json:1:45: http.token: must have at least 16 characters, so that nobody can guess it"},
	{"address without a port", `{"http": {"listen": "127.0.0.1"}}`, `config.json:1:21: http.listen: must be an address such as "127.0.0.1:8080" (got "127.0.0.1")`},
	{"misspelt sandbox", `{"terminal": {"command": "x",
  "sandbox": "landlok"}}`, `config.json:2:14: terminal.sandbox: must be "none", "landlock" or a command of this machine (got "landlok"; did you mean "landlock"?)`},
	{"sandbox of another agent", `{"terminal": {"command": "x"},
  "agents": {"b": {"command": "y", "sandbox": "no-such-wrapper --flag"}}}`, `config.json:2:47: agents.b.sandbox: must be "none", "landlock" or a command of this machine (got "no-such-wrapper --flag")`},
	{"user that does not exist", `{"terminal": {"command": "x",
  "user": "no-such-user"}}`, `config.json:2:3: terminal.user: there is no user "no-such-user" on this machine; create it with useradd --system no-such-user`},
	{"shell that does not exist", `{"terminal": {"command": "x",
  "shell": "/bin/no-such-shell"}}`, `config.json:2:12: terminal.shell: must be a program of this machine, by its path or by a name in PATH; install it or name another one (got "/bin/no-such-shell")`},
	{"shell of the terminal that does not exist", `{"terminal": {"command": "x", "protocol": "keys",
  "keys": {"shell": "no-such-shell --norc"}}}`, `config.json:2:21: terminal.keys.shell: must be a program of this machine, by its path or by a name in PATH; install it or name another one (got "no-such-shell --norc")`},
	{"shell of the terminal without its quote", `{"terminal": {"protocol": "screen",
  "keys": {"shell": "bash '"}}}`, `config.json:2:21: terminal.keys.shell: must be a program, with arguments if it needs some, such as "bash --norc" (got "bash '")`},
	{"message in quotes", `{"terminal": {"command": "echo \"{message}\""}}`, `config.json:1:26: terminal.command: {message} must be outside of quotes, backquotes, arithmetic, tests, eval, assignments, redirections, comments and here-documents, because nanobot quotes the text itself; or let the program read the text from its standard input or from "$NANOBOT_TEXT" instead (got "echo \"{message}\"")`},
	{"questions without a protocol for them", `{"terminal": {"command": "x", "protocol": "plain", "interactive": true}}`, `config.json:1:67: terminal.interactive: needs terminal.protocol to be "rich" (got true)`},
	{"agent without a command", `{"terminal": {"command": "x"}, "agents": {"b": {}}}`, "config.json:1:48: agents.b.command: must be set"},
	{"name of an agent", `{"terminal": {"command": "x"}, "agents": {"My Bot": {"command": "y"}}}`, `config.json:1:43: agents."My Bot": an agent's name must be 1 to 32 lower-case letters, digits and hyphens`},
	{"page without an address", `{"channels": {"web": {"enabled": true}}}`, "config.json:1:34: http.listen: must be set, because channels.web.enabled is true"},
	{"fields of cron", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "0 9 * *", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:12: schedules.a.cron: must be five fields (minute hour day month weekday), six with leading seconds, or such as @daily: expected 5 to 6 fields, found 4: [0 9 * *] (got "0 9 * *")`},
	{"cron that never comes", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "0 9 31 4 *", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:12: schedules.a.cron: names a day that no month has, so it would never be due (got "0 9 31 4 *")`},
	{"time zone in cron", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "TZ=UTC 0 9 * * *", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:12: schedules.a.cron: must not name a time zone; "timezone" does (got "TZ=UTC 0 9 * * *")`},
	{"period in cron", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@every 5m", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:12: schedules.a.cron: must not be @every, which has no fixed times; write such as "*/20 * * * *" (got "@every 5m")`},
	{"cron and at", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "at": "2026-12-24T18:00:00Z", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:28: schedules.a.at: must not be set together with "cron" (got "2026-12-24T18:00:00Z")`},
	{"neither cron nor at", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"chat": "web:web-1", "text": "x"}}}`, `config.json:2:3: schedules.a.cron: must be set, unless "at" is`},
	{"time without an offset", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"at": "2026-12-24 18:00", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:10: schedules.a.at: must be a time with its offset, such as 2026-12-24T18:00:00+01:00 (got "2026-12-24 18:00")`},
	{"unknown time zone of a schedule", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "timezone": "Berlin", "chat": "web:web-1", "text": "x"}}}`, `config.json:2:34: schedules.a.timezone: must be a name of the time zone database, such as Europe/Berlin (got "Berlin")`},
	{"schedule without a chat", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "text": "x"}}}`, `config.json:2:3: schedules.a.chat: must be set`},
	{"malformed chat", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "123456", "text": "x"}}}`, `config.json:2:30: schedules.a.chat: must be a channel and the ID of a chat, such as "telegram:123456" (got "123456")`},
	{"chat of a network that is off", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "telegram:7", "text": "x"}}}`, `config.json:2:30: schedules.a.chat: needs channels.telegram.enabled to be true (got "telegram:7")`},
	{"schedule without work", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "web:web-1"}}}`, `config.json:2:3: schedules.a.text: must be set, unless "runbook" is`},
	{"schedule for an unknown agent", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "web:web-1", "text": "x", "agent": "coder"}}}`, `config.json:2:65: schedules.a.agent: must be the name of an agent: default (got "coder")`},
	{"runbook with an agent", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "web:web-1", "runbook": "x", "agent": "default"}}}`, `config.json:2:54: schedules.a.runbook: must not be set together with "text" or "agent" (got "x")`},
	{"runbook that continues a run", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "web:web-1", "runbook": "skip it"}}}`, `config.json:2:54: schedules.a.runbook: must be the name of a runbook (got "skip it")`},
	{"schedule that says something else", `{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}, "schedules": {"a": 
  {"cron": "@daily", "chat": "web:web-1", "text": "x", "say": "never"}}}`, `config.json:2:63: schedules.a.say: must be "always" or left out (got "never")`},
	{"unknown time zone", `{"gateway": {"timezone": "CEST"}}`, `config.json:1:26: gateway.timezone: must be a name of the time zone database, such as Europe/Berlin (got "CEST")`},
	{"hook without an address", `{"channels": {"telegram": {"enabled": true, "token": "1:0123456789"}},
  "hooks": {"ci": {"secret": "0123456789abcdef", "chat": "telegram:1"}}}`, "config.json:2:12: http.listen: must be set, because there are hooks"},
	{"hook with a malformed chat", hookConfig(`"chat": "telegram"`), `config.json:3:11: hooks.ci.chat: must be a channel and the ID of a chat, such as "telegram:123456" (got "telegram")`},
	{"hook with a chat of no network", hookConfig(`"chat": "slack:1"`), `config.json:3:11: hooks.ci.chat: there is no channel "slack"; use telegram, discord, or web (got "slack:1")`},
	{"hook with an unknown agent", hookConfig(`"chat": "telegram:1", "agent": "coder"`), `config.json:3:34: hooks.ci.agent: must be the name of an agent: default (got "coder")`},
	{"hook with a template that does not parse", hookConfig(`"chat": "telegram:1", "template": "x\n{{if}}"`), "config.json:3:37: hooks.ci.template: does not parse: line 2: missing value for if"},
	{"hook with a template in a file that is missing", hookConfig(`"chat": "telegram:1", "template": "file:missing.tmpl"`), "config.json:3:37: hooks.ci.template: open ./missing.tmpl: no such file or directory; put the template there, readable for the daemon's user (got \"file:missing.tmpl\")"},
	{"hook with a short secret in a file", `{"channels": {"telegram": {"enabled": true, "token": "1:0123456789"}}, "http": {"listen": "127.0.0.1:0"},
  "hooks": {"ci": {"secret": "file:short.txt", "chat": "telegram:1"}}}`, "config.json:2:30: hooks.ci.secret: must have at least 16 characters, so that nobody can guess it"},
}

// hookConfig returns a config with a hook that has more keys in line 3.
func hookConfig(keys string) string {
	return `{"channels": {"telegram": {"enabled": true, "token": "1:0123456789"}}, "http": {"listen": "127.0.0.1:0"},
  "hooks": {"ci": {"secret": "0123456789abcdef",
  ` + keys + `}}}`
}

func TestEveryConfigMistakeIsReportedWithItsPlaceAndWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	musttest.Do(t, os.WriteFile("empty.txt", nil, 0o600))
	musttest.Do(t, os.WriteFile("short.txt", []byte("short"), 0o600))
	for _, m := range configMistakes {
		t.Run(m.name, func(t *testing.T) {
			musttest.Do(t, os.WriteFile("config.json", []byte(m.config), 0o600))
			var out, said bytes.Buffer
			status := run(t.Context(), []string{"check-config"}, stdio{os.Stdin, &out, &said})
			wanttest.Equal(t, "the status", status, exit.Config)
			var lines []string
			for line := range strings.Lines(said.String()) {
				if !strings.HasPrefix(line, "warning: ") {
					lines = append(lines, strings.TrimSuffix(line, "\n"))
				}
			}
			wanttest.Equal(t, "it says", strings.ReplaceAll(strings.Join(lines, "\n"), musttest.Get(os.Getwd())(t), "."), m.want)
		})
	}
}
