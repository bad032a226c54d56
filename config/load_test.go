package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nanobot/channels/discord"
	"nanobot/channels/telegram"
	"nanobot/channels/web"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/acp"
	"nanobot/terminal/blocks"
	"nanobot/terminal/keys"
)

// writeConfig writes a config file into a new folder and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func loadConfig(t *testing.T, text string, environ ...string) *config.Config {
	t.Helper()
	c := musttest.Get(config.Load(writeConfig(t, text), environ, extensions()))(t)
	return c
}

func TestAnEmptyObjectLoadsTheDefaults(t *testing.T) {
	c := loadConfig(t, `{}`)
	got := musttest.Get(json.Marshal([]any{c, c.Terminal.Protocols}))(t)
	folder := filepath.Dir(c.File())
	want := `[{"workspace":"FOLDER",` +
		`"terminal":{"command":"","stdin":"envelope","timeout":120,"protocol":"plain","passMedia":true,"env":{},"providers":{},` +
		`"progress":"edit","stderr":"always","revealErrors":true,"mediaRoots":[],"cwd":"","shell":"/bin/sh","maxLine":16777216,` +
		`"maxOutput":4194304,"providerEnv":false,"interactive":false,"warm":{"chats":0,"spare":0,"for":300,"watch":[]},"limits":{"memory":0,"cpu":0,"processes":0,"files":0},"sandbox":"none","sandboxPaths":[],` +
		`"sandboxRequired":false,"user":"","labels":[],"hear":{},"hearTimeout":300,"speak":{"command":"","when":"voice"},"passHistory":0,"approvers":[],"protect":[],"mcpServers":{}},"agents":{},` +
		`"channels":{"discord":{"enabled":false,"token":"","allowFrom":[],"apiBase":"","groups":"mention","thread":false},` +
		`"telegram":{"enabled":false,"token":"","allowFrom":[],"apiBase":"https://api.telegram.org",` +
		`"groups":"mention","rich":"auto","drafts":"auto","reactions":"auto","groupDocuments":false,"maxDownload":0,"mode":"poll","webhookUrl":"","webhookSecret":""},"web":{"enabled":false,"name":"nanobot","picture":"","maxUpload":50,"push":{"enabled":false,"allow":[]}}},"http":{"listen":"","hosts":[],"proxies":[],"metricsListen":"","token":""},"hooks":{},` +
		`"gateway":{"maxConcurrent":8,"whileRunning":"queue","queueLimit":20,"onCrash":"report",` +
		`"delivery":"atLeastOnce","gather":0,"ratePerMinute":0,"drainTimeout":30,"files":{"max":2048,"keepDays":0},"keep":{"messages":30,"maxMessages":100000,"history":30,"usage":400,"memories":400,"runs":0},"language":"auto","timezone":"","words":{},"record":"","stateDir":"FOLDER/.nanobot","store":"","storePassword":"","bot":"","member":{"name":"","ttl":10,"labels":[]}},` +
		`"log":{"level":"info","format":"auto"},` +
		`"audit":{"file":"FOLDER/.nanobot/audit.jsonl","maxSize":10,"keep":5,"text":false},"runbooks":{"folder":"FOLDER/runbooks","approvers":[],"agentShell":"trust"},"roles":{"owner":[],"approver":[],"guest":[]},"routes":[],"quotas":[],"schedules":{}},` +
		`{"acp":{"permissions":"ask","rules":{},"askTimeout":300,"idle":900,"keptMemory":0,"maxKept":0,"files":true,"terminals":true,` +
		`"terminalTimeout":3600,"terminalMemory":0,"authMethod":""},` +
		`"blocks":{"agent":"command","approve":"run","timeout":30,"outputLimit":4000,"maxRounds":30},` +
		`"keys":{"agent":"line","format":"auto","maxSteps":100,"shell":"/bin/bash","idle":900,"maxKept":16}}]`
	if want = strings.ReplaceAll(want, "FOLDER", folder); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c.Terminal.Enabled != nil || c.Terminal.On() {
		t.Error("the terminal is on without a command")
	}
}

