package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/gateway/toolsocket"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// toolBot starts a daemon whose agent does what the scripts say that it is sent. more is more of
// the config.
func toolBot(t *testing.T, more string) *bot {
	t.Helper()
	self := musttest.Get(os.Executable())(t)
	return startBot(t, fmt.Sprintf(`{"terminal": {"command": "TEST_TOOLS_AGENT=1 GORACE=atexit_sleep_ms=0 exec %s"}%s`, self, more)+anybody)
}

// runScript makes the agent of a chat run a script and returns its output.
func (b *bot) runScript(chat string, s toolScript) string {
	b.t.Helper()
	before := len(b.net.Sent(chat))
	b.net.UserWrites(chat, "7", s.String())
	return b.awaitTurnEnd(chat, before)
}

// lastWords are how a line of the test agent begins.
var lastWords = regexp.MustCompile(`^(refused|the agent failed|STDERR|[a-z_]+ broke|(send|ask|kairos|search)_[a-z]+|progress): `)

// awaitTurnEnd waits for the end of a turn and returns what its agent has printed.
func (b *bot) awaitTurnEnd(chat string, before int) (said string) {
	b.t.Helper()
	calls, ok := b.net.Await(chat, waitTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls[min(before, len(calls)):] {
			if lastWords.MatchString(c.Text) {
				said = c.Text
				return true
			}
		}
		return false
	})
	if !ok {
		b.t.Fatalf("the agent of chat %s has printed nothing: %+v\n%s", chat, calls, b.log())
	}
	return said
}

// connectClient connects a client that no agent has started.
func (b *bot) connectClient(env ...string) *mcpClient {
	b.t.Helper()
	cmd := programCommand(b.t, "mcp", "--config", b.cfg)
	cmd.Env = append(cmd.Env, env...)
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	return connectMCP(b.t, &mcp.CommandTransport{Command: cmd})
}

func TestAnAgentUsesTheToolsOfItsChat(t *testing.T) {
	b := toolBot(t, "")
	work := filepath.Dir(b.cfg)
	for _, name := range []string{"a.png", "b.png"} {
		musttest.Do(t, os.WriteFile(filepath.Join(work, name), []byte("picture "+name), 0o600))
	}
	b.net.UserWrites("1", "7", toolScript{}.
		withCall("progress", map[string]any{"text": "looking"}).
		withCall("send_message", map[string]any{"text": "first"}).
		withCall("send_files", map[string]any{"text": "two pictures", "files": []map[string]string{{"path": "a.png", "caption": "one"}, {"path": filepath.Join(work, "b.png"), "caption": "two"}}}).
		withCall("send_files", map[string]any{"files": []map[string]string{{"path": "/etc/hostname"}}}).
		withCall("ask_user", map[string]any{"question": "Which?", "options": []string{"red", "blue"}}).
		withCall("search_history", map[string]any{"query": "PICTURES two"}).
		String())
	question := b.awaitText("1", "Which?")
	if len(question.Buttons) != 2 {
		t.Fatalf("the question is %+v", question)
	}
	b.net.UserPresses("1", "7", question.Buttons[1])
	said := b.awaitTurnEnd("1", 0)
	for _, want := range []string{
		`send_message: {"sent":true}`, `send_files: {"sent":true,"files":2}`, "outside the folders", "copy it into",
		`ask_user: {"answer":"blue","by":`, `"text":"two pictures`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the agent has not seen %q, but %s", want, said)
		}
	}
	var order []string
	for _, c := range b.net.Sent("1") {
		if c.Kind == "progress" {
			continue
		}
		order = append(order, c.Text)
		if len(c.Files) > 0 {
			order[len(order)-1] = fmt.Sprint(c.Files)
		}
	}
	album := "map[a.png:picture a.png b.png:picture b.png]"
	if want := []string{"first", "two pictures\na.png: one\nb.png: two", album}; len(order) != 5 || !slices.Equal(order[:3], want) || !strings.HasPrefix(order[3], "Which?") {
		t.Errorf("the order is %q", order)
	}
}

