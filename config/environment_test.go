package config_test

import (
	"reflect"
	"strings"
	"testing"

	"nanobot/channels/telegram"
	"nanobot/config"
)

func TestTheEnvironmentOverridesTheFileByType(t *testing.T) {
	file := `{"terminal":{"command":"file","env":{"A":"file","B":"file"},"mediaRoots":["/file"],
		"providers":{"openai":{"models":["m"]}},"passMedia":false},
		"channels":{"telegram":{"token":"file","allowFrom":["1"]}}}`
	const keys = "NANOBOT_TERMINAL__PROVIDERS__openai__APIKEYS=k" // the file leaves the keys to the environment
	for variable, got := range map[string]func(c *config.Config) (got, want any){
		"NANOBOT_TERMINAL__COMMAND=a, b = {c}":      func(c *config.Config) (any, any) { return c.Terminal.Command, "a, b = {c}" },
		"NANOBOT_terminal__Command=x":               func(c *config.Config) (any, any) { return c.Terminal.Command, "x" },
		"NANOBOT_TERMINAL__COMMAND=":                func(c *config.Config) (any, any) { return c.Terminal.Command, "" },
		"NANOBOT_TERMINAL__COMMAND=\xff":            func(c *config.Config) (any, any) { return c.Terminal.Command, "\xff" },
		"NANOBOT_TERMINAL__ENABLED=false":           func(c *config.Config) (any, any) { return *c.Terminal.Enabled, false },
		"NANOBOT_TERMINAL__PASSMEDIA=1":             func(c *config.Config) (any, any) { return c.Terminal.PassMedia, true },
		"NANOBOT_TERMINAL__TIMEOUT= 7 ":             func(c *config.Config) (any, any) { return c.Terminal.Timeout, 7 },
		"NANOBOT_CHANNELS__TELEGRAM__TOKEN=1:x":     func(c *config.Config) (any, any) { return string(telegramSettings(c).Token), "1:x" },
		"NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM=2,3": func(c *config.Config) (any, any) { return telegramSettings(c).AllowFrom, []string{"2", "3"} },
		`NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM=["2", "3",]`: func(c *config.Config) (any, any) {
			return telegramSettings(c).AllowFrom, []string{"2", "3"}
		},
		"NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM=":     func(c *config.Config) (any, any) { return telegramSettings(c).AllowFrom, []string{} },
		"NANOBOT_TERMINAL__REVEALERRORS=false":       func(c *config.Config) (any, any) { return c.Terminal.RevealErrors, config.Selection{} },
		"NANOBOT_TERMINAL__REVEALERRORS=1, cli:main": func(c *config.Config) (any, any) { return c.Terminal.RevealErrors.Names, []string{"1", "cli:main"} },
		"NANOBOT_TERMINAL__ENV__A=":                  func(c *config.Config) (any, any) { return c.Terminal.Env, map[string]string{"A": "", "B": "file"} },
		"NANOBOT_TERMINAL__ENV__my.Key__with_all=x":  func(c *config.Config) (any, any) { return c.Terminal.Env["my.Key__with_all"], "x" },
		"NANOBOT_TERMINAL__ENV___X=x":                func(c *config.Config) (any, any) { return c.Terminal.Env["_X"], "x" },
		`NANOBOT_TERMINAL__ENV={"C":"x"}`: func(c *config.Config) (any, any) {
			return c.Terminal.Env, map[string]string{"A": "file", "B": "file", "C": "x"}
		},
		"NANOBOT_TERMINAL__PROVIDERS__openai__APIKEYS=a,b": func(c *config.Config) (any, any) {
			return c.Terminal.Providers["openai"], config.Provider{APIKeys: []config.Secret{"a", "b"}, Models: []string{"m"}}
		},
		`NANOBOT_TERMINAL__PROVIDERS__My.Own__Service={"apiKeys":["a"]}`: func(c *config.Config) (any, any) {
			return c.Terminal.Providers["My.Own__Service"], config.Provider{APIKeys: []config.Secret{"a"}}
		},
		"NANOBOT_TERMINAL__PROVIDERS__My.Own__Service__apikeys=a": func(c *config.Config) (any, any) {
			return c.Terminal.Providers["My.Own__Service"], config.Provider{APIKeys: []config.Secret{"a"}}
		},
		`NANOBOT_CHANNELS__TELEGRAM=[{"token":"1:x"},{"name":"work","token":"2:y"}]`: func(c *config.Config) (any, any) {
			return string(c.Channels["telegram.work"].(*telegram.Settings).Token), "2:y"
		},
		`NANOBOT_LOG={"level":"debug"}`: func(c *config.Config) (any, any) { return c.Log, config.Log{Level: "debug", Format: "auto"} },
	} {
		c, err := config.Load(writeConfig(t, file), []string{"PATH=/bin", keys, variable}, extensions())
		if err != nil {
			t.Errorf("%s: %v", variable, err)
			continue
		}
		if got, want := got(c); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", variable, got, want)
		}
	}
}

