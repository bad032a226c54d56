package acp_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestStopBetweenTurnsKillsCommandsThatStillRun(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", allowAll)
	p, other := d.person("a"), d.person("b")
	file, others := p.path("pid"), p.path("others")
	leave := func(file string) string {
		return "embed x echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 600\nuntil " + file
	}
	p.send(leave(file))
	other.send(leave(others))
	if n, _ := d.runner.StopCommands("cli:a"); n != 1 {
		t.Errorf("%d were stopped", n)
	}
	eventually(t, "it is dead", func() bool { return !processExists(readPid(t, file)) })
	if !processExists(readPid(t, others)) {
		t.Error("another chat's was stopped")
	}
	// The process is dead a moment before its command counts as ended.
	eventually(t, "there is nothing more to stop", func() bool { n, _ := d.runner.StopCommands("cli:a"); return n == 0 })
	if n, _ := d.runner.StopCommands("cli:nobody"); n != 0 {
		t.Errorf("%d of nobody's were stopped", n)
	}
	p.send("run echo again").expect(terminal.Done, "again\n(exit 0)")
}

func TestStopBetweenTurnsReachesTheAgentsOwnWork(t *testing.T) {
	t.Parallel()
	const task = `send '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"async_task_spawned","asyncTaskId":"7"}}}'`
	for name, work := range map[string]string{"a task": task, "it writes": "chunk hi"} {
		d := newShellAgent(t, untilPrompt+endTurn+"while [ ! -e ended ]; do sleep 0.01; done\n"+work+"\ntouch working; receive; receive")
		p := d.person("a").pushes()
		p.send("hello")
		if n, told := d.runner.StopCommands("cli:a"); n != 0 || told {
			t.Errorf("%s: %d stopped, %t, before it works", name, n, told)
		}
		musttest.Do(t, os.WriteFile(d.path("ended"), nil, 0o600))
		eventually(t, "it is told", func() bool { _, told := d.runner.StopCommands("cli:a"); return told })
		eventually(t, "it is cancelled", func() bool { return strings.Contains(d.receivedLines(), "session/cancel") })
	}
}

func TestAnAgentThatDoesNotStopItsWorkIsEnded(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	d.protocol.StopTimeout = 10 * time.Millisecond
	p := d.person("a").pushes()
	p.send(`raw {"sessionUpdate":"async_task_spawned","asyncTaskId":"7"}`)
	if _, told := d.runner.StopCommands("cli:a"); !told {
		t.Fatal("the agent was not told to stop")
	}
	if got := <-p.pushed; !strings.HasPrefix(got, "The agent ended.") {
		t.Errorf("the chat is told %q", got)
	}
	eventually(t, "it is ended", func() bool { return !processExists(p.pids[0]) })
}

func TestNoCommandIsStartedBetweenTurns(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+endTurn+`
send '{"jsonrpc":"2.0","id":"c","method":"terminal/create","params":{"sessionId":"s","command":"touch ran"}}'
receive; touch answered; receive`)
	d.person("a").send("hello")
	eventually(t, "it is answered", func() bool { return pathExists(d.path("answered")) })
	if said := d.receivedLines(); !strings.Contains(said, "only while a prompt is worked on") || pathExists(d.path("ran")) {
		t.Errorf("answered %s", said)
	}
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Between turns nobody can be asked, so calls that need a question are refused.
func TestNothingIsWrittenBetweenTurnsWithoutAPermission(t *testing.T) {
	t.Parallel()
	call := func(id, method, params string) string {
		return `send '{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":{` + params + "}}'\nreceive\n"
	}
	for name, c := range map[string]struct {
		permissions string
		rules       map[string]string
		wants       string
	}{
		"deny":               {"deny", nil, "does not allow writing files"},
		"ask":                {"ask", nil, "there is nobody to ask"},
		"ask and allow runs": {"ask", map[string]string{"execute": "allow"}, "there is nobody to ask"},
		"allow but deny it":  {"allow", map[string]string{"edit": "deny", "read": "deny"}, "does not allow writing files"},
	} {
		t.Run(name, func(t *testing.T) {
			// The test creates this file when the turn has ended.
			d := newShellAgent(t, untilPrompt+endTurn+"\nwhile [ ! -e over ]; do sleep 0.01; done\n"+
				call("w", "fs/write_text_file", `"sessionId":"s","path":"'"$PWD"'/written","content":"x"`)+
				call("o", "fs/write_text_file", `"sessionId":"other","path":"'"$PWD"'/written","content":"x"`)+
				call("c", "terminal/create", `"sessionId":"s","command":"touch written"`)+
				call("p", "session/request_permission", `"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute"},"options":[{"optionId":"y","name":"y","kind":"allow_always"}]`)+
				call("d", "terminal/create", `"sessionId":"s","command":"touch written"`)+
				"touch answered; receive")
			settings(&d.cfg).Permissions, settings(&d.cfg).Rules = c.permissions, c.rules
			d.restart()
			d.person("a").send("hello")
			musttest.Do(t, os.WriteFile(d.path("over"), nil, 0o600))
			eventually(t, "it is answered", func() bool { return pathExists(d.path("answered")) })
			said := d.receivedLines()
			if !strings.Contains(said, c.wants) || !strings.Contains(said, "unknown session other") || pathExists(d.path("written")) {
				t.Errorf("answered %s", said)
			}
		})
	}
}