func TestTwoChatsUseTheirToolsAtTheSameTime(t *testing.T) {
	b := toolBot(t, "")
	script := func(word string) string {
		return toolScript{}.withCall("ask_user", map[string]any{"question": "What is " + word + "?"}).
			withCall("send_message", map[string]any{"text": "for " + word}).withCall("search_history", map[string]any{"query": "for"}).String()
	}
	b.net.UserWrites("1", "7", script("one"))
	b.net.UserWrites("2", "7", script("two"))
	b.awaitText("1", "What is one?")
	b.awaitText("2", "What is two?")
	b.net.UserWrites("2", "7", "second answer")
	b.net.UserWrites("1", "7", "first answer")
	for chat, words := range map[string][2]string{"1": {"first answer", "two"}, "2": {"second answer", "one"}} {
		said := b.awaitTurnEnd(chat, 0)
		if !strings.Contains(said, words[0]) || strings.Contains(said, words[1]) {
			t.Errorf("the agent of chat %s says %s", chat, said)
		}
		for _, c := range b.net.Sent(chat) {
			if strings.Contains(c.Text, "for "+words[1]) {
				t.Errorf("chat %s was sent %q", chat, c.Text)
			}
		}
	}
}

// newBotWithStolenToken is a bot with two chats, and the token of the first, as it is in the
// environment of its agent.
func newBotWithStolenToken(t *testing.T) (b *bot, token string) {
	t.Helper()
	b = toolBot(t, `, "audit": {"file": "audit.jsonl"}`)
	work := filepath.Dir(b.cfg)
	b.net.UserWrites("1", "7", toolScript{Wait: filepath.Join(work, "go")}.withCall("send_message", map[string]any{"text": "from one"}).String())
	var environ []byte
	for deadline := time.Now().Add(waitTimeout); token == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the agent of the first chat does not run")
		}
		pids, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range pids {
			environ, _ = os.ReadFile(path)
			vars := strings.Split(string(environ), "\x00")
			if i := slices.IndexFunc(vars, func(v string) bool { return strings.HasPrefix(v, "NANOBOT_CHAT_TOKEN=") }); i >= 0 &&
				slices.Contains(vars, "NANOBOT_CHAT_ID=1") && strings.Contains(string(environ), work) {
				token = strings.TrimPrefix(vars[i], "NANOBOT_CHAT_TOKEN=")
			}
		}
	}
	return b, token
}

func TestAnAgentThatHasStolenTheTokenOfAnotherChatIsRefused(t *testing.T) {
	t.Parallel()
	b, token := newBotWithStolenToken(t)
	send := toolScript{Env: []string{"NANOBOT_CHAT_TOKEN=" + token}}.withCall("send_message", map[string]any{"text": "stolen"})
	for name, s := range map[string]toolScript{"an agent": send, "a detached process": {Detached: true, Env: send.Env, Calls: send.Calls}} {
		if said := b.runScript("2", s); !strings.HasPrefix(said, "refused: ") || !strings.Contains(said, "not that of the chat which this process works for") {
			t.Errorf("%s says %q", name, said)
		}
	}
	for name, s := range map[string]toolScript{"without a token": {Env: []string{"NANOBOT_CHAT_TOKEN="}}, "a detached process without a token": {Detached: true}} {
		wanttest.Equal(t, name+": says", b.runScript("2", s.withCall("send_message", map[string]any{"text": "my own"})), `send_message: {"sent":true}`)
	}
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitTurnEnd("1", 0)
	for chat, want := range map[string]map[string]int{"1": {"from one": 1, "my own": 0, "stolen": 0}, "2": {"from one": 0, "my own": 2, "stolen": 0}} {
		for text, n := range want {
			if got := b.countMessages(chat, text); got != n {
				t.Errorf("chat %s was sent %q %d times", chat, text, got)
			}
		}
	}
	book, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl"))
	if err != nil {
		book, err = os.ReadFile(filepath.Join(filepath.Dir(b.cfg), "audit.jsonl"))
	}
	musttest.Do(t, err)
	if n := strings.Count(string(book), `"event":"denied"`); n != 2 || strings.Contains(string(book), token) || strings.Count(string(book), `"event":"tool"`) != 3 ||
		!strings.Contains(string(book), `"tool":"send_message"`) {
		t.Errorf("the audit log is %s", book)
	}
}

// countMessages is how many messages with a text a chat was sent.
func (b *bot) countMessages(chat, text string) (n int) {
	for _, c := range b.net.Sent(chat) {
		if c.Text == text {
			n++
		}
	}
	return n
}

