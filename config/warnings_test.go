package config_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestWarningsReportSuspiciousSettings(t *testing.T) {
	const quiet = `"terminal":{"command":"x"}`
	const noTLS = "other machines can reach http.listen: put a proxy with TLS in front of it, or the token and the chats can be read on the network"
	dash := func(program string) string {
		return "terminal.command: " + program + ` may take {message} for an option, so a text that begins with "-" is passed with a space in front: write -- {message}, ` +
			`--name={message} or, for grep, -e {message}, or let the program read the text from its standard input or from "$NANOBOT_TEXT" instead`
	}
	const leaks = `terminal.command has {message} and terminal.stdin is "envelope", so the agent also reads the keys of terminal.providers from its standard input, and tools such as claude -p append ` +
		`that to the prompt: set terminal.stdin to "text" or "none"`
	for text, want := range map[string][]string{
		`{` + quiet + `}`: nil,
		`{}`:              {"terminal.command is empty: there is no agent to run"},
		`{"terminal":{"command":"x","enabled":false}}`: {"terminal.enabled is false: the bot only says that it is switched off"},
		`{"terminal":{"enabled":false}}`:               {"terminal.enabled is false: the bot only says that it is switched off"},
		`{` + quiet + `,"channels":{"telegram":{"enabled":true,"token":"env:A"},"discord":{"enabled":true,"token":"env:A","allowFrom":["1","*"]}}}`: {
			`channels.discord.allowFrom has "*": everybody can talk to the bot`,
		},
		`{` + quiet + `,"channels":{"telegram":{"allowFrom":["*"]},"discord":{"allowFrom":[]}}}`:     nil,
		`{` + quiet + `,"channels":{"telegram":{"enabled":true,"token":"env:A","allowFrom":["1"]}}}`: nil,
		`{` + quiet + `,"channels":{"telegram":{"enabled":true,"token":"env:A","allowFrom":["1"],"webhookUrl":"https://x.example"}}}`: {
			`channels.telegram.webhookUrl is set and not used, because channels.telegram.mode is "poll"`,
		},
		`{"terminal":{"command":"x","protocol":"acp","timeout":300}}`:                                   nil, // questions do not count
		`{` + quiet + `,"channels":{"web":{"enabled":true}},"http":{"listen":"[::1]:8080"}}`:            nil,
		`{` + quiet + `,"channels":{"web":{"enabled":true}},"http":{"listen":":8080","token":"env:A"}}`: {noTLS},
		`{` + quiet + `,"http":{"listen":"0.0.0.0:8080","token":"env:A"}}`:                              {noTLS},
		`{` + quiet + `,"http":{"listen":"127.0.0.1:8080","token":"env:A"}}`:                            nil,
		`{"terminal":{"command":"claude -p {message}","stdin":"none"}}`:                                 {dash("claude")},
		`{"terminal":{"command":"a {message}; b -- {message}; c {message}; a {message}"}}`:              {dash("a"), dash("c")},
		`{"terminal":{"command":"grep -e {message} faq.txt"}}`:                                          nil,
		`{"terminal":{"command":"a --q={message}","providers":{"a":{"apiKeys":["k"]}}}}`:                {leaks},
		`{"terminal":{"command":"claude -p -- {message}","providers":{"a":{"apiKeys":["k"]}}}}`:         {leaks},
		`{"terminal":{"command":"a --q={message}","stdin":"text","providers":{"a":{"apiKeys":["k"]}}}}`: nil,
		`{"terminal":{"command":"a --q={message}","stdin":"none","providers":{"a":{"apiKeys":["k"]}}}}`: nil,
		`{"terminal":{"command":"bash -s","stdin":"text"}}`:                                             {`terminal.stdin is "text", and bash executes its input: everybody who may talk to the bot can run any command as the bot's user`},
		`{"terminal":{"command":"python3 agent.py","stdin":"text"}}`:                                    nil,
		`{"terminal":{"command":"cat | tr a b","stdin":"text"}}`:                                        nil,
		`{"terminal":{"command":"x","approvers":["telegram:8"]},"roles":{"guest":["telegram:8"]},"runbooks":{"approvers":["telegram:7","telegram:8"]}}`: {
			"runbooks.approvers has telegram:8, who is in roles.guest: guests may not approve",
			"terminal.approvers has telegram:8, who is in roles.guest: guests may not approve",
		},
		`{"terminal":{"command":"bash","stdin":"envelope"}}`:               nil,
		`{"terminal":{"command":"a","providers":{"a":{"apiKeys":["k"]}}}}`: nil,
		`{` + quiet + `,"http":{"listen":":8080"}}`:                        nil, // there is nothing to be read
	} {
		if got := loadConfig(t, text).Warnings(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestAModelToolThatWouldGetTheEnvelopeIsWarnedAboutWithItsPlace(t *testing.T) {
	for command, want := range map[string]string{
		`claude -p`:                          "claude would read the envelope, a line of JSON, as its prompt: add \"stdin\": \"text\" to terminal",
		`codex exec -`:                       "codex would read",
		`codex exec --json -`:                "codex would read",
		`gemini`:                             "gemini would read",
		`opencode run`:                       "opencode would read",
		`llm -m gpt-5`:                       "llm would read",
		`ollama run llama3`:                  "ollama would read",
		`cd x && timeout 60 ~/bin/claude -p`: "claude would read",
		`A=1 env B=2 claude -p | tee log`:    "claude would read",
		`claude -p < prompt.txt`:             "",
		`claude -p <<<x`:                     "",
		`jq -r .text | claude -p`:            "",
		`text=$(jq -r .text); claude -p`:     "",
		`codex login`:                        "",
		`python3 claude.py`:                  "",
		`echo claude -p`:                     "",
		`claude -p -- \"$NANOBOT_TEXT\"`:     "claude would read the envelope, a line of JSON, as a part of its prompt: add \"stdin\": \"none\" to terminal",
		`claude -p -- {message}`:             "claude would read the envelope, a line of JSON, as a part of its prompt: add \"stdin\": \"none\" to terminal",
	} {
		for _, protocol := range []string{"plain", "rich"} {
			path := writeConfig(t, `{"terminal":{"protocol":"`+protocol+`", "shell":"/bin/bash",`+"\n"+` "command":"`+command+`"}}`)
			c, err := config.Load(path, nil, extensions())
			if err != nil {
				t.Fatalf("%s: %v", command, err)
			}
			got := strings.Join(c.Warnings(), "\n")
			if want == "" && got != "" || want != "" && !strings.HasPrefix(got, path+":2:12: terminal.command: "+want) || strings.Contains(got, "\n") {
				t.Errorf("%s: %s", command, got)
			}
		}
	}
	const acp = `{"terminal":{"protocol":"acp","command":"gemini --acp"}}`
	if got := loadConfig(t, acp).Warnings(); len(got) > 0 {
		t.Errorf("%s: %q", acp, got)
	}
	path := writeConfig(t, `{"terminal":{"command":"x"},"agents":{"ai":{"command":"llm","protocol":"plain"}}}`)
	c, err := config.Load(path, []string{"NANOBOT_TERMINAL__COMMAND=gemini"}, extensions())
	want := []string{
		`NANOBOT_TERMINAL__COMMAND: terminal.command: gemini would read the envelope, a line of JSON, as its prompt: add "stdin": "text" to terminal`,
		path + `:1:55: agents.ai.command: llm would read the envelope, a line of JSON, as its prompt: add "stdin": "text" to agents.ai`,
	}
	if err != nil || !reflect.DeepEqual(c.Warnings(), want) {
		t.Errorf("%q, %v", c.Warnings(), err)
	}
}

func TestAFileWithSecretsThatEveryUserCanReadIsWarnedAbout(t *testing.T) {
	const token = `{"terminal":{"command":"x"},"channels":{"telegram":{"token":"1:x"}}}`
	for name, test := range map[string]struct {
		text    string
		environ []string
		mode    os.FileMode
		warned  bool
	}{
		"literal token":    {token, nil, 0o644, true},
		"literal key":      {`{"terminal":{"command":"x","providers":{"a":{"apiKeys":["env:A","sk"]}}}}`, nil, 0o644, true},
		"of an account":    {`{"terminal":{"command":"x"},"channels":{"telegram":[{"token":"env:A"},{"name":"b","token":"1:x"}]}}`, nil, 0o644, true},
		"private":          {token, nil, 0o600, false},
		"the unit's group": {token, nil, 0o640, false},
		"reference":        {`{"terminal":{"command":"x"},"channels":{"telegram":{"token":"env:A"}}}`, nil, 0o644, false},
		"no secret":        {`{"terminal":{"command":"x"},"channels":{"telegram":{"token":""}}}`, nil, 0o644, false},
		"in a variable":    {`{"terminal":{"command":"x"}}`, []string{"NANOBOT_CHANNELS__TELEGRAM__TOKEN=1:x"}, 0o644, false},
		"overridden":       {token, []string{"NANOBOT_CHANNELS__TELEGRAM__TOKEN=env:A"}, 0o644, true},
	} {
		path := writeConfig(t, test.text)
		musttest.Do(t, os.Chmod(path, test.mode))
		c, err := config.Load(path, test.environ, extensions())
		if err != nil {
			t.Fatal(name, err)
		}
		got := strings.Join(c.Warnings(), "\n")
		if warned := strings.Contains(got, path+" contains secrets"); warned != test.warned || !warned && got != "" {
			t.Errorf("%s: %q", name, got)
		}
		if holds := test.warned || test.text == token; c.FileContainsSecrets() != holds {
			t.Errorf("%s: holds secrets: %v", name, !holds)
		}
	}
}
