//go:build agents

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/agentstest"
)

// realAgent is an agent and what is special about it.
type realAgent struct {
	name    string
	install func(testing.TB, string) agentstest.Agent
	mode    string // a mode other than the default
	plan    string // the command after which the agent plans; "": its mode plan
	ask     string // the command that lets the agent ask questions; "": it does anyway
	ownText bool   // its questions may be answered with a text that is no option
	// stored prepares the agent's home for another process, if that needs something.
	stored func(*agentChat)
	// lacks are the reasons why the agent does not keep a promise, by its name. What an agent does
	// not lack it must be able to do, and the other way round.
	lacks map[string]string
}

// promises are the lines of the table in docs/acp.md.
var promises = []struct {
	name, promise string
	check         func(*agentChat)
	gateway       string // settings of the gateway
}{
	{"answer", "answers, twice by one process", checkAnswer, ""},
	{"permission", "asks for permission, and follows the answer", checkPermission, ""},
	{"exact", "the question shows exactly what is executed", checkExact, ""},
	{"output", "the output of commands is shown", checkOutput, ""},
	{"plan", "a plan is seen before it is approved", checkPlan, ""},
	{"question", "asks questions", checkQuestion, ""},
	{"stop", "`/stop` ends the turn, not the agent", checkStop, ""},
	{"kill", "a stop kills the command", checkKill, ""},
	{"steering", "a message during a turn is read", checkSteering, `, "whileRunning": "inject"`},
	{"resume", "the conversation survives `kill -9` of the agent", checkResume, ""},
	{"daemon", "mode and conversation survive `kill -9` of the daemon", checkDaemon, ""},
	{"files", "linked files are sent", checkLinks, ""},
	{"zip", "a conversation goes on after a zip", checkZip, ""},
	{"tools", "nanobot's tools are offered to the model", checkTools, ""},
	{"refused", "a refused end is told", checkRefused, ""},
	{"silent", "a silent end is told", checkSilent, ""},
	{"usage", "its usage is counted", checkUsage, ""},
}

// TestRealAgents checks all promises with each agent, against a model on loopback and through the
// daemon, and compares the results with those in the file. -update stores the results.
func TestRealAgents(t *testing.T) {
	for _, agent := range realAgents {
		t.Run(agent.name, func(t *testing.T) {
			for _, p := range promises {
				result := promiseResult{Result: broken}
				ran := false
				t.Run(p.name, func(t *testing.T) {
					ran = true
					result.check(newAgentChat(t, agent, p.name, p.gateway), p.check)
				})
				if ran {
					recordResult(t, agent.name, p.name, result)
				}
			}
		})
	}
	t.Logf("measured before or now:\n%s", readPromises(t).markdown())
}

// check runs the check of a promise and sets the result.
func (r *promiseResult) check(c *agentChat, check func(*agentChat)) {
	c.t.Helper()
	lack, failure := c.agent.lacks[c.promise], c.failureOf(check)
	switch {
	case failure == "":
		if r.Result, r.Note = kept, c.remark; lack != "" {
			c.t.Errorf("%s keeps the promise, so remove what it lacks: %s", c.agent.name, lack)
		}
	case lack != "":
		r.Result, r.Note = lacked, "The agent "+lack+"."
		c.t.Log("as expected: ", failure)
	default:
		wire, _ := os.ReadFile(filepath.Join(c.wire, "wire"))
		c.t.Errorf("%s\nthe chat shows %q\n%s\n%s", failure, c.texts(7), c.log(), wire[max(0, len(wire)-8000):])
	}
	if v := acptest.Violation(c.wire); v != "" {
		*r = promiseResult{Result: broken}
		c.t.Errorf("the agent was told nonsense: %s", v)
	}
	c.stopCleanly()
}

// recordResult compares a result with the file or stores it there.
func recordResult(t *testing.T, agent, promise string, result promiseResult) {
	t.Helper()
	old := readPromises(t)
	if !*update {
		if had := old.result(promise, agent); had != result {
			t.Errorf("%s: %s: %v instead of %v; store it with -update", agent, promise, result, had)
		}
		return
	}
	var table promiseTable
	for _, a := range realAgents {
		table.Agents = append(table.Agents, a.name)
	}
	for _, p := range promises {
		line := promiseLine{p.name, p.promise, map[string]promiseResult{}}
		for _, name := range table.Agents {
			if r := old.result(p.name, name); r.Result != notRun {
				line.Results[name] = r
			}
		}
		if p.name == promise {
			line.Results[agent] = result
		}
		table.Promises = append(table.Promises, line)
	}
	text := musttest.Get(json.MarshalIndent(table, "", "  "))(t)
	musttest.Do(t, os.WriteFile(promiseFile, append(text, '\n'), 0o644))
}

// agentChat is a Telegram chat with a real agent, through the daemon.
type agentChat struct {
	*telegramBot
	agent   realAgent
	promise string
	model   *agentstest.Model
	home    string // of the agent
	wire    string // the folder with the messages between daemon and agent
	binary  string
	limit   time.Duration // how long something may take
	sent    int           // the ID of the person's last message
	turns   int           // how many turns had ended before it
	answer  string        // the beginning of the label of the button to press, in small letters
	remark  string        // how the agent keeps the promise
	cost    float64       // in the ledger
	// questions are the messages whose button was pressed.
	questions []telegramtest.Message
}

