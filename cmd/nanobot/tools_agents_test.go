//go:build agents

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/terminal/acp/agentstest"
)

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

// usesTools has a real agent send an album to a Telegram chat and ask a question there, through the
// tools that the daemon serves.
func usesTools(t *testing.T, a agentstest.Agent) {
	t.Helper()
	env, err := json.Marshal(a.Env)
	if err != nil {
		t.Fatal(err)
	}
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = setup{
		command: a.Command, protocol: "acp", terminal: `, "timeout": 300, "acp": {"permissions": "allow"}, "env": ` + string(env),
	}.write(t, b.api)
	program := filepath.Join(t.TempDir(), "nanobot") // under this name it is the program for whoever starts it
	copyFile(t, os.Args[0], program)
	b.program = startBinary(t, program, nil, "serve", "--config", b.cfg)
	b.api.Say(7, "show me")
	var question telegramtest.Message
	shown, ok := b.api.Await(7, 4*time.Minute, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool {
			return len(m.Buttons()) == 2 && strings.HasPrefix(m.Words(), "Which one?")
		})
		if i >= 0 {
			question = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("it was not asked which one: %q\n%s", b.texts(7), b.log())
	}
	album := slices.DeleteFunc(slices.Clone(shown), func(m telegramtest.Message) bool { return m.MediaGroupID == "" })
	if len(album) != 2 || album[0].MediaGroupID != album[1].MediaGroupID || album[0].Caption != "Left and right" {
		t.Errorf("the album is %+v", album)
	}
	b.api.Press(7, 7, question.ID, question.Buttons()[1].Data)
	b.api.WaitFor(t, 7, "You chose right.")
	b.ended()
}

func TestClaudeCodeUsesTheToolsOfTheDaemon(t *testing.T) {
	usesTools(t, agentstest.ClaudeCode(t, agentstest.NewModel(t, toolModel(t)).URL))
}

func TestOpenCodeUsesTheToolsOfTheDaemon(t *testing.T) {
	usesTools(t, agentstest.OpenCode(t, agentstest.NewModel(t, toolModel(t)).URL))
}
