package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// OpenCode fails with a file of another type, and with every later prompt of the conversation.
func TestOpenCodeGetsFilesThatAreNeitherTextNorPictureAsPaths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"OpenCode": "text", "acptest": "resource_link"} {
		p := newFixture(t, "-embedded -name "+name).person("a")
		zip, text := p.path("a.zip"), p.path("a.txt")
		musttest.Do(t, os.WriteFile(zip, []byte("PK\x03\x04\x14\x00"), 0o600))
		musttest.Do(t, os.WriteFile(text, []byte(strings.Repeat("long ", 20_000)), 0o600))
		p.media = []string{zip, text}
		got := p.send("blocks").text(terminal.Message)
		if strings.Count(got, `"type":"resource_link"`) != map[string]int{"text": 1, "resource_link": 2}[want] ||
			want == "text" && !strings.Contains(got, `{"type":"text","text":"(The file `+zip+`)"}`) {
			t.Errorf("%s gets %s", name, got)
		}
	}
}

func TestGeminiIsGivenAnotherNameForTheToolThatItDrops(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"gemini-cli": `"args":["mcp","--ask-tool","ask_person"]`, "acptest": `"args":["mcp"]`} {
		d := newFixture(t, "-name "+name)
		d.socket = filepath.Join(d.workspace, "socket")
		d.restart()
		if got := d.person("a").send("servers").text(terminal.Message); !strings.Contains(got, want) {
			t.Errorf("%s is given %s", name, got)
		}
	}
}

func TestKimiMayEditItsPlansThroughTheClientAndNothingElseOfItsFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plan := filepath.Join(home, ".kimi-code", "sessions", "s", "plans", "bold-hare.md")
	other := filepath.Join(home, ".kimi-code", "config.md")
	musttest.Do(t, os.MkdirAll(filepath.Dir(plan), 0o700))
	musttest.Do(t, os.Symlink(other, filepath.Join(filepath.Dir(plan), "link.md")))
	withHome := func(c *config.Terminal) { allowAll(c); c.Env = map[string]string{"HOME": home} }
	p := newFixture(t, "-name 'Kimi Code CLI'", withHome).person("a")
	p.send("write " + plan + " the plan")
	wanttest.Equal(t, "plan", string(musttest.Get(os.ReadFile(plan))(t)), "the plan")
	for _, path := range []string{
		other, filepath.Join(filepath.Dir(plan), "run.sh"), filepath.Join(filepath.Dir(plan), "link.md"),
		filepath.Join(home, "plans", "a.md"), filepath.Join(filepath.Dir(plan), "..", "a.md"),
	} {
		h := p.send("write " + path + " x")
		if text := h.text(terminal.Message) + h.text(terminal.Error); !strings.Contains(text, "outside the folders") {
			t.Errorf("%s: %s", path, text)
		}
	}
	h := newFixture(t, "", withHome).person("a").send("write " + plan + " x")
	if text := h.text(terminal.Message) + h.text(terminal.Error); !strings.Contains(text, "outside the folders") {
		t.Errorf("another agent: %s", text)
	}
}

func TestTheDebugOutputOfClaudeCodeIsNotShownAfterACrash(t *testing.T) {
	t.Parallel()
	const prompt = "stderr [debug] Spawning\nstderr TypeError: x is undefined\nstderr     at main.js:1\ndie"
	p := newFixture(t, "-resume -name @agentclientprotocol/claude-agent-acp").person("a")
	h := p.send(prompt).expectError(terminal.Failed, "The agent ended.", "STDERR: TypeError: x is undefined")
	if text := h.text(terminal.Error); strings.Contains(text, "debug") || strings.Contains(text, "main.js") {
		t.Errorf("said %q", text)
	}
	if log := h.text(terminal.Log); !strings.Contains(log, "[debug] Spawning") {
		t.Errorf("logged %q", log)
	}
	h = newFixture(t, "-resume").person("a").send(prompt).expectError(terminal.Failed, "[debug] Spawning")
	wanttest.Equal(t, "of another agent", h.out.Status, terminal.Failed)
}
