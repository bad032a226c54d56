package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/cmd/nanobot/doctor"
	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// findings are what a doctor has found.
type findings []channels.Finding

// runDoctor runs the doctor in this process and returns what it prints, too.
func runDoctor(t *testing.T, path string, turn bool) (all findings, status int, text string) {
	t.Helper()
	return runDoctorWith(t, doctor.Options{Path: path, Turn: turn, Listen: time.Second})
}

func runDoctorWith(t *testing.T, o doctor.Options) (all findings, status int, text string) {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	all, err := doctor.Run(t.Context(), addWiring(o))
	var end exit.Error
	if err != nil && !errors.As(err, &end) {
		t.Fatal(err)
	}
	for _, f := range all {
		if (f.Fix == "") != (f.Status == channels.Good) {
			t.Errorf("%+v: what is wrong has a fix, what is right has none", f)
		}
	}
	return all, end.Status, out.String()
}

// expectFinding fails unless a check had a verdict and its detail says something.
func (all findings) expectFinding(t *testing.T, check string, status channels.Verdict, words string) {
	t.Helper()
	for _, f := range all {
		if f.Check == check && f.Status == status && strings.Contains(f.Detail, words) {
			return
		}
	}
	t.Errorf("there is no %s of %s with %q in %+v", status, check, words, all)
}

// expectOnly fails if anything but these checks is less than well. The agents of these tests run as
// the daemon's user.
func (all findings) expectOnly(t *testing.T, checks ...string) {
	t.Helper()
	checks = append(checks, "isolation.user")
	for _, f := range all {
		if f.Status != channels.Good && !strings.Contains(strings.Join(checks, " "), f.Check) {
			t.Errorf("and %+v", f)
		}
	}
}