// Gemini CLI drops every tool with the name ask_user.
func TestTheToolThatAsksHasTheNameThatTheAgentWants(t *testing.T) {
	b := toolBot(t, "")
	script := toolScript{Flags: []string{"--ask-tool", "ask_person"}}
	b.net.UserWrites("1", "7", script.withCall("ask_person", map[string]any{"question": "Which?", "options": []string{"red", "blue"}}).
		withCall("ask_user", map[string]any{"question": "Which?"}).String())
	b.net.UserPresses("1", "7", b.awaitText("1", "Which?").Buttons[1])
	said := b.awaitTurnEnd("1", 0)
	for _, want := range []string{`ask_person: {"answer":"blue","by":`, `unknown tool "ask_user"`} {
		if !strings.Contains(said, want) {
			t.Errorf("the agent has not seen %q, but %s", want, said)
		}
	}
}

func TestOtherProcessesNeedTheTokenOfAChat(t *testing.T) {
	b, token := newBotWithStolenToken(t)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitTurnEnd("1", 0)
	c := b.connectClient("NANOBOT_CHAT_TOKEN=" + token)
	if got, isError := c.call("send_message", map[string]any{"text": "between turns"}); isError {
		t.Errorf("it says %v", got)
	}
	b.awaitText("1", "between turns")
	for tool, args := range map[string]map[string]any{"ask_user": {"question": "Well?"}, "progress": {"text": "at work"}} {
		if got, isError := c.call(tool, args); !isError || !strings.Contains(fmt.Sprint(got), "o turn runs in this chat now") {
			t.Errorf("%s says %v", tool, got)
		}
	}
	musttest.Do(t, c.Close())
	c = b.connectClient()
	listed := musttest.Get(c.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if slices.Contains(names, "send_message") || !slices.Contains(names, "kairos_begin") {
		t.Errorf("without a token there are %q", names)
	}
	musttest.Do(t, c.Close())
	if out, err := runMCP(b, "NANOBOT_CHAT_TOKEN=nonsense"); err == nil || !strings.Contains(out, "is no chat's") {
		t.Errorf("with no chat's token: %v, %s", err, out)
	}
}

// runMCP runs nanobot mcp with no input.
func runMCP(b *bot, env ...string) (string, error) {
	cmd := programCommand(b.t, "mcp", "--config", b.cfg)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestAPersonWithoutAccessIsSentNothingByTools(t *testing.T) {
	b, token := newBotWithStolenToken(t)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitTurnEnd("1", 0)
	c := b.connectClient("NANOBOT_CHAT_TOKEN=" + token)
	cfg := musttest.Get(os.ReadFile(b.cfg))(t)
	b.configure(t, strings.Replace(string(cfg), `["*"]`, `["8"]`, 1))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	for tool, args := range map[string]map[string]any{"send_message": {"text": "secret"}, "search_history": {"query": ""}} {
		if got, isError := c.call(tool, args); !isError || !strings.Contains(fmt.Sprint(got), "has access to the bot any more") {
			t.Errorf("%s says %v", tool, got)
		}
	}
	musttest.Do(t, c.Close())
	if b.countMessages("1", "secret") > 0 {
		t.Error("it was sent")
	}
}

func TestAFloodOfMessagesIsBoundedForTheWholeChat(t *testing.T) {
	t.Parallel()
	b := toolBot(t, "")
	s := toolScript{Connections: 3}
	for range 10 {
		s = s.withCall("send_message", map[string]any{"text": "flood"})
	}
	said := b.runScript("1", s)
	sent, refused := strings.Count(said, `{"sent":true}`), strings.Count(said, `{"error":"RATE_LIMITED","message":"Too many messages: 20 at once and 30 a minute are allowed in a chat. Wait `)
	if sent < 20 || sent > 25 || refused != 30-sent || b.countMessages("1", "flood") != sent {
		t.Errorf("%d were sent, %d refused, %d came: %s", sent, refused, b.countMessages("1", "flood"), said)
	}
	wanttest.Equal(t, "another chat:", b.runScript("2", toolScript{}.withCall("send_message", map[string]any{"text": "other"})), `send_message: {"sent":true}`)
}

func TestTooManyConnectionsKeepNobodyOut(t *testing.T) {
	b := toolBot(t, "")
	b.awaitLog("ready")
	path := musttest.Get(os.ReadFile(b.socketFile()))(t)
	var mu sync.Mutex
	var open []interface{ Close() error }
	refused := 0
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			c, err := toolsocket.Dial(t.Context(), strings.TrimSpace(string(path)), toolsocket.Hello{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				return
			}
			open = append(open, c)
		})
	}
	all.Wait()
	if len(open) != 16 || refused != 184 {
		t.Errorf("%d are open, %d refused", len(open), refused)
	}
	wanttest.Equal(t, "meanwhile:", b.runScript("1", toolScript{}.withCall("send_message", map[string]any{"text": "hi"})), `send_message: {"sent":true}`)
	for _, c := range open {
		_ = c.Close()
	}
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if c, err := toolsocket.Dial(t.Context(), strings.TrimSpace(string(path)), toolsocket.Hello{}); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("when all are closed, none is accepted")
		}
	}
	b.signal(syscall.SIGTERM)
	if status := b.awaitExit(); status != 0 {
		t.Errorf("status %d: %s", status, b.log())
	}
}