// newAgentChat starts the daemon with an agent whose model is the scripted one. All messages to the
// agent are checked against the schema.
func newAgentChat(t *testing.T, agent realAgent, promise, gateway string) *agentChat {
	t.Helper()
	model := agentstest.NewModel(t, replyToPrompt)
	command := agent.install(t, model.URL)
	c := &agentChat{
		telegramBot: &telegramBot{api: telegramtest.New(t)}, agent: agent, promise: promise, model: model,
		home: command.Env["HOME"], wire: t.TempDir(), binary: copyProgram(t), limit: 2 * time.Minute,
	}
	if agent.lacks[promise] != "" {
		c.limit = 30 * time.Second
	}
	env := musttest.Get(json.Marshal(command.Env))(t)
	c.cfg = telegramSetup{
		command: "echo $$ >> pids; TEST_ACP_PROXY=" + terminal.ShellQuote(c.wire) + " exec " + terminal.ShellQuote(os.Args[0]) +
			" " + command.Command,
		protocol: "acp", terminal: `, "timeout": 600, "acp": {"permissions": "ask"}, "env": ` + string(env), gateway: gateway,
	}.writeConfig(t, c.api)
	c.startDaemon(t)
	return c
}

// startDaemon starts the daemon, also in the stead of one that was killed.
func (c *agentChat) startDaemon(t *testing.T) {
	t.Helper()
	c.program = startBinary(t, c.binary, nil, "serve", "--config", c.cfg)
}

// brokenPromise is the panic of a check that has failed.
type brokenPromise string

// failureOf runs a check and returns why it failed, or "".
func (c *agentChat) failureOf(check func(*agentChat)) (failure string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case brokenPromise:
			failure = string(p)
		default:
			panic(p)
		}
	}()
	check(c)
	return ""
}

// fail ends the check.
func (c *agentChat) fail(format string, args ...any) {
	panic(brokenPromise(fmt.Sprintf(format, args...)))
}

// await waits until something holds.
func (c *agentChat) await(what string, holds func() bool) {
	for until := time.Now().Add(c.limit); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			c.fail("not within %s: %s", c.limit, what)
		}
	}
}

// send sends a text of the person.
func (c *agentChat) send(text string) { c.post(telegramtest.UserPost{Chat: 7, Text: text}) }

// post sends a message of the person.
func (c *agentChat) post(p telegramtest.UserPost) {
	c.turns, c.sent = c.endedTurns(), c.api.UserPosts(p).ID
}

// endedTurns counts the turns that have ended.
func (c *agentChat) endedTurns() int { return strings.Count(c.log(), `"turn ended"`) }

// shown returns what the chat shows after the person's last message.
func (c *agentChat) shown() []telegramtest.Message {
	return slices.DeleteFunc(c.api.BotMessages(7), func(m telegramtest.Message) bool { return m.ID < c.sent })
}

// shows reports whether a message after the person's last one has a text.
func (c *agentChat) shows(text string) bool {
	return slices.ContainsFunc(c.shown(), func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), text) })
}

// awaitText waits for a text, and answers the questions before it. Long after the end of the turn
// the text will not come.
func (c *agentChat) awaitText(text string) {
	var late <-chan time.Time
	c.await(text, func() bool {
		if late == nil && c.endedTurns() > c.turns {
			late = time.After(15 * time.Second)
		}
		select {
		case <-late:
			c.fail("the turn has ended without %q", text)
		default:
		}
		c.answerQuestions()
		return c.shows(text)
	})
}

// answerQuestions presses the buttons of all open questions.
func (c *agentChat) answerQuestions() {
	for _, m := range c.shown() {
		c.answerQuestion(m)
	}
}

// answerQuestion presses the button of an open question.
func (c *agentChat) answerQuestion(m telegramtest.Message) {
	asked := func(q telegramtest.Message) bool { return q.ID == m.ID }
	for _, b := range m.Buttons() {
		if c.answer != "" && strings.HasPrefix(strings.ToLower(b.Text), c.answer) && !slices.ContainsFunc(c.questions, asked) {
			c.questions = append(c.questions, m)
			c.api.UserPresses(7, 7, m.ID, b.Data)
			return
		}
	}
}

// sendAndAwait sends a text and waits for the answer.
func (c *agentChat) sendAndAwait(text, answer string) {
	c.send(text)
	c.awaitText(answer)
}

// path returns a path in the workspace.
func (c *agentChat) path(name string) string { return filepath.Join(filepath.Dir(c.cfg), name) }

// contains reports whether a file has a text.
func contains(path, text string) bool {
	content, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(content), text)
}

// pids returns the process IDs in a file of the workspace.
func (c *agentChat) pids(name string) (all []int) {
	text, _ := os.ReadFile(c.path(name))
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// processEnded reports whether a process has ended.
func processEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