func TestTheMoreSpecificVariableWinsWhateverTheOrder(t *testing.T) {
	whole, part := `NANOBOT_TERMINAL={"timeout":1,"command":"whole"}`, "NANOBOT_TERMINAL__TIMEOUT=2"
	for range 20 {
		for _, environ := range [][]string{{whole, part}, {part, whole}} {
			if c := loadConfig(t, `{}`, environ...); c.Terminal.Timeout != 2 || c.Terminal.Command != "whole" {
				t.Fatalf("timeout %d, command %q", c.Terminal.Timeout, c.Terminal.Command)
			}
		}
	}
}

func TestReservedVariablesSetNoKeys(t *testing.T) {
	loadConfig(t, `{}`, "NANOBOT_CONFIG=/etc/x.json", "NANOBOT_PORT=tcp://10.0.0.1:80", "NANOBOT_PORT_80_TCP=x",
		"NANOBOT_SERVICE_HOST=10.0.0.1", "NANOBOT_SERVICE_PORT=80", "NANOBOTS=1", "=C:=x", "NANOBOT_",
		"NANOBOT_TEXT=hi", "NANOBOT_TEXT_TRUNCATED=1", "NANOBOT_CHAT_ID=1", "NANOBOT_USER_ID=1", "NANOBOT_USER_NAME=x", "NANOBOT_USER_DATA_DIR=/x",
		"NANOBOT_RUN=1", "NANOBOT_KEPT=1", "NANOBOT_CHILD=1", "NANOBOT_CHAT_TOKEN=x", "NANOBOT_SOCKET=/x")
	if _, err := config.Load("", []string{"NANOBOT_TEXTS=hi"}, extensions()); err == nil {
		t.Error("a variable that is almost one of the agent's is accepted")
	}
}