func TestTheTerminalIsOnWhenACommandIsSetUnlessSwitchedOff(t *testing.T) {
	for text, want := range map[string]bool{
		`{"terminal":{"command":"x"}}`:                       true,
		`{"terminal":{"command":"x","enabled":true}}`:        true,
		`{"terminal":{"command":"x","enabled":false}}`:       false,
		`{"terminal":{"enabled":false}}`:                     false,
		`{"terminal":{"command":""}}`:                        false,
		"// a comment\n{\"terminal\":{\"command\":\"x\",},}": true,
	} {
		wanttest.Equal(t, text+": on =", loadConfig(t, text).Terminal.On(), want)
	}
}

func TestCommentsTrailingCommasByteOrderMarksAndLineEndsAreTolerated(t *testing.T) {
	for name, text := range map[string]string{
		"comments":        "// one\n{ /* two */ \"terminal\": { // three\n\"timeout\": 7 } } // four",
		"trailing commas": `{"terminal":{"timeout":7,"mediaRoots":["/a",],},}`,
		"BOM and CRLF":    "\ufeff{\r\n\"terminal\": {\r\n\"timeout\": 7\r\n}}\r\n",
		"whole floats":    `{"terminal":{"timeout":7.0}}`,
		"exponents":       `{"terminal":{"timeout":70e-1}}`,
		"slash in string": `{"terminal":{"timeout":7,"command":"a // b /* c"}}`,
		"deep enough":     `{"terminal":{"timeout":7,"providers":{"a":{"apiKeys":["x"]}}}}`,
	} {
		if c := loadConfig(t, text); c.Terminal.Timeout != 7 {
			t.Errorf("%s: timeout %d", name, c.Terminal.Timeout)
		}
	}
}

