//go:build agents

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/ledger"
	"nanobot/internal/musttest"
	"nanobot/terminal/acp/agentstest"
)

// noSteering is the reason why an agent cannot be written to during a turn.
const noSteering = "does not announce that it takes prompts during a turn"

// noEmptyReply is the reason why a turn of an agent does not end without a word.
const noEmptyReply = "does not end its turn within 30 seconds after an empty reply of the model"

// realAgents are the agents in the order of the table in docs/acp.md.
var realAgents = []realAgent{
	{name: "Claude Code", install: agentstest.ClaudeCode, mode: "plan", ownText: true},
	{
		name: "Codex", install: agentstest.Codex, mode: "read-only", plan: "/config collaboration_mode plan",
		ask: "/config collaboration_mode plan", ownText: true,
	},
	{name: "OpenCode", install: agentstest.OpenCode, mode: "plan", lacks: map[string]string{
		"question": "has no tool for questions in ACP", "steering": noSteering,
		"plan": "has no tool that asks for the approval of a plan in ACP", "usage": "reports only the tokens of the last request of a turn",
	}},
	{name: "Gemini CLI", install: agentstest.Gemini, mode: "plan", stored: backdateSession, lacks: map[string]string{
		"question": "has no tool for questions in ACP", "output": "does not report the output of commands",
		"steering": noSteering, "plan": "asks about a plan by the path of its file only",
		"usage": "does not report the tokens of thoughts",
	}},
	{name: "Kimi Code", install: agentstest.Kimi, mode: "plan", lacks: map[string]string{
		"steering": noSteering, "refused": noEmptyReply, "silent": noEmptyReply,
		"plan":  "takes the missing file of a new plan for an error when it reads files through nanobot",
		"usage": "reports only the size of its context",
	}},
}

// backdateSession renames the files of Gemini's sessions: version 0.61.0 overwrites a session that
// it loads in the minute in which the session began, as the minute is in the file's name.
func backdateSession(c *agentChat) {
	files, err := filepath.Glob(filepath.Join(c.home, ".gemini", "tmp", "*", "chats", "session-*"))
	if err != nil || len(files) == 0 {
		c.fail("there are no sessions: %v", err)
	}
	for _, file := range files {
		dir, name := filepath.Split(file)
		musttest.Do(c.t, os.Rename(file, dir+"session-2001-01-01T00-00-"+name[strings.LastIndex(name, "-")+1:]))
	}
}

// The beginnings of the labels that refuse and that permit something once.
const (
	refuse = "reject"
	permit = "allow once"
)

func checkAnswer(c *agentChat) {
	c.sendAndAwait(promptAnswer, "Here is the answer.")
	c.sendAndAwait(promptAnswer, "Here is the answer.")
	if n := len(c.pids("pids")); n != 1 {
		c.fail("%d processes have answered", n)
	}
}

// checkPermission refuses a command and then permits it.
func checkPermission(c *agentChat) {
	made := c.path("made.txt")
	c.answer = refuse
	c.send(promptRun)
	c.await("the end of the turn", func() bool {
		c.answerQuestions()
		return c.shows("The command has ended.") || c.shows("was refused, and the agent ended its turn.")
	})
	if _, err := os.Stat(made); err == nil {
		c.fail("the command was executed although it was refused")
	}
	c.answer = permit
	c.sendAndAwait(promptRun, "The command has ended.")
	if len(c.questions) < 2 || !contains(made, "RESULT-OF-COMMAND") {
		c.fail("%d questions were asked, and the command that was permitted: %v", len(c.questions), contains(made, "RESULT"))
	}
}

// checkExact looks for the whole text of a long command in the first question, and executes it.
// nanobot asks once more about the command that Kimi Code makes of it.
func checkExact(c *agentChat) {
	c.answer = permit
	c.sendAndAwait(promptExact, "The command has ended.")
	if len(c.questions) == 0 || !strings.Contains(c.questions[0].TextOrCaption(), commands[promptExact]) {
		c.fail("asked %+v", c.questions)
	}
	if !contains(c.path("made.txt"), "first and last") {
		c.fail("the command was not executed as a whole")
	}
}

// checkOutput looks for the output of a command while the turn goes on.
func checkOutput(c *agentChat) {
	c.answer = permit
	c.sendAndAwait(promptOutput, "RESULT-OF-COMMAND")
}