// writeBot writes a config and the files beside it, and returns the config's path.
func writeBot(t *testing.T, cfg string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	path := filepath.Join(dir, "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(cfg), 0o600))
	return path
}

func TestDoctorFindsNothingWrongWithAGoodBotOnTwoNetworks(t *testing.T) {
	tg, dc := telegramtest.New(t), discordtest.New(t)
	path := writeBot(t, `{"terminal": {"command": "sh agent.sh", "protocol": "rich"}, "http": {"listen": "127.0.0.1:0"}, "channels": {
		"telegram": {"enabled": true, "token": "file:tg", "apiBase": "`+tg.URL+`", "allowFrom": ["7"]},
		"discord": {"enabled": true, "token": "file:dc", "apiBase": "`+dc.URL+`", "allowFrom": ["7"]}}}`,
		map[string]string{"agent.sh": echo, "tg": tg.Token, "dc": dc.Token})
	all, status, text := runDoctor(t, path, true)
	wanttest.Equal(t, "status", status, 0)
	all.expectOnly(t)
	for check, words := range map[string]string{
		"config": path, "workspace": "is writable", "state": "first start", "secrets": "no other user", "disk": "free", "http": "free", "daemon": "is not running",
		"agent": "rich: 1 message", "systemd": "", "telegram.token": "@nano_test_bot", "telegram.webhook": "none", "telegram.poller": "nobody else",
		"telegram.privacy": "", "telegram.clock": "", "discord.token": "", "discord.intents": "on", "discord.clock": "",
	} {
		all.expectFinding(t, check, channels.Good, words)
	}
	if strings.Contains(text, tg.Token) || strings.Contains(text, dc.Token) {
		t.Errorf("a token is shown:\n%s", text)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 4 {
		t.Errorf("it left something behind: %v", left)
	}
}

func TestDoctorBesideADaemonDoesNotDisturbIt(t *testing.T) {
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.UserSends(7, "one")
	b.api.WaitForText(t, 7, "you said one")
	cmd := programCommand(t, "doctor", "--json", "--config", b.cfg)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	var all findings
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	all.expectOnly(t)
	all.expectFinding(t, "daemon", channels.Good, "pid "+strconv.Itoa(b.child.PID()))
	all.expectFinding(t, "state", channels.Good, "intact")
	all.expectFinding(t, "telegram.poller", channels.Good, "our own daemon polls")
	b.api.UserSends(7, "two")
	b.api.WaitForText(t, 7, "you said two")
	for _, c := range b.api.Calls("getUpdates") {
		if c.Done && c.Status == 409 {
			t.Error("the daemon's poll was cut off")
		}
	}
}

func TestDoctorFindsASecondPollerWithTheSameToken(t *testing.T) {
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AwaitPoll(t)
	other := telegramSetup{agent: echo}.writeConfig(t, b.api)
	all, status, _ := runDoctorWith(t, doctor.Options{Path: other, Listen: waitTimeout})
	wanttest.Equal(t, "status", status, exit.Failed)
	all.expectFinding(t, "telegram.poller", channels.Bad, "another program polls with this bot's token")
}

func TestDoctorNamesFaultsOfTheNetworks(t *testing.T) {
	tg, dc := telegramtest.New(t), discordtest.New(t)
	dc.SetPrivilegedIntents(0)
	tg.SetPrivacyMode(true)
	path := writeBot(t, `{"terminal": {"command": "true"}, "channels": {
		"telegram": {"enabled": true, "token": "file:tg", "apiBase": "`+tg.URL+`", "allowFrom": ["7"], "groups": "all"},
		"discord": {"enabled": true, "token": "file:dc", "apiBase": "`+dc.URL+`", "allowFrom": ["7"]}}}`, map[string]string{"tg": tg.Token, "dc": dc.Token})
	all, status, _ := runDoctor(t, path, false)
	wanttest.Equal(t, "status", status, exit.Failed)
	all.expectFinding(t, "telegram.privacy", channels.Doubtful, "privacy mode")
	all.expectFinding(t, "discord.intents", channels.Bad, "switched off")
	all.expectOnly(t, "telegram.privacy", "discord.intents")
}

func TestDoctorAssessesRealAgents(t *testing.T) {
	const secret = "sk-0123456789"
	for name, c := range map[string]struct {
		agent, more string
		status      channels.Verdict
		words       string
	}{
		"rich":             {`echo '{"type":"progress","text":"x"}'; echo '{"type":"message","text":"ok"}'; echo so`, `"protocol": "rich"`, channels.Good, "1 message, 1 progress, 1 plain lines"},
		"a log only":       {`echo '{"type":"log","text":"x"}'`, `"protocol": "rich"`, channels.Good, "1 log"},
		"an unknown frame": {`echo '{"type":"mesage","text":"x"}'`, `"protocol": "rich"`, channels.Doubtful, `"mesage"`},
		"no frame":         {`echo hello`, `"protocol": "rich"`, channels.Doubtful, "no frame"},
		"nothing":          {`:`, `"protocol": "rich"`, channels.Doubtful, "nothing at all"},
		"an error frame":   {`echo '{"type":"error","text":"no such word","code":"X"}'`, `"protocol": "rich"`, channels.Doubtful, "no such word"},
		"plain":            {`echo hello`, `"protocol": "plain"`, channels.Good, "plain: 1 line,"},
		"plain and silent": {`exit 0`, `"protocol": "plain"`, channels.Doubtful, "nothing at all"},
		"frames in plain":  {`echo '{"type":"message","text":"x"}'`, `"protocol": "plain"`, channels.Doubtful, "looks like frames"},
		"a failure":        {`echo first >&2; echo "it broke" >&2; exit 3`, `"protocol": "rich"`, channels.Bad, "exit status 3: it broke"},
		"a leak":           {`echo "key $KEY and $ANTHROPIC_API_KEY" >&2; exit 3`, `"providerEnv": true, "providers": {"anthropic": {"apiKeys": ["` + secret + `"]}}, "env": {"KEY": "` + secret + `x"}`, channels.Bad, "key ***"},
		"not found":        {`no-such-program-anywhere`, `"protocol": "rich"`, channels.Bad, "was not found"},
		"not executable":   {`./config.json`, `"protocol": "rich"`, channels.Bad, "cannot be executed"},
		"a crash":          {`kill -SEGV $$`, `"protocol": "rich"`, channels.Bad, "SIGSEGV"},
		"one without end":  {`exec sleep 100`, `"protocol": "rich", "timeout": 1`, channels.Bad, "within 1 s"},
		"a wrong folder":   {`echo hi`, `"cwd": "nowhere"`, channels.Bad, "cannot be run"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeBot(t, `{"terminal": {"command": `+strconv.Quote(c.agent)+`, `+c.more+`}}`, nil)
			all, status, text := runDoctor(t, path, true)
			all.expectFinding(t, "agent", c.status, c.words)
			if (status != 0) != (c.status == channels.Bad) {
				t.Errorf("status %d", status)
			}
			if strings.Contains(text, secret) {
				t.Errorf("a secret is shown:\n%s", text)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "users")); err == nil {
				t.Error("the chat's folder stays")
			}
		})
	}
}