func TestEveryKeyOfTheFileReachesItsField(t *testing.T) {
	c := musttest.Get(config.Load("testdata/good/everything.json", []string{"HOME=/home/me"}, extensions()))(t)
	folder, _ := filepath.Abs("testdata/good")
	on := true
	want := config.Config{
		Schema: "./config.schema.json", Workspace: folder,
		Terminal: config.Terminal{
			Enabled: &on, Command: "./agent {message}", Stdin: "envelope", Timeout: 120, Protocol: "rich",
			Env:       map[string]string{"My.Key": "1", "lower_case": "2", "camelCase": "3"},
			Providers: map[string]config.Provider{"my.service": {APIKeys: []config.Secret{"cred:service"}}},
			Progress:  "message", Format: "code", Stderr: "onError", RevealErrors: config.Selection{Names: []string{"telegram:1"}},
			MediaRoots: []string{filepath.Join(folder, "out"), "/srv"}, Shell: "/bin/bash",
			MaxLine: 16 << 20, MaxOutput: 4 << 20, ProviderEnv: true, Interactive: true, PassHistory: 3,
			Hear: map[string]string{"audio/*": "whisper-cli -f {file}"}, HearTimeout: 60,
			Speak: config.Speak{Command: "speak {file}", When: "always"},
			Protocols: config.Protocols{blocks.Name: &blocks.Settings{
				Agent: "person", Approve: "all", Timeout: 60, OutputLimit: 500, MaxRounds: 7,
			}, keys.Name: &keys.Settings{
				Agent: "turn", Format: "xml", Cols: 100, Rows: 30, MaxSteps: 5, Shell: "/bin/zsh", Idle: 60, MaxKept: 3,
			}, acp.Name: &acp.Settings{
				Permissions: "allow-reads", Rules: map[string]string{"delete": "deny", "fetch": "allow"}, AskTimeout: 60, Idle: 30, KeptMemory: 512, MaxKept: 2,
				Files: false, Terminals: false, TerminalTimeout: 5, TerminalMemory: 512, AuthMethod: "api-key",
			}},
			Warm:    config.Warm{Chats: 8, Spare: 2, For: 60, Watch: []string{"lib/*.py"}},
			Limits:  config.Limits{Memory: 512, CPU: 60, Processes: 100, Files: 256},
			Sandbox: "landlock", SandboxPaths: []string{filepath.Join(folder, "data"), "/srv/models:ro"}, SandboxRequired: true, User: "nobody", Labels: []string{"gpu", "repo"},
			Approvers: []string{"telegram:123456789"}, Protect: []string{}, MCPServers: map[string]config.MCPServer{},
		},
		Agents: config.Agents{"coder-2": coderAgent(folder)},
		Channels: config.Channels{
			telegram.Name: &telegram.Settings{
				Enabled: true, Token: config.Secret("file:" + filepath.Join(folder, "token")), AllowFrom: []string{"123456789"},
				Groups: "all", Mode: "webhook",
				MaxDownload: 5000000, Rich: "off", Drafts: "off", Reactions: "off", GroupDocuments: true, WebhookURL: "https://bot.example.com:8443/telegram", WebhookSecret: "A-z_0",
			},
			discord.Name: &discord.Settings{
				Enabled: true, Token: "env:DISCORD_TOKEN", AllowFrom: []string{"*"}, APIBase: "http://localhost:1", Groups: "off", Thread: true,
			},
			web.Name: &web.Settings{Enabled: true, Name: "Ada", Picture: musttest.Get(filepath.Abs("testdata/good/ada.png"))(t), MaxUpload: 7, Push: web.Push{Enabled: true, Allow: []string{"push.example.com", "10.0.0.0/8"}}},
		},
		HTTP: config.HTTP{
			Listen: "[::1]:8080", Hosts: []string{"bot.example.com"}, Proxies: []string{"172.18.0.2"}, MetricsListen: "127.0.0.1:9464", Token: "cred:http",
		},
		Hooks: map[string]*config.Hook{
			"ci_1": {
				Secret: config.Secret("file:" + filepath.Join(folder, "hook")), Auth: "hmac", Header: "X-Signature", Chat: "telegram:-1001234567890_7",
				Template: "file:" + filepath.Join(folder, "ci.tmpl"), Agent: "coder-2", MaxBody: 4096,
			},
		},
		Gateway: config.Gateway{
			MaxConcurrent: 1, WhileRunning: "inject", OnCrash: "retry", Delivery: "atMostOnce",
			RatePerMinute: 6, Gather: 1500, Files: config.Files{Max: 5, KeepDays: 7}, Keep: config.Keep{Messages: 1, MaxMessages: 200, History: 3, Usage: 4, Memories: 95, Runs: 6}, Language: "de", Timezone: "Europe/Berlin", Words: map[string]string{"queued": "Wait.", "queued.de": "Warte."}, StateDir: filepath.Join(folder, "state"), Record: filepath.Join(folder, "state", "tapes"),
			Store: "postgres://ann@db1,db2/bots?sslmode=require", StorePassword: config.Secret("file:" + filepath.Join(folder, "password")), Bot: "bar_1",
			Member: config.Member{Name: "host-a", TTL: 4, Labels: []string{"gpu"}},
		},
		Log:      config.Log{Level: "debug", Format: "json"},
		Audit:    config.Audit{File: filepath.Join(folder, "audit", "all.jsonl"), MaxSize: 1, Text: true},
		Roles:    config.Roles{Owner: []string{"telegram:123456"}, Approver: []string{"discord:42"}, Guest: []string{"telegram:8"}},
		Runbooks: config.Runbooks{Folder: filepath.Join(folder, "procedures"), Approvers: []string{"telegram:123456"}, AgentShell: "check"},
		Quotas: []config.Quota{
			{Per: "user", Match: config.Match{Kind: config.Values{"group"}}, Turns: 20},
			{Per: "chat", Seconds: 3600},
			{Per: "agent", Cost: 2.5},
		},
		Routes: []config.Route{
			{
				Match: config.Match{
					Channel: config.Values{"telegram"}, Chat: config.Values{"-1001", "telegram:-1002_7"}, Topic: config.Values{"77"},
					User: config.Values{"5"}, Kind: config.Values{"group"}, Command: config.Values{"faq"}, Media: config.Values{"image/*"},
					Hook: config.Values{"ci_1"}, Schedule: config.Values{"report", "party"},
				},
				Agent: "coder-2", Workspace: "docs", Switch: config.Selection{Names: []string{"default"}},
			},
			{Agent: "default", Worktree: "repo", Switch: config.Selection{All: true}},
		},
		Schedules: map[string]config.Schedule{
			"report": {
				Cron: "0 9 * * MON", Timezone: "America/New_York", Chat: "telegram:7", Text: "Report.", Agent: "coder-2",
				Say: "always",
			},
			"party": {At: "2026-12-24T18:00:00+01:00", Chat: "discord:8", Runbook: "party"},
		},
	}
	for i := range reflect.TypeOf(want).NumField() {
		field := reflect.TypeOf(want).Field(i)
		if !field.IsExported() {
			continue
		}
		got, want := reflect.ValueOf(*c).Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", field.Name, got, want)
		}
	}
	wanttest.Equal(t, "token reference", string(telegramSettings(c).Token), string(telegramSettings(&want).Token))
}

