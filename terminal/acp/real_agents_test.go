//go:build agents

package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/agentstest"
)

// realAgent is an agent and what is special about it.
type realAgent struct {
	name    string
	install func(testing.TB, string) agentstest.Agent
	mode    string // a mode other than the default
	ask     string // the command that lets the agent ask questions; "": it does anyway
	ownText bool   // its questions may be answered with a text that is no option
	// stored prepares the agent's home for another process, if that needs something.
	stored func(*realPerson)
	lacks  map[string]string // reasons why the agent cannot do something, by scenario
}

// noSteering is the reason why an agent cannot be written to during a turn.
const noSteering = "it does not announce that it takes prompts during a turn"

// realAgents are the agents in the order of the table in docs/acp.md. What they do not lack they
// must be able to do.
var realAgents = []realAgent{
	{name: "Claude Code", install: agentstest.ClaudeCode, mode: "plan", ownText: true},
	{name: "Codex", install: agentstest.Codex, mode: "read-only", ask: "/config collaboration_mode plan", ownText: true},
	{name: "OpenCode", install: agentstest.OpenCode, mode: "plan", lacks: map[string]string{
		"question": "its tool for questions is off in ACP", "steering": noSteering,
	}},
	{name: "Gemini CLI", install: agentstest.Gemini, mode: "plan", stored: backdateSession, lacks: map[string]string{
		"question": "it has no tool for questions in ACP", "output": "it does not report the output of commands",
		"steering": noSteering,
	}},
	{name: "Kimi Code", install: agentstest.Kimi, mode: "plan", lacks: map[string]string{"steering": noSteering}},
}

// backdateSession renames the files of Gemini's sessions: version 0.61.0 overwrites a session that
// it loads in the minute in which the session began, as the minute is in the file's name.
func backdateSession(p *realPerson) {
	files, err := filepath.Glob(filepath.Join(p.home, ".gemini", "tmp", "*", "chats", "session-*"))
	if err != nil || len(files) == 0 {
		p.t.Fatalf("there are no sessions: %v", err)
	}
	for _, file := range files {
		dir, name := filepath.Split(file)
		musttest.Do(p.t, os.Rename(file, dir+"session-2001-01-01T00-00-"+name[strings.LastIndex(name, "-")+1:]))
	}
}

// scenarios are the columns of the table in docs/acp.md.
var scenarios = []struct {
	name string
	run  func(*realPerson)
}{
	{"answer", checkAnswer},
	{"permission", checkPermission},
	{"output", checkOutput},
	{"stop", checkStop},
	{"resume", checkResume},
	{"mode", checkMode},
	{"question", checkQuestion},
	{"files", checkFiles},
	{"steering", checkSteering},
}

// TestRealAgents goes through all scenarios with each agent against a model on loopback, and
// compares the result with the table in docs/acp.md.
func TestRealAgents(t *testing.T) {
	for _, agent := range realAgents {
		t.Run(agent.name, func(t *testing.T) {
			row, complete := "| "+agent.name+" |", true
			for _, s := range scenarios {
				ran := t.Run(s.name, func(t *testing.T) {
					if reason := agent.lacks[s.name]; reason != "" {
						t.Skip(reason)
					}
					s.run(newRealPerson(t, agent))
				})
				complete = complete && ran
				row += map[bool]string{true: " yes |", false: " no |"}[agent.lacks[s.name] == ""]
			}
			if complete && !slices.Contains(documentedRows(t), row) {
				t.Errorf("docs/acp.md has no row %s", row)
			}
		})
	}
}

// documentedRows returns the lines of docs/acp.md.
func documentedRows(t *testing.T) []string {
	t.Helper()
	text := musttest.Get(os.ReadFile("../../docs/acp.md"))(t)
	return strings.Split(string(text), "\n")
}

// realPerson is somebody who talks with a real agent.
type realPerson struct {
	*person
	agent     realAgent
	home      string // of the agent
	mu        sync.Mutex
	questions []terminal.Question
	answers   []string // the beginnings of the options to choose, in small letters
	text      string   // the answer instead of an option
}

// newRealPerson starts a chat with an agent whose model is the scripted one. All messages to the
// agent are checked against the schema.
func newRealPerson(t *testing.T, agent realAgent) *realPerson {
	t.Helper()
	command := agent.install(t, agentstest.NewModel(t, replyToPrompt).URL)
	program := musttest.Get(os.Executable())(t)
	wire := t.TempDir()
	d := newFixture(t, "", func(c *config.Terminal) {
		c.Command = "ACPTEST_PROXY=" + terminal.ShellQuote(wire) + " exec " + terminal.ShellQuote(program) + " " + command.Command
		c.Env = command.Env
	})
	d.sessions = wire
	t.Cleanup(func() {
		if dir := os.Getenv("NANOBOT_AGENTS_WIRE"); dir != "" || t.Failed() {
			saveWire(t, wire, dir)
		}
	})
	p := &realPerson{person: d.person("a"), agent: agent, home: command.Env["HOME"]}
	p.ask, p.onFrame = p.answerQuestion, func(f terminal.Frame) { t.Logf("%s: %s", f.Kind, f.Text) }
	return p
}

// saveWire copies the messages between client and agent into the folder dir, or into the folder for
// temporary files.
func saveWire(t *testing.T, from, dir string) {
	if dir == "" {
		dir = os.TempDir()
	}
	messages, err := os.ReadFile(filepath.Join(from, "wire"))
	if err != nil {
		return
	}
	path := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+".wire")
	if err := os.WriteFile(path, messages, 0o600); err != nil {
		t.Error(err)
	}
	t.Log("the messages are in ", path)
}

// answerQuestion records a question and chooses the option.
func (p *realPerson) answerQuestion(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.Logf("asked: %s %q", q.Text, q.Options)
	p.questions = append(p.questions, q)
	if p.text != "" {
		return terminal.Answer{Text: p.text, By: "7"}, nil
	}
	for i, o := range q.Options {
		if slices.ContainsFunc(p.answers, func(begins string) bool { return strings.HasPrefix(strings.ToLower(o), begins) }) {
			return terminal.Answer{Text: o, Option: i + 1, By: "7"}, nil
		}
	}
	return terminal.Answer{}, fmt.Errorf("no option begins with one of %q: %q", p.answers, q.Options)
}

// processes counts the agent's processes so far.
func (p *realPerson) processes() int { return len(slices.Compact(slices.Clone(p.pids))) }

// expectAnswer sends a text and checks the status of the turn and that its messages contain answer.
func (p *realPerson) expectAnswer(text, answer string) *turnResult {
	p.t.Helper()
	h := p.send(text)
	if h.err != nil {
		p.t.Fatal(h.err)
	}
	if got := h.text(terminal.Message); h.out.Status != terminal.Done || !strings.Contains(got, answer) {
		p.t.Fatalf("%s: %s, said %q, error %q, log %q", text, h.out.Status, got, h.text(terminal.Error), h.text(terminal.Log))
	}
	return h
}