// sessionAgent speaks as much of the Agent Client Protocol as a session needs, and fails at a
// prompt.
const sessionAgent = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    r = {"initialize": {"protocolVersion": 1, "agentCapabilities": {}}, "session/new": {"sessionId": "s1"}}.get(m.get("method"))
    if m.get("method") == "session/prompt": sys.exit(9)
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **({"result": r} if r else {"error": {"code": -32601, "message": "no"}})}), flush=True)
`

func TestDoctorOpensAnACPSessionAndPromptsNoModel(t *testing.T) {
	for command, want := range map[string]channels.Verdict{"python3 agent.py": channels.Good, "cat": channels.Bad, "exec sleep 100 < /dev/null": channels.Bad} {
		timeout := map[bool]string{true: "120", false: "2"}[want == channels.Good]
		path := writeBot(t, `{"terminal": {"command": "`+command+`", "protocol": "acp", "timeout": `+timeout+`}}`, map[string]string{"agent.py": sessionAgent})
		all, _, _ := runDoctor(t, path, true)
		words := map[bool]string{true: "opened a session", false: ""}[want == channels.Good]
		all.expectFinding(t, "agent", want, words)
	}
}

// inspectedAgent is a package of npm that uses the MCP servers that it is given.
const inspectedAgent = `#!/usr/bin/env python3
import json, os, subprocess, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "session/new" and "signed" in sys.argv:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32000, "message": "Authentication required"}}), flush=True)
        continue
    for s in m.get("params", {}).get("mcpServers", []) if "tools" in sys.argv else []:
        env = {**os.environ, "NANOBOT_TEST_MAIN": "1", **{v["name"]: v["value"] for v in s["env"]}}
        p = subprocess.Popen([s["command"]] + s["args"], env=env, stdin=subprocess.PIPE)
    r = {"initialize": {"protocolVersion": 1, "agentInfo": {"name": sys.argv[1], "version": "1.2.3"}}, "session/new": {"sessionId": "s1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r[m["method"]]}), flush=True)
`

func TestDoctorSaysWhatItKnowsOfAnACPAgent(t *testing.T) {
	for args, want := range map[string]struct {
		status channels.Verdict
		detail string
		fix    string
	}{
		"some-agent tools":  {channels.Good, "; some-agent 1.2.3; needs Node >=22.1; has connected to nanobot's tools", ""},
		"some-agent":        {channels.Good, "; some-agent 1.2.3; needs Node >=22.1; has not connected to nanobot's tools yet", ""},
		"gemini-cli":        {channels.Doubtful, "; gemini-cli 1.2.3; needs Node >=22.1; has not connected", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		"some-agent signed": {channels.Bad, "requires signing in", "nanobot login"},
	} {
		path := writeBot(t, `{"terminal": {"command": "./agent/run `+args+`", "protocol": "acp"}}`, nil)
		dir := filepath.Join(filepath.Dir(path), "agent")
		musttest.Do(t, os.Mkdir(dir, 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, "run"), []byte(inspectedAgent), 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"engines": {"node": ">=22.1"}}`), 0o600))
		listen := time.Millisecond
		if strings.Contains(args, "tools") {
			listen = waitTimeout
		}
		all, _, _ := runDoctorWith(t, doctor.Options{Path: path, Turn: true, Listen: listen})
		for _, f := range all {
			if f.Check != "agent" {
				continue
			}
			// The version of Node on this machine is not part of the test.
			detail := regexp.MustCompile(` \(here: [^)]*\)`).ReplaceAllString(f.Detail, "")
			if f.Status != want.status || !strings.Contains(detail, want.detail) || !strings.Contains(f.Fix, want.fix) {
				t.Errorf("%s: %+v", args, f)
			}
		}
		all.expectFinding(t, "agent", want.status, "")
	}
}

func TestDoctorOfABadConfig(t *testing.T) {
	for name, cfg := range map[string]string{
		"two mistakes":          `{"terminal": {"comand": "x", "timeout": -1}}`,
		"a secret that is gone": `{"terminal": {"command": "true"}, "channels": {"telegram": {"enabled": true, "token": "file:gone"}}}`,
		"a token of no form":    `{"terminal": {"command": "true"}, "channels": {"telegram": {"enabled": true, "token": "hush-hush"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			all, status, text := runDoctor(t, writeBot(t, cfg, nil), true)
			wanttest.Equal(t, "status", status, exit.Config)
			all.expectFinding(t, "config", channels.Bad, "")
			if name == "two mistakes" && len(all) != 2 {
				t.Errorf("found %+v", all)
			}
			if strings.Contains(text, "hush") {
				t.Error(text)
			}
		})
	}
}