func TestAQuestionOfAToolSurvivesAKill(t *testing.T) {
	b := toolBot(t, `, "gateway": {"onCrash": "retry"}`)
	b.net.UserWrites("1", "7", toolScript{}.withCall("send_message", map[string]any{"text": "once"}).withCall("ask_user", map[string]any{"question": "Sure?", "options": []string{"yes", "no"}}).String())
	question := b.awaitText("1", "Sure?")
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	b.net.UserPresses("1", "7", question.Buttons[0])
	b.program = startProgram(t, "serve", "--config", b.cfg)
	if said := b.awaitTurnEnd("1", 0); !strings.Contains(said, `"answer":"yes"`) {
		t.Errorf("the agent says %q", said)
	}
	wanttest.Equal(t, "the message came … times:", b.countMessages("1", "once"), 1)
}

func TestAQuestionOfAToolDoesNotDelayTheShutdown(t *testing.T) {
	b := toolBot(t, `, "gateway": {"drainTimeout": 600}`)
	b.awaitLog("ready")
	c := b.connectClient()
	b.net.UserWrites("1", "7", toolScript{}.withCall("ask_user", map[string]any{"question": "Sure?"}).String())
	b.awaitText("1", "Sure?")
	b.signal(syscall.SIGTERM)
	if status := b.awaitExit(); status != 0 {
		t.Errorf("status %d: %s", status, b.log())
	}
	if said := b.awaitTurnEnd("1", 0); !strings.Contains(said, "about to restart") {
		t.Errorf("the agent says %q", said)
	}
	if err := c.Ping(t.Context(), nil); err == nil {
		t.Error("a connection outlives the daemon")
	}
	_ = c.Close()
}

// awaitShown waits until a chat shows a text.
func (b *bot) awaitShown(chat, text string) {
	b.t.Helper()
	calls, ok := b.net.Await(chat, waitTimeout, func(calls []gatewaytest.Call) bool {
		return slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { return c.Text == text })
	})
	if !ok {
		b.t.Fatalf("chat %s does not show %q, but %+v", chat, text, calls)
	}
}

func TestAQuestionEndsWithItsClientAndWithItsTurn(t *testing.T) {
	b, token := newBotWithStolenToken(t)
	ctx, leave := context.WithCancel(t.Context())
	c := b.connectClient("NANOBOT_CHAT_TOKEN=" + token)
	var asking sync.WaitGroup
	asking.Go(func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "ask_user", Arguments: map[string]any{"question": "Anybody?"}})
		if err == nil {
			t.Error("a question that nobody answered has an answer")
		}
	})
	b.awaitText("1", "Anybody?")
	leave()
	asking.Wait()
	b.awaitShown("1", "Anybody?\n\n→ no answer")
	asking.Go(func() {
		got, isError := c.call("ask_user", map[string]any{"question": "And now?"})
		if !isError || !strings.Contains(fmt.Sprint(got), "no turn runs in this chat now") && !strings.Contains(fmt.Sprint(got), "No turn runs in this chat now") {
			t.Errorf("the question of a turn that was stopped: %v", got)
		}
	})
	b.awaitText("1", "And now?")
	b.net.UserWrites("1", "7", "/stop")
	asking.Wait()
	b.awaitShown("1", "And now?\n\n→ no answer")
	musttest.Do(t, c.Close())
}