func TestMistakesInTheEnvironmentNameTheVariable(t *testing.T) {
	for name, test := range map[string]struct {
		file    string
		environ []string
		want    string
	}{
		"type":    {`{}`, []string{"NANOBOT_TERMINAL__TIMEOUT=abc"}, `NANOBOT_TERMINAL__TIMEOUT: terminal.timeout: must be a whole number of seconds (got "abc")`},
		"bounds":  {`{}`, []string{"NANOBOT_TERMINAL__TIMEOUT=0"}, `NANOBOT_TERMINAL__TIMEOUT: terminal.timeout: must be at least 1 (got 0)`},
		"too big": {`{}`, []string{"NANOBOT_TERMINAL__TIMEOUT=99999999999999999999"}, `NANOBOT_TERMINAL__TIMEOUT: terminal.timeout: must be a whole number of seconds (got "99999999999999999999")`},
		"word":    {`{}`, []string{"NANOBOT_LOG__LEVEL=warning"}, `NANOBOT_LOG__LEVEL: log.level: must be "debug", "info", "warn" or "error" (got "warning"; did you mean "warn"?)`},
		"bool":    {`{}`, []string{"NANOBOT_CHANNELS__WEB__ENABLED=yes"}, `NANOBOT_CHANNELS__WEB__ENABLED: channels.web.enabled: must be true or false (got "yes"; write true)`},
		"list":    {`{}`, []string{"NANOBOT_TERMINAL__MEDIAROOTS=[1,"}, `NANOBOT_TERMINAL__MEDIAROOTS: terminal.mediaRoots: must be a list (got "[1,")`},
		"element": {`{}`, []string{"NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM=[5]"}, `NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM: channels.telegram.allowFrom[0]: must be a string in quotes (got 5; write "5")`},
		"object":  {`{}`, []string{`NANOBOT_CHANNELS={"telegram":{"token":"x"`}, `NANOBOT_CHANNELS: channels: must be an object (got a string)`},
		"in an object": {
			`{}`,
			[]string{`NANOBOT_TERMINAL={"comand":"x","timeout":0}`},
			"NANOBOT_TERMINAL: terminal.comand: unknown key (did you mean \"command\"?)\n" +
				"NANOBOT_TERMINAL: terminal.timeout: must be at least 1 (got 0)",
		},
		"combination": {`{}`, []string{"NANOBOT_CHANNELS__TELEGRAM__ENABLED=true"}, `NANOBOT_CHANNELS__TELEGRAM__ENABLED: channels.telegram.token: must be set, because channels.telegram.enabled is true`},
		"missing":     {`{}`, []string{"NANOBOT_TERMINAL__PROVIDERS__a__MODELS=m"}, `NANOBOT_TERMINAL__PROVIDERS__a__MODELS: terminal.providers.a.apiKeys: must be set`},
		"not an id":   {`{}`, []string{"NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM=1,bob"}, `NANOBOT_CHANNELS__TELEGRAM__ALLOWFROM: channels.telegram.allowFrom[1]: must be a numeric user ID or "*" (got "bob"; usernames can change hands)`},
		"token":       {`{}`, []string{"NANOBOT_CHANNELS__TELEGRAM__TOKEN=a b"}, `NANOBOT_CHANNELS__TELEGRAM__TOKEN: channels.telegram.token: must not contain spaces, line breaks or invisible characters`},
		"env name":    {`{}`, []string{"NANOBOT_TERMINAL__ENV__=x"}, `NANOBOT_TERMINAL__ENV__: terminal.env."": a variable name must not be empty or contain "="`},

		"misspelt":            {`{}`, []string{"NANOBOT_TERMINAL__COMAND=x"}, `NANOBOT_TERMINAL__COMAND: unknown setting (did you mean NANOBOT_TERMINAL__COMMAND?)`},
		"snake case":          {`{}`, []string{"NANOBOT_TERMINAL__PASS_MEDIA=x"}, `NANOBOT_TERMINAL__PASS_MEDIA: unknown setting (did you mean NANOBOT_TERMINAL__PASSMEDIA?)`},
		"one underscore":      {`{}`, []string{"NANOBOT_CHANNELS_TELEGRAM_TOKEN=x"}, `NANOBOT_CHANNELS_TELEGRAM_TOKEN: unknown setting (did you mean NANOBOT_CHANNELS__TELEGRAM__TOKEN?)`},
		"section left out":    {`{}`, []string{"NANOBOT_TELEGRAM_TOKEN=x"}, `NANOBOT_TELEGRAM_TOKEN: unknown setting (did you mean NANOBOT_CHANNELS__TELEGRAM__TOKEN?)`},
		"ambiguous":           {`{}`, []string{"NANOBOT_TOKEN=x"}, `NANOBOT_TOKEN: unknown setting (did you mean NANOBOT_CHANNELS__TELEGRAM__TOKEN or NANOBOT_CHANNELS__DISCORD__TOKEN or NANOBOT_HTTP__TOKEN?)`},
		"too deep":            {`{}`, []string{"NANOBOT_LOG__LEVEL__X=x"}, `NANOBOT_LOG__LEVEL__X: unknown setting (did you mean NANOBOT_LOG__LEVEL?)`},
		"nothing like it":     {`{}`, []string{"NANOBOT_XYZZY=x"}, `NANOBOT_XYZZY: unknown setting; nanobot takes every variable that begins with NANOBOT_ for a key of the config`},
		"no name at all":      {`{}`, []string{"NANOBOT_=x"}, `NANOBOT_: unknown setting; nanobot takes every variable that begins with NANOBOT_ for a key of the config`},
		"in a provider":       {`{}`, []string{"NANOBOT_TERMINAL__PROVIDERS__a__APIKEY=x"}, `NANOBOT_TERMINAL__PROVIDERS__a__APIKEY: unknown setting (did you mean NANOBOT_TERMINAL__PROVIDERS__a__APIKEYS?)`},
		"provider as a value": {`{}`, []string{"NANOBOT_TERMINAL__PROVIDERS__a=sk-1"}, `NANOBOT_TERMINAL__PROVIDERS__a: terminal.providers.a: must be an object (got a string)`},

		"agent":              {`{"terminal":{"command":"x"}}`, []string{"NANOBOT_AGENTS__CODER__TIMEOUT=0", "NANOBOT_AGENTS__CODER__COMMAND=x"}, `NANOBOT_AGENTS__CODER__TIMEOUT: agents.coder.timeout: must be at least 1 (got 0)`},
		"key of an agent":    {`{}`, []string{"NANOBOT_AGENTS__CODER__COMAND=x"}, `NANOBOT_AGENTS__CODER__COMAND: unknown setting (did you mean NANOBOT_AGENTS__CODER__COMMAND?)`},
		"agent as a value":   {`{"terminal":{"command":"x"}}`, []string{"NANOBOT_AGENTS__coder=sk-1"}, `NANOBOT_AGENTS__coder: agents.coder: must be an object (got a string)`},
		"agent called twice": {`{"terminal":{"command":"x"}}`, []string{"NANOBOT_AGENTS__CODER__COMMAND=x", "NANOBOT_AGENTS__coder__COMMAND=y"}, `NANOBOT_AGENTS__coder__COMMAND: agents.coder.command: is also set by NANOBOT_AGENTS__CODER__COMMAND`},

		"key of a list of accounts": {
			`{"channels":{"telegram":[{"token":"1:x"}]}}`,
			[]string{"NANOBOT_CHANNELS__TELEGRAM__TOKEN=2:y"},
			`NANOBOT_CHANNELS__TELEGRAM__TOKEN: channels.telegram is a list of accounts; write token in it, or set the whole list in NANOBOT_CHANNELS__TELEGRAM`,
		},
		"key and list of accounts": {
			`{}`,
			[]string{"NANOBOT_CHANNELS__DISCORD__ENABLED=true", `NANOBOT_CHANNELS={"discord":[{"token":"x"}]}`},
			`NANOBOT_CHANNELS__DISCORD__ENABLED: channels.discord is a list of accounts; write enabled in it, or set the whole list in NANOBOT_CHANNELS__DISCORD`,
		},
		"index of an account": {`{}`, []string{"NANOBOT_CHANNELS__TELEGRAM__0__TOKEN=2:y"}, `NANOBOT_CHANNELS__TELEGRAM__0__TOKEN: unknown setting (did you mean NANOBOT_CHANNELS__TELEGRAM__TOKEN?)`},
		"account": {
			`{}`,
			[]string{`NANOBOT_CHANNELS__TELEGRAM=[{"token":"1:x"},{"enabled":true}]`},
			"NANOBOT_CHANNELS__TELEGRAM: channels.telegram[1].name: must be set, because channels.telegram[0] has no name\n" +
				"NANOBOT_CHANNELS__TELEGRAM: channels.telegram[1].token: must be set, because channels.telegram[1].enabled is true",
		},

		"twice": {`{}`, []string{"NANOBOT_LOG__LEVEL=info", "NANOBOT_log__level=warn"}, `NANOBOT_log__level: log.level: is also set by NANOBOT_LOG__LEVEL`},

		"covers a wrong file": {`{"terminal":"x"}`, []string{"NANOBOT_TERMINAL__TIMEOUT=5"}, `FILE:1:13: terminal: must be an object (got a string)`},
		"both": {
			"{\n\"log\":{\"level\":1}}",
			[]string{"NANOBOT_LOG__FORMAT=x", "NANOBOT_X=y"},
			"FILE:2:16: log.level: must be a string in quotes (got 1)\n" +
				"NANOBOT_LOG__FORMAT: log.format: must be \"auto\", \"console\" or \"json\" (got \"x\")\nNANOBOT_X: unknown setting; nanobot takes every variable that begins with NANOBOT_ for a key of the config",
		},
		"and a syntax error": {`{`, []string{"NANOBOT_X=y"}, "FILE:1:1: this \"{\" is never closed\nNANOBOT_X: unknown setting; nanobot takes every variable that begins with NANOBOT_ for a key of the config"},
	} {
		path := writeConfig(t, test.file)
		got := strings.ReplaceAll(loadMistakes(t, path, test.environ).Error(), path, "FILE")
		if got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}