// coderAgent returns the second agent of everything.json: its own values on top of the defaults,
// and none of the values of the section terminal.
func coderAgent(folder string) *config.Terminal {
	t := extensions().Default().Terminal
	t.Command, t.Protocol, t.Timeout = "claude-agent-acp", acp.Name, 900
	t.Cwd, t.MediaRoots = filepath.Join(folder, "code"), []string{filepath.Join(folder, "code", "out")}
	t.Providers = map[string]config.Provider{"other": {APIKeys: []config.Secret{config.Secret("file:" + filepath.Join(folder, "key"))}}}
	t.Protocols[acp.Name].(*acp.Settings).Idle = 7
	t.Approvers = []string{"discord:42", "telegram:7"}
	t.MCPServers = map[string]config.MCPServer{
		"files": {Command: "mcp-files", Args: []string{"--root", "."}, Env: map[string]config.Secret{
			"LOG LEVEL": "very loud", "KEY": config.Secret("file:" + filepath.Join(folder, "key")),
		}},
		"my.search": {Type: "http", URL: "https://mcp.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer abc"}},
	}
	return &t
}

func TestUserKeysSurviveUntouched(t *testing.T) {
	c := loadConfig(t, `{"terminal":{
		"env": {"A.B": "1", "a_b": "2", "aB": "3", "A__B": "4", "ünï": "6", "a\u001fb": "7"},
		"providers": {"my.service": {"apiKeys": ["x"]}, "My_Service": {"apiKeys": ["y"]}, "my": {"apiKeys": ["z"]}}
	}}`, "NANOBOT_TERMINAL__TIMEOUT=1")
	wantEnv := map[string]string{"A.B": "1", "a_b": "2", "aB": "3", "A__B": "4", "ünï": "6", "a\x1fb": "7"}
	if !reflect.DeepEqual(c.Terminal.Env, wantEnv) {
		t.Errorf("env %q", c.Terminal.Env)
	}
	for name, key := range map[string]string{"my.service": "x", "My_Service": "y", "my": "z"} {
		if p := c.Terminal.Providers[name]; len(p.APIKeys) != 1 || string(p.APIKeys[0]) != key {
			t.Errorf("provider %s: %v", name, p)
		}
	}
	wanttest.Equal(t, "providers:", len(c.Terminal.Providers), 3)
}