// checkPlan looks for the plan between the question about it and an earlier question, such as the
// one about the file with the plan.
func checkPlan(c *agentChat) {
	if c.sendAndAwait(promptAnswer, "Here is the answer."); c.agent.plan == "" {
		c.agent.plan = "/mode plan"
	}
	c.changeSetting(c.agent.plan)
	c.answer = permit
	c.sendAndAwait(promptPlan, "The planning is over.")
	if len(c.questions) == 0 {
		c.fail("nothing was asked")
	}
	question, from := c.questions[len(c.questions)-1], c.sent
	if len(c.questions) > 1 {
		from = c.questions[len(c.questions)-2].ID + 1
	}
	if !slices.ContainsFunc(append(c.api.BotMessages(7), question), func(m telegramtest.Message) bool {
		return m.ID >= from && m.ID <= question.ID && strings.Contains(m.TextOrCaption(), planText)
	}) {
		c.fail("the plan is not shown before %q", question.TextOrCaption())
	}
}

// changeSetting sends a command for a setting and waits for its confirmation.
func (c *agentChat) changeSetting(command string) {
	c.send(command)
	c.await("a confirmation of "+command, func() bool { return len(c.shown()) > 0 })
}

func checkQuestion(c *agentChat) {
	if c.agent.ask != "" {
		c.changeSetting(c.agent.ask)
	}
	c.answer = "sqlite"
	c.sendAndAwait(promptAsk, "The person chose SQLite.")
	if len(c.questions) != 1 || !strings.Contains(c.questions[0].TextOrCaption(), "Which database?") {
		c.fail("asked %+v", c.questions)
	}
	if c.agent.ownText {
		c.answer = ""
		c.sendAndAwait(promptAsk, "Which database?")
		c.sendAndAwait("MariaDB", "The person chose MariaDB.")
	}
}

// checkStop stops a turn in the middle of the model's reply and continues with the same process.
func checkStop(c *agentChat) {
	c.send(promptHang)
	c.await("the beginning of the reply", func() bool {
		draft, _ := c.api.Draft(7)
		return strings.Contains(draft.Text, "I begin") || c.shows("I begin")
	})
	c.sendAndAwait("/stop", "Stopped.")
	c.sendAndAwait(promptAnswer, "Here is the answer.")
	if n := len(c.pids("pids")); n != 1 {
		c.fail("%d processes have answered", n)
	}
}

// checkKill stops a turn during a command. Where the chat offers to end the command, it does.
func checkKill(c *agentChat) {
	c.answer = permit
	c.send(promptKill)
	c.await("the command runs", func() bool {
		c.answerQuestions()
		return len(c.pids("sleeping")) > 0
	})
	pid := c.pids("sleeping")[0]
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	c.sendAndAwait("/stop", "Stopped.")
	c.answer = "end it"
	c.await("the command is dead", func() bool {
		c.answerQuestions()
		return processEnded(pid)
	})
}

// checkSteering writes a message while a command runs. The agent reads it in the same turn, so that
// the model does not get the result of the command alone.
func checkSteering(c *agentChat) {
	c.answer = permit
	c.send(promptWait)
	c.await("the command runs", func() bool {
		c.answerQuestions()
		_, err := os.Stat(c.path("waiting"))
		return err == nil
	})
	defer func() { _ = os.WriteFile(c.path("go"), nil, 0o600) }()
	c.send(promptAnswer)
	c.await("the message is sent", func() bool { return contains(filepath.Join(c.wire, "wire"), promptAnswer) })
	musttest.Do(c.t, os.WriteFile(c.path("go"), nil, 0o600))
	c.awaitText("Here is the answer.")
	if slices.ContainsFunc(c.texts(7), func(text string) bool { return strings.Contains(text, "The command has ended.") }) {
		c.fail("the message was read after the turn: %q", c.texts(7))
	}
}

// remember begins a conversation that the agent has stored.
func (c *agentChat) remember() {
	c.sendAndAwait(promptRemember, "Noted.")
	c.await("the agent has stored the conversation", func() bool { return stores(c.home, "Noted.") })
}

// recall waits for the end of the agent's process, and continues the conversation with another.
func (c *agentChat) recall() {
	c.await("the agent is gone", func() bool { return processEnded(c.pids("pids")[0]) })
	if c.agent.stored != nil {
		c.agent.stored(c)
	}
	c.sendAndAwait(promptRecall, "It was a pelican.")
}

// checkResume kills everything that the agent has started, and continues the conversation.
func checkResume(c *agentChat) {
	c.remember()
	c.killAgent()
	c.recall()
}

