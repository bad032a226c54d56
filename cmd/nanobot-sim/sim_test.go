package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// sendAsBot calls sendMessage n times, and returns the statuses; 0 is a cut connection.
func (s *simulator) sendAsBot(n int) (statuses []int) {
	s.t.Helper()
	for range n {
		r := musttest.Get(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.API+"/bot"+s.Token+"/sendMessage",
			strings.NewReader(`{"chat_id": 7, "text": "x"}`)))(s.t)
		r.Header.Set("Content-Type", "application/json")
		status := 0
		if resp, err := http.DefaultClient.Do(r); err == nil {
			status = resp.StatusCode
			resp.Body.Close()
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func TestASeedRepeatsTheFaults(t *testing.T) {
	var calls []sentCall
	fail := func(seed string) []int {
		s := start(t, "telegram", "--faults", "429,cut,500", "--seed", seed)
		s.post("messages", `{"user": 7, "text": "hello"}`)
		statuses := s.sendAsBot(60)
		calls = nil
		s.request("GET", "/_sim/sent", "", nil, &calls)
		return statuses
	}
	first := fail("7")
	shownByCut := map[int]bool{}
	for _, c := range calls {
		if c.Status == 0 {
			shownByCut[len(c.Messages)] = true
		}
	}
	if !shownByCut[0] || !shownByCut[1] {
		t.Errorf("cuts come only before or only after the effect: %v", shownByCut)
	}
	wanttest.EqualSlices(t, "with the same seed, the statuses are", fail("7"), first)
	if slices.Equal(fail("8"), first) {
		t.Error("another seed has the same faults")
	}
	for _, status := range []int{http.StatusOK, http.StatusTooManyRequests, 0, http.StatusInternalServerError} {
		if !slices.Contains(first, status) {
			t.Errorf("no call has the status %d: %v", status, first)
		}
	}
}

func TestTheNextCallsFailOnDemand(t *testing.T) {
	s := start(t, "telegram")
	s.post("messages", `{"user": 7, "text": "hello"}`)
	queued := s.post("faults", `{"method": "sendMessage", "faults": ["429", "502", "cut-before", "cut-after"]}`)
	wanttest.EqualSlices(t, "the statuses are", s.sendAsBot(5), []int{429, 502, 0, 0, 200})
	var calls []sentCall
	s.request("GET", "/_sim/sent?after="+strconv.Itoa(queued.After), "", nil, &calls)
	shown := []int{}
	for _, c := range calls {
		shown = append(shown, len(c.Messages))
	}
	wanttest.EqualSlices(t, "the calls show so many messages", shown, []int{0, 0, 0, 1, 1})
}

func TestAMistakeOfTheBotIsAViolation(t *testing.T) {
	s := start(t, "telegram")
	r := musttest.Get(http.Get(s.API + "/bot" + s.Token + "/sendMessage?chat_id=7&txt=x"))(t)
	r.Body.Close()
	wanttest.Equal(t, "violations", strings.Contains(strings.Join(s.violations(), "\n"), "there is no parameter txt"), true)
}

func TestWhatPeopleCannotDoIsRefusedWithWords(t *testing.T) {
	networks := map[string]*simulator{"telegram": start(t, "telegram"), "discord": start(t, "discord")}
	long := strings.Repeat("x", 4097)
	for _, test := range []struct{ network, path, body, words string }{
		{"telegram", "messages", `{"user": -5, "text": "hi"}`, `"-5" is no ID`},
		{"telegram", "messages", `{"user": 0, "text": "hi"}`, `"0" is no ID`},
		{"telegram", "messages", `{"text": "hi"}`, "no ID of a person"},
		{"telegram", "messages", `{"user": 110201543, "text": "hi"}`, "the bot itself"},
		{"telegram", "messages", `{"user": 9007199254740993, "text": "hi"}`, "1 to 2^52"},
		{"telegram", "messages", `{"user": 1.5, "text": "hi"}`, "no ID"},
		{"telegram", "messages", `{"user": [1], "text": "hi"}`, "a string or a number"},
		{"telegram", "messages", `{"user": 5, "chat": 6, "text": "hi"}`, "private chat"},
		{"telegram", "messages", `{"user": 5, "chat": "0", "text": "hi"}`, "no ID of a chat"},
		{"telegram", "messages", `{"user": 5, "chat": "home", "text": "hi"}`, "no ID of a chat"},
		{"telegram", "messages", `{"user": 5, "text": "hi", "reply_to": 99}`, "no message 99"},
		{"telegram", "messages", `{"user": 5, "text": "` + long + `"}`, "longer than 4096"},
		{"telegram", "messages", `{"user": 5, "file": {"name": "a"}}`, "the file is empty"},
		{"telegram", "messages", `{"user": 5, "file": {"kind": "hat", "content": "aGk="}}`, `kind of file "hat"`},
		{"telegram", "messages", `{"user": 5}`, "either text or a file"},
		{"telegram", "messages", `{"user": 5, "txt": "hi"}`, `unknown field "txt"`},
		{"telegram", "messages", `{"user": 5, "text": "hi"} {}`, "something follows"},
		{"telegram", "messages", `{"user": 5, "button": "y"}`, "belongs to /_sim/presses"},
		{"telegram", "commands", `{"user": 5, "command": "ask"}`, "/command"},
		{"telegram", "faults", `{"faults": ["flood"]}`, `no fault "flood"`},
		{"discord", "messages", `{"user": -5, "text": "hi"}`, "no ID of a person"},
		{"discord", "messages", `{"user": "", "text": "hi"}`, "no ID of a person"},
		{"discord", "messages", `{"user": "+07", "text": "hi"}`, "no ID of a person"},
		{"discord", "messages", `{"user": 5, "chat": "lobby", "text": "hi"}`, `no channel "lobby"`},
		{"discord", "messages", `{"user": 5, "text": "` + long + `"}`, "longer than 2000"},
		{"discord", "messages", `{"user": 5, "text": "  "}`, "only spaces"},
	} {
		var o outcome
		status := networks[test.network].request("POST", "/_sim/"+test.path, test.body, nil, &o)
		if status != http.StatusBadRequest || !strings.Contains(o.Error, test.words) {
			t.Errorf("%s %.80s: %d %q, want %q", test.network, test.body, status, o.Error, test.words)
		}
	}
	var o outcome
	if status := networks["telegram"].request("GET", "/_sim/sent?wait=1h", "", nil, &o); status != http.StatusBadRequest {
		t.Errorf("a wait of an hour: %d %s", status, o.Error)
	}
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	s := start(t, "telegram")
	host := strings.TrimPrefix(s.Address, "http://")
	for _, test := range []struct {
		host, origin string
		status       int
	}{
		{"", "", http.StatusOK},
		{host, s.Address, http.StatusOK},
		{"localhost:1", "", http.StatusOK},
		{host, "http://evil.example", http.StatusForbidden},
		{host, "null", http.StatusForbidden},
		{"evil.example", "", http.StatusForbidden},
		{"evil.example", "http://evil.example", http.StatusForbidden},
	} {
		header := http.Header{"Host": {test.host}}
		if test.origin != "" {
			header.Set("Origin", test.origin)
		}
		for _, method := range []string{"GET", "POST"} {
			path, body := "/_sim/violations", ""
			if method == "POST" {
				path, body = "/_sim/messages", `{"user": 7, "text": "hi"}`
			}
			var answer any
			if status := s.request(method, path, body, header, &answer); status != test.status {
				t.Errorf("%s with %v: %d %v, want %d", method, header, status, answer, test.status)
			}
		}
	}
}

func TestAScriptLetsPeopleAct(t *testing.T) {
	script := filepath.Join(t.TempDir(), "people.jsonl")
	musttest.Do(t, os.WriteFile(script, []byte(`{"user": 7, "text": "hello"}

{"after": "1ms", "user": 7, "button": "yes"}
{"user": 7, "button": "gone", "message": 99}
`), 0o600))
	s := start(t, "telegram", "--people", script)
	runTelegramBot(t, s)
	wanttest.Equal(t, "the edit says", s.next(0, "editMessageText").Text, "you chose y")
}

func TestWrongUseIsNamed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "people.jsonl")
	musttest.Do(t, os.WriteFile(script, []byte("{\"user\": 7, \"text\": \"hello\"}\n{\"user\": -7, \"text\": \"hello\"}\n"), 0o600))
	for _, test := range []struct {
		args, words string
		status      int
	}{
		{"", "telegram or discord", 2},
		{"irc", "telegram or discord", 2},
		{"telegram --faults flood", `no fault "flood"`, 2},
		{"telegram --token 12", "a token of Telegram", 2},
		{"telegram --people " + script, "people.jsonl:2: \"-7\" is no ID", 2},
		{"telegram --people /none.jsonl", "/none.jsonl", 2},
		{"telegram more", `no argument "more"`, 2},
		{"telegram --listen 192.0.2.1:1", "listen", 1},
		{"--help", "Usage: nanobot-sim telegram|discord", 0},
	} {
		status, stderr := exitStatus(t, strings.Fields(test.args)...)
		if status != test.status || !strings.Contains(stderr, test.words) {
			t.Errorf("%s: %d %s", test.args, status, stderr)
		}
	}
}

