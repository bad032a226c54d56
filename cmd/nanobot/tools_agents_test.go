//go:build agents

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/terminal/acp/agentstest"
)

// copyProgram makes a copy of this binary which is the program for whoever starts it.
func copyProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "nanobot")
	linkProgram(t, program)
	return program
}

// awaitButtons waits for a question with two buttons, and returns it with all that the chat shows.
func (b *telegramBot) awaitButtons(text string) (question telegramtest.Message, shown []telegramtest.Message) {
	b.t.Helper()
	shown, ok := b.api.AwaitMessages(7, 4*time.Minute, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool {
			return len(m.Buttons()) == 2 && strings.Contains(m.TextOrCaption(), text)
		})
		if i >= 0 {
			question = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("it was not asked %q: %q\n%s", text, b.texts(7), b.log())
	}
	return question, shown
}

// toolModel is a model that sends an album, asks which of its pictures is the right one, and says
// what the answer was.
func toolModel(t *testing.T) func(agentstest.Request) agentstest.Reply {
	return func(r agentstest.Request) agentstest.Reply {
		send, ask := r.Tool("send_files"), r.Tool("ask_user")
		if send == "" || ask == "" {
			return agentstest.Reply{Text: "A title"}
		}
		switch r.ToolResults() {
		case 0:
			return agentstest.Reply{Tool: send, Input: map[string]any{
				"files": []any{map[string]any{"path": "a.png", "caption": "Left and right"}, map[string]any{"path": "b.png"}},
			}}
		case 1:
			return agentstest.Reply{Tool: ask, Input: map[string]any{"question": "Which one?", "options": []string{"the left one", "the right one"}}}
		}
		if !strings.Contains(strings.ReplaceAll(r.Body, `\`, ""), `"answer":"the right one"`) {
			t.Logf("the model was told: %.4000s", r.Body[strings.LastIndex(r.Body, "ask_user"):])
			return agentstest.Reply{Text: "There was no answer."}
		}
		return agentstest.Reply{Text: "You chose right."}
	}
}

// checkRealAgent makes a real agent send an album to a Telegram chat and ask a question there,
// through the tools that the daemon serves.
func checkRealAgent(t *testing.T, a agentstest.Agent) {
	t.Helper()
	env := musttest.Get(json.Marshal(a.Env))(t)
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = telegramSetup{
		command: a.Command, protocol: "acp", terminal: `, "timeout": 300, "acp": {"permissions": "allow"}, "env": ` + string(env),
	}.writeConfig(t, b.api)
	b.program = startBinary(t, copyProgram(t), nil, "serve", "--config", b.cfg)
	b.api.UserSends(7, "show me")
	question, shown := b.awaitButtons("Which one?")
	album := slices.DeleteFunc(slices.Clone(shown), func(m telegramtest.Message) bool { return m.MediaGroupID == "" })
	if len(album) != 2 || album[0].MediaGroupID != album[1].MediaGroupID || album[0].Caption != "Left and right" {
		t.Errorf("the album is %+v", album)
	}
	b.api.UserPresses(7, 7, question.ID, question.Buttons()[1].Data)
	b.api.WaitForText(t, 7, "You chose right.")
	b.stopCleanly()
}

func TestClaudeCodeUsesTheToolsOfTheDaemon(t *testing.T) {
	checkRealAgent(t, agentstest.ClaudeCode(t, agentstest.NewModel(t, toolModel(t)).URL))
}

func TestOpenCodeUsesTheToolsOfTheDaemon(t *testing.T) {
	checkRealAgent(t, agentstest.OpenCode(t, agentstest.NewModel(t, toolModel(t)).URL))
}

// shipRunbook has a step of each type.
const shipRunbook = "# Ship\n\n" +
	"## Test\n\n```json\n{\"challenge\": {\"type\": \"shell\", \"shell\": {\"cmd\": \"true\"}}}\n```\n\n" +
	"## Deploy\n\n```json\n{\"challenge\": {\"type\": \"mcp\", \"mcp\": {\"tool_name\": \"deploy\"}}}\n```\n\n" +
	"## Approve\n\n```json\n{\"challenge\": {\"type\": \"user_input\", \"user_input\": {\"prompt\": \"Ship it?\"}}}\n```\n\n" +
	"## Sum up\n\n```json\n{\"challenge\": {\"type\": \"comment\"}}\n```\n"

// checkCalls checks that the client called each tool and that none of the calls failed.
func checkCalls(t *testing.T, out string, want int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != want {
		t.Errorf("%d calls instead of %d: %s", len(lines), want, out)
	}
	for _, line := range lines {
		var call struct {
			Name    string
			IsError bool
			Result  map[string]any
		}
		if err := json.Unmarshal([]byte(line), &call); err != nil || call.IsError || call.Result["error_code"] != nil {
			t.Errorf("%s (%v)", line, err)
		}
	}
}

// clientCommand is the command line of the client from npm, which starts nanobot mcp.
func clientCommand(t *testing.T, program string, args ...string) []string {
	t.Helper()
	script := musttest.Get(filepath.Abs("../../gateway/tools/testdata/client.mjs"))(t)
	return append([]string{"node", script, agentstest.MCPClient(t), program, "mcp"}, args...)
}

func TestTheClientFromNPMCallsEveryToolForAChat(t *testing.T) {
	b := &telegramBot{api: telegramtest.New(t)}
	program := copyProgram(t)
	b.cfg = telegramSetup{agent: strings.Join(clientCommand(t, program), " ") + ` > calls 2> errors; mv calls done`, terminal: `, "timeout": 300`}.writeConfig(t, b.api)
	work := filepath.Dir(b.cfg)
	musttest.Do(t, os.Mkdir(filepath.Join(work, "runbooks"), 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(work, "runbooks", "ship.md"), []byte(shipRunbook), 0o600))
	b.program = startBinary(t, program, nil, "serve", "--config", b.cfg)
	b.api.UserSends(7, "hello")
	for _, text := range []string{"Ship it?", "Which?"} {
		question, _ := b.awaitButtons(text)
		b.api.UserPresses(7, 7, question.ID, question.Buttons()[0].Data)
	}
	checkCalls(t, strings.Join(b.awaitFile("done"), "\n"), 14)
	b.stopCleanly()
}

func TestTheClientFromNPMCallsEveryToolWithoutADaemon(t *testing.T) {
	cfg := telegramSetup{agent: "true"}.writeConfig(t, telegramtest.New(t))
	musttest.Do(t, os.Mkdir(filepath.Join(filepath.Dir(cfg), "runbooks"), 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(cfg), "runbooks", "ship.md"), []byte(shipRunbook), 0o600))
	line := clientCommand(t, copyProgram(t), "--config", cfg)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = environWithoutTestSettings()
	out := musttest.Get(cmd.Output())(t)
	checkCalls(t, string(out), 9)
}