// killAgent kills everything that the agent has started.
func (c *agentChat) killAgent() {
	musttest.Do(c.t, syscall.Kill(-c.pids("pids")[0], syscall.SIGKILL))
}

// stores reports whether a file below a folder contains a text.
func stores(folder, text string) (found bool) {
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		found = found || err == nil && d.Type().IsRegular() && contains(path, text)
		return nil
	})
	return found
}

// checkDaemon changes the mode, kills the daemon, and looks at mode and conversation of the next.
func checkDaemon(c *agentChat) {
	c.sendAndAwait(promptAnswer, "Here is the answer.")
	c.changeSetting("/mode " + c.agent.mode)
	c.remember()
	c.signal(syscall.SIGKILL)
	c.awaitExit()
	c.startDaemon(c.t)
	c.recall()
	c.send("/mode")
	c.await("the mode "+c.agent.mode, func() bool {
		return slices.ContainsFunc(c.shown(), func(m telegramtest.Message) bool {
			return strings.Contains(strings.ToLower(m.TextOrCaption()+strings.Join(buttonLabels(m), "\n")), "✓ "+c.agent.mode)
		})
	})
}

// checkLinks sends the files that the answer links to.
func checkLinks(c *agentChat) {
	musttest.Do(c.t, os.WriteFile(c.path("report.txt"), []byte("All is well.\n"), 0o600))
	c.send(promptLink)
	c.await("a picture and a document", func() bool {
		shown := c.shown()
		return slices.ContainsFunc(shown, func(m telegramtest.Message) bool { return len(m.Photo) > 0 }) &&
			slices.ContainsFunc(shown, func(m telegramtest.Message) bool { return m.Document != nil })
	})
}

func checkZip(c *agentChat) {
	var content bytes.Buffer
	z := zip.NewWriter(&content)
	_, err := musttest.Get(z.Create("a.txt"))(c.t).Write([]byte("All is well.\n"))
	musttest.Do(c.t, err)
	musttest.Do(c.t, z.Close())
	c.post(telegramtest.UserPost{Chat: 7, Text: promptAnswer, Media: &telegramtest.Media{
		Kind: "document", Name: "data.zip", MIME: "application/zip", Content: content.Bytes(),
	}})
	c.awaitText("Here is the answer.")
	c.sendAndAwait(promptAnswer, "Here is the answer.")
}

func checkTools(c *agentChat) { c.sendAndAwait(promptTools, "All tools are there.") }

func checkRefused(c *agentChat) {
	c.answer = refuse
	c.sendAndAwait(promptRefused, "The last step was refused, and the agent ended its turn.")
}

func checkSilent(c *agentChat) {
	c.sendAndAwait(promptSilent, "The agent ended its turn without an answer.")
}

// checkUsage compares what the ledger has of a person with what the model has reported, after two
// turns of one process and after one of the next.
func checkUsage(c *agentChat) {
	c.answer = permit
	c.remember()
	c.compareUsage(1)
	c.sendAndAwait(promptRun, "The command has ended.")
	c.compareUsage(2)
	c.killAgent()
	c.recall()
	c.compareUsage(3)
}

// compareUsage waits until the ledger has a number of turns. It must have all tokens of the
// conversation, and may have those of further replies.
func (c *agentChat) compareUsage(turns int64) {
	var rows []ledger.Row
	c.await("the turns are in the ledger", func() bool {
		out := musttest.Get(programCommand(c.t, "usage", "--json", "--config", c.cfg).Output())(c.t)
		musttest.Do(c.t, json.Unmarshal(out, &rows))
		return len(rows) == 1 && rows[0].Name() == "telegram:7" && rows[0].Turns == turns
	})
	if rows[0].Cost <= c.cost && c.cost > 0 {
		c.fail("after %d turns the cost is still $%g", turns, c.cost)
	}
	c.cost = rows[0].Cost
	counted := agentstest.Usage{Input: rows[0].InputTokens, Output: rows[0].OutputTokens}
	used, asides := c.model.Used()
	sums := []agentstest.Usage{used}
	for _, aside := range asides {
		for _, sum := range sums {
			sums = append(sums, sum.Add(aside))
		}
	}
	c.t.Logf("after %d turns the ledger has %+v and $%g, and the model %+v and %+v", turns, counted, c.cost, used, asides)
	if !slices.Contains(sums, counted) {
		c.fail("after %d turns the ledger has %+v instead of one of %+v", turns, counted, sums)
	}
	if c.remark = ""; counted != sums[len(sums)-1] {
		c.remark = "The agent does not report all requests beside the conversation, such as for a title."
	}
}