func TestAPersonOfTheChatDecidesAtAGate(t *testing.T) {
	b, token := newBotWithStolenToken(t)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitTurnEnd("1", 0)
	c := b.connectClient("NANOBOT_CHAT_TOKEN=" + token)
	book := "# Release\n\n## Go\n\nReady?\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Release it?\"}}}\n```\n\n## Say it\n\nTell.\n"
	if got, isError := c.call("kairos_mint", map[string]any{"markdown_doc": book, "llm_model_id": "test"}); isError {
		t.Fatal(got)
	}
	begun, isError := c.call("kairos_begin", map[string]any{"uri": runbook.MintedSource("net:1", "Release").StepURI(1)})
	if isError {
		t.Fatal(begun)
	}
	challenge := begun["challenge"].(map[string]any)
	var proving sync.WaitGroup
	proving.Go(func() {
		got, isError := c.call("kairos_next", map[string]any{
			"uri": runbook.MintedSource("net:1", "Release").StepURI(1), "solution": map[string]any{
				"type": "user_input", "nonce": challenge["nonce"], "proof_hash": challenge["proof_hash"], "user_input": map[string]any{"confirmation": "yes, says the agent"},
			},
		})
		if isError || got["error_code"] != nil || got["proof_hash"] == nil {
			t.Errorf("it says %v", got)
		}
	})
	question := b.awaitText("1", "Release it?")
	b.net.UserPresses("1", "7", question.Buttons[0])
	proving.Wait()
	musttest.Do(t, c.Close())
}

// toolBotIn is a bot in a sandbox or with agents of another user, in a folder outside of the temp
// folders.
func toolBotIn(t *testing.T, terminal map[string]any) *bot {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has a folder for the socket that such agents can reach")
	}
	dir, err := os.MkdirTemp("/srv", "nanobot-test-") // where other users may go
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, folder := range []string{dir, filepath.Join(dir, "bin"), filepath.Join(dir, "work")} {
		_ = os.Mkdir(folder, 0o755)
		musttest.Do(t, os.Chmod(folder, 0o755))
	}
	program := filepath.Join(dir, "bin", "nanobot")
	linkProgram(t, program)
	terminal["command"] = "TEST_TOOLS_AGENT=1 GORACE=atexit_sleep_ms=0 exec " + program
	if terminal["sandbox"] != nil {
		terminal["sandboxPaths"] = []string{filepath.Dir(program) + ":ro"}
	}
	cfg := musttest.Get(json.Marshal(map[string]any{
		"workspace": "work", "gateway": map[string]any{"stateDir": filepath.Join(dir, "state")}, "terminal": terminal,
		"channels": map[string]any{"net": map[string]any{"allowFrom": []string{"*"}}},
	}))(t)
	b := newBot(t)
	b.cfg = filepath.Join(dir, "config.json")
	b.configure(t, string(cfg))
	b.program = startBinary(t, program, []string{"XDG_RUNTIME_DIR="}, "serve", "--config", b.cfg)
	t.Cleanup(func() { // so that it leaves no socket
		b.signal(syscall.SIGTERM)
		b.awaitExit()
	})
	return b
}

func TestAnAgentInASandboxUsesTheTools(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	b := toolBotIn(t, map[string]any{"sandbox": "landlock"})
	checkSandboxedTools(t, b)
}

func TestAnAgentOfAnotherUserUsesTheTools(t *testing.T) {
	t.Parallel()
	b := toolBotIn(t, map[string]any{"user": "nobody"})
	checkSandboxedTools(t, b)
}

// checkSandboxedTools makes a sandboxed agent send files that it may send, and files that it may
// not.
func checkSandboxedTools(t *testing.T, b *bot) {
	t.Helper()
	own := filepath.Join(filepath.Dir(b.cfg), "work", "users", "1")
	s := toolScript{}.withCall("send_message", map[string]any{"text": "out of the box"}).
		withCall("send_files", map[string]any{"files": []map[string]string{{"path": filepath.Join(own, "x.png")}}}).
		withCall("send_files", map[string]any{"files": []map[string]string{{"path": b.cfg}}})
	said := b.runScript("1", s)
	if !strings.Contains(said, `send_message: {"sent":true}`) || !strings.Contains(said, "no such file") || strings.Count(said, "NOT_SENT") != 2 {
		t.Fatalf("the agent says %q\n%s", said, b.log())
	}
	musttest.Do(t, os.WriteFile(filepath.Join(own, "x.png"), []byte("x"), 0o644))
	s.Detached = true
	if said := b.runScript("1", s); !strings.Contains(said, `send_files: {"sent":true,"files":1}`) {
		t.Errorf("a detached process says %q\n%s", said, b.log())
	}
}