func TestPathsAreMadeAbsolute(t *testing.T) {
	for name, test := range map[string]struct {
		text                       string
		environ                    []string
		workspace, cwd, media, dir string // F stands for the file's folder
	}{
		"defaults":        {`{}`, nil, "F", "", "", "F/.nanobot"},
		"relative":        {`{"workspace":"w","terminal":{"cwd":"c","mediaRoots":["m/../n"]},"gateway":{"stateDir":"s"}}`, nil, "F/w", "F/w/c", "F/w/n", "F/w/s"},
		"absolute":        {`{"workspace":"/w","terminal":{"cwd":"/c","mediaRoots":["/m"]},"gateway":{"stateDir":"/s"}}`, nil, "/w", "/c", "/m", "/s"},
		"home":            {`{"workspace":"~/w","terminal":{"cwd":"~","mediaRoots":["~/m"]},"gateway":{"stateDir":"~/s"}}`, []string{"HOME=/h"}, "/h/w", "/h", "/h/m", "/h/s"},
		"not home":        {`{"workspace":"~w","terminal":{"cwd":"~x/c"}}`, []string{"HOME=/h"}, "F/~w", "F/~w/~x/c", "", "F/~w/.nanobot"},
		"systemd":         {`{}`, []string{"STATE_DIRECTORY=/var/lib/nanobot:/var/lib/other"}, "F", "", "", "/var/lib/nanobot"},
		"file over unit":  {`{"gateway":{"stateDir":"s"}}`, []string{"STATE_DIRECTORY=/var/lib/nanobot"}, "F", "", "", "F/s"},
		"empty unit":      {`{}`, []string{"STATE_DIRECTORY="}, "F", "", "", "F/.nanobot"},
		"by the variable": {`{"workspace":"x"}`, []string{"NANOBOT_WORKSPACE=y"}, "F/y", "", "", "F/y/.nanobot"},
	} {
		c := loadConfig(t, test.text, test.environ...)
		folder := filepath.Dir(c.File())
		media := ""
		if len(c.Terminal.MediaRoots) > 0 {
			media = c.Terminal.MediaRoots[0]
		}
		got := []string{c.Workspace, c.Terminal.Cwd, media, c.Gateway.StateDir}
		want := []string{test.workspace, test.cwd, test.media, test.dir}
		for i := range want {
			if rest, ok := strings.CutPrefix(want[i], "F"); ok {
				want[i] = folder + rest
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
	}
}

func TestARelativePathToTheFileMakesAnAbsoluteWorkspace(t *testing.T) {
	path := writeConfig(t, `{}`)
	t.Chdir(filepath.Dir(path))
	here, _ := os.Getwd()
	c, err := config.Load("config.json", nil, extensions())
	if err != nil || c.Workspace != here || c.File() != filepath.Join(here, "config.json") {
		t.Errorf("%v, workspace %s", err, c.Workspace)
	}
}

func TestWithoutAFileTheCurrentFolderIsTheWorkspace(t *testing.T) {
	t.Chdir(t.TempDir())
	here, _ := os.Getwd()
	c := musttest.Get(config.Load("", []string{"NANOBOT_TERMINAL__COMMAND=cat", "NANOBOT_GATEWAY__STATEDIR=s"}, extensions()))(t)
	if c.Workspace != here || c.Gateway.StateDir != filepath.Join(here, "s") || c.Terminal.Command != "cat" || c.File() != "" {
		t.Errorf("%+v", c)
	}
}

func TestFileReferencesAreRelativeToTheConfigFile(t *testing.T) {
	c := loadConfig(t, `{"workspace":"w","terminal":{"providers":{"a":{"apiKeys":["file:k","file:~/k","file:/k","env:K"]}}},
		"channels":{"telegram":{"token":"file:t"}}}`, "HOME=/h")
	folder := filepath.Dir(c.File())
	want := []config.Secret{config.Secret("file:" + folder + "/k"), "file:/h/k", "file:/k", "env:K"}
	if got := c.Terminal.Providers["a"].APIKeys; !reflect.DeepEqual(got, want) {
		t.Errorf("keys %q", []string{string(got[0]), string(got[1]), string(got[2]), string(got[3])})
	}
	wanttest.Equal(t, "token", string(telegramSettings(c).Token), "file:"+folder+"/t")
}

// BenchmarkLoad measures a config that sets every key, and a usual one.
func BenchmarkLoad(b *testing.B) {
	usual := filepath.Join(b.TempDir(), "config.json")
	text := `{"channels": {"telegram": {"enabled": true, "token": "file:token", "allowFrom": ["7"]}}, "terminal": {"command": "cat", "protocol": "rich"}}`
	musttest.Do(b, os.WriteFile(usual, []byte(text), 0o600))
	for name, path := range map[string]string{"every-key": "testdata/good/everything.json", "usual": usual} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				musttest.Get(config.Load(path, nil, extensions()))(b)
			}
		})
	}
}