func TestTheSimulatorEndsWhileAScriptWaitsForTheBot(t *testing.T) {
	script := filepath.Join(t.TempDir(), "people.jsonl")
	musttest.Do(t, os.WriteFile(script, []byte(`{"user": 7, "text": "hello"}`), 0o600))
	start(t, "discord", "--people", script)
}

// TestNoProgramLinksTests keeps testing out of both programs, and the simulators out of nanobot.
func TestNoProgramLinksTests(t *testing.T) {
	for program, never := range map[string]string{
		"nanobot":     `^(testing|testing/.*|net/http/httptest|nanobot/.*test)$`,
		"nanobot-sim": `^(testing|testing/.*)$`,
	} {
		out := musttest.Get(exec.Command("go", "list", "-deps", "nanobot/cmd/"+program).Output())(t)
		packages := strings.Fields(string(out))
		if len(packages) < 100 {
			t.Fatalf("%s has only %d packages", program, len(packages))
		}
		for _, name := range packages {
			if regexp.MustCompile(never).MatchString(name) {
				t.Errorf("%s links %s", program, name)
			}
		}
	}
}

// TestTheExampleOfTheManualRuns runs the test in docs/kit.md with a bot that knows only urllib.
func TestTheExampleOfTheManualRuns(t *testing.T) {
	manual := string(musttest.Get(os.ReadFile("../../docs/kit.md"))(t))
	_, example, _ := strings.Cut(manual[strings.Index(manual, "\n## nanobot-sim\n"):], "```python\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok {
		t.Fatal("docs/kit.md has no example")
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"test_bot.py": example,
		"nanobot-sim": "#!/bin/sh\n" + asProgram + "=1 exec " + musttest.Get(os.Executable())(t) + ` "$@"` + "\n",
		"bot.py": `import json, sys, urllib.request
def call(method, **params):
    request = urllib.request.Request(sys.argv[1] + "/bot" + sys.argv[2] + "/" + method, json.dumps(params).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]
offset = 0
while True:
    for update in call("getUpdates", offset=offset, timeout=30):
        offset = update["update_id"] + 1
        call("sendMessage", chat_id=update["message"]["chat"]["id"], text="Welcome!")
`,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700))
	}
	cmd := exec.CommandContext(t.Context(), "python3", "test_bot.py")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
