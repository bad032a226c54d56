package acp_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// pushes lets the person receive messages between turns.
func (p *person) pushes() *person {
	p.pushed = make(chan string, 100)
	return p
}

func TestWhatTheAgentSaysBetweenTurnsIsAMessageOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a").pushes()
	p.send("late by \nlate the way\nsay done").expect(terminal.Done, "done")
	wanttest.Equal(t, "said … between turns:", <-p.pushed, "by the way")
	p.send("say again").expect(terminal.Done, "again")
	if len(p.pushed) > 0 {
		t.Errorf("also said %q", <-p.pushed)
	}
}

func TestATextBetweenTurnsIsSentAlthoughTheAgentWorksOn(t *testing.T) {
	t.Parallel()
	think := `send '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}}}'`
	for name, script := range map[string]string{
		"it thinks":            "chunk hi\nwhile [ ! -e sent ]; do " + think + "; sleep 0.01; done",
		"it thinks and writes": "while [ ! -e sent ]; do chunk hi; " + think + "; sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			d := newShellAgent(t, untilPrompt+endTurn+script+"\nreceive")
			d.protocol.PushDelay = 100 * time.Millisecond
			p := d.person("a").pushes()
			p.send("hello")
			if got := <-p.pushed; !strings.HasPrefix(got, "hi") {
				t.Errorf("said %q", got)
			}
			musttest.Do(t, os.WriteFile(d.path("sent"), nil, 0o600))
		})
	}
}

func TestAnAgentWithARunningCommandOrTaskIsNotIdle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ begin, end string }{
		"a command": {"embed x echo $$ > PID.new; mv PID.new PID; exec sleep 600\nuntil PID\nstatus x completed", ""},
		"a task":    {"tool t execute make\nstatus t in_progress", "status t completed"},
		"an extension": {
			`raw {"sessionUpdate":"async_task_spawned","asyncTaskId":"7"}`,
			`raw {"sessionUpdate":"async_task_state_update","asyncTaskId":"7","state":"completed"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, "-resume", allowAll)
			d.protocol.Agents.IdleTime = 5 * time.Millisecond
			p := d.person("a").pushes()
			p.send(strings.ReplaceAll(c.begin, "PID", p.path("pid")))
			time.Sleep(50 * time.Millisecond) // several idle times
			if !processExists(p.pids[0]) {
				t.Fatal("the agent was ended during its work")
			}
			if d.runner.StopCommands("cli:a"); c.end != "" {
				p.send(c.end)
			}
			eventually(t, "it is ended", func() bool { return !processExists(p.pids[0]) })
			if len(p.pushed) > 0 {
				t.Errorf("the chat is told %q", <-p.pushed)
			}
		})
	}
}

func TestAToolCallWithoutAnEndDoesNotKeepTheAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		limit  time.Duration
	}{
		"left open":        {"tool t execute make\nstatus t in_progress", 20 * time.Millisecond},
		"of a failed turn": {"tool t execute make\nstatus t in_progress\nfail out of luck", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, "-resume", allowAll)
			d.protocol.Agents.IdleTime, d.protocol.ToolCallTime = 5*time.Millisecond, c.limit
			p := d.person("a").pushes()
			p.send(c.prompt)
			eventually(t, "it is ended", func() bool { return !processExists(p.pids[0]) })
			if len(p.pushed) > 0 {
				t.Errorf("the chat is told %q", <-p.pushed)
			}
		})
	}
}

func TestTheChatIsToldWhenALimitEndsAnAgentWithWork(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"took longer than 24 hours", "too many agents"} {
		d := newFixture(t, "-resume", allowAll, func(c *config.Terminal) { settings(c).MaxKept = 1 })
		if d.protocol.Agents.IdleTime = 20 * time.Millisecond; strings.Contains(limit, "hours") {
			d.protocol.Agents.MaxInUse = time.Millisecond
		}
		a := d.person("a").pushes()
		if a.send("tool t execute make\nstatus t in_progress"); strings.Contains(limit, "many") {
			d.person("b").send("say hello")
		}
		if got := <-a.pushed; !strings.Contains(got, limit) || !strings.Contains(got, "Your next message resumes the conversation.") {
			t.Errorf("the chat is told %q, want %q", got, limit)
		}
		eventually(t, "it is ended", func() bool { return !processExists(a.pids[0]) })
	}
}
