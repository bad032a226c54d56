package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

const newSessionNotice = "The earlier conversation could not be resumed; this is a new one."

func TestAConversationContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flags, want string }{
		{"-resume", "prompts so far: 2"},
		{"-load", "prompts so far: 2"},
		{"-resume -load", "prompts so far: 2"},
		{"", newSessionNotice + "\n\nprompts so far: 1"},
	} {
		t.Run("flags "+c.flags, func(t *testing.T) {
			d := newFixture(t, c.flags)
			p := d.person("a")
			p.send("hello").expect(terminal.Done, "You said: hello")
			d.restart()
			h := p.send("history").expect(terminal.Done, c.want)
			for _, f := range h.frames {
				if strings.Contains(f.Text, "REPLAYED") {
					t.Errorf("the past was shown: %+v", f)
				}
			}
			if told := strings.Contains(h.text(terminal.Message), newSessionNotice); told != (c.flags == "") {
				t.Errorf("said %q", h.text(terminal.Message))
			}
			p.send("history") // the next turn is an ordinary one
			if p.memory.saves > 2 {
				t.Errorf("saved %d times", p.memory.saves)
			}
		})
	}
}

func TestALostSessionIsReplacedByANewOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume -load")
	p := d.person("a")
	p.send("hello")
	d.restart()
	files, _ := filepath.Glob(filepath.Join(d.sessions, "*.json"))
	for _, f := range files {
		os.Remove(f)
	}
	p.send("history").expect(terminal.Done, newSessionNotice+"\n\nprompts so far: 1")
	d.restart()
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestAnAgentThatDiesInATurnIsResumedInTheNext(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-resume").person("a")
	h := p.send("say half\nstderr out of memory\ndie").expect(terminal.Failed, "half")
	h.expectError(terminal.Failed, "The agent ended. Your next message resumes the conversation.", "Killed by SIGKILL", "STDERR: out of memory")
	wanttest.Equal(t, "signal", h.out.Signal, "SIGKILL")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	p.send("exit 3").expectError(terminal.Failed, "Exit code: 3")
	p.send("history").expect(terminal.Done, "prompts so far: 4")
}

func TestCommandsDieWithTheAgent(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", allowAll).person("a")
	file := p.path("pid")
	p.send("embed x echo $$ > "+file+".new; mv "+file+".new "+file+"; exec sleep 600\nuntil "+file+"\ndie").expectError(terminal.Failed, "The agent ended.")
	eventually(t, "the command is dead", func() bool { return !processExists(readPid(t, file)) })
}

// readPid reads a PID from a file.
func readPid(t *testing.T, file string) int {
	t.Helper()
	b := musttest.Get(os.ReadFile(file))(t)
	pid := musttest.Get(strconv.Atoi(strings.TrimSpace(string(b))))(t)
	return pid
}

func TestErrorDetailsAreShownOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { c.RevealErrors = config.Selection{} })
	h := d.person("a").send("stderr my secret\nexit 3").expectError(terminal.Failed, "The agent ended. Your next message starts a new conversation")
	if text := h.text(terminal.Error); strings.Contains(text, "secret") || strings.Contains(text, "Exit code") {
		t.Errorf("said %q", text)
	}
	if !strings.Contains(h.text(terminal.Log), "my secret") {
		t.Error("the log does not have it")
	}
}

func TestAnAgentThatDiesWhileIdleIsResumed(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-resume").person("a")
	p.send("hello")
	musttest.Do(t, syscall.Kill(p.pids[0], syscall.SIGKILL))
	eventually(t, "it is reaped", func() bool { return !processExists(p.pids[0]) })
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestAnAgentThatFailsToStartIsReported(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { c.Command = "echo no such thing >&2; exit 127" })
	d.person("a").send("hello").expectError(terminal.Failed, "The agent ended before it was ready.", "STDERR: no such thing", "Exit code: 127")
	d = newFixture(t, "-version")
	p := d.person("a")
	p.send("hello").expectError(terminal.Failed, "version 99", "version 1 is needed")
	if processExists(p.pids[0]) {
		t.Error("it is kept")
	}
}

func TestANewConversationOpensANewSessionOfTheSameAgent(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-close").person("a")
	p.send("hello")
	p.memory.forget() // as /new does
	p.send("history").expect(terminal.Done, "prompts so far: 1")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	if p.pids[0] != p.pids[2] {
		t.Error("the agent was started again")
	}
}

func TestANewConversationEndsTheCommandsOfTheOldSession(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", allowAll).person("a")
	file := p.path("pid")
	p.send("embed x echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 600\nuntil " + file)
	if pid := readPid(t, file); !processExists(pid) {
		t.Error("the command did not outlive its turn")
	}
	p.memory.forget()
	p.send("hello").expect(terminal.Done, "You said: hello")
	if pid := readPid(t, file); processExists(pid) {
		t.Error("the command outlived its session")
	}
}

func TestUpdatesOfOtherSessionsAreNotShown(t *testing.T) {
	t.Parallel()
	update := `"method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}`
	d := newShellAgent(t, untilPrompt+"send '{"+fmt.Sprintf(update, "other", "not mine")+"}'\nsend '{"+fmt.Sprintf(update, "s", "mine")+"}'\n"+endTurn)
	d.person("a").send("hello").expect(terminal.Done, "mine")
}

func TestWithoutAMemoryTheConversationLastsAsLongAsTheAgent(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.memory = nil
	p.send("hello")
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestAMemoryThatCannotBeReadIsAnErrorOfTheGateway(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.memory.err = errors.New("disk gone")
	if h := p.send("hello"); h.err == nil || !strings.Contains(h.err.Error(), "disk gone") {
		t.Errorf("got %v", h.err)
	}
}

func TestAnotherCommandDoesNotGetTheSessionOfTheFirst(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a")
	p.send("hello")
	d.cfg.Command += " -close"
	d.restart()
	p.send("history").expect(terminal.Done, "prompts so far: 1")
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-auth login")
	d.person("a").send("hello").expectError(terminal.Failed, "Error (AUTH): The agent requires signing in", "Sign in: Run `agent login` on the server.", `authMethod "login"`)
	d = newFixture(t, "-auth login", func(c *config.Terminal) { settings(c).AuthMethod = "login" })
	d.person("a").send("hello").expect(terminal.Done, "You said: hello")
	d = newFixture(t, "-auth login", func(c *config.Terminal) { settings(c).AuthMethod = "wrong" })
	d.person("a").send("hello").expectError(terminal.Failed, "Error (AUTH)", `authMethod "wrong": unknown method`)
}

func TestSigningInInTheMiddleOfAConversation(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+`
send '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Authentication required"}}'
receive; send '{"jsonrpc":"2.0","id":4,"result":{}}'
receive; chunk welcome; send '{"jsonrpc":"2.0","id":5,"result":{"stopReason":"end_turn"}}'; receive`)
	settings(&d.cfg).AuthMethod = "login"
	d.restart()
	d.person("a").send("hello").expect(terminal.Done, "welcome")
	if !strings.Contains(d.receivedLines(), `"method":"authenticate","params":{"methodId":"login"}`) {
		t.Errorf("said %s", d.receivedLines())
	}
}

func TestQuirksOfAgents(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-noisy -early -repeats").person("a")
	h := p.send("noise [1/3] warming up\nnoise {\"level\":\"info\"}\nsay hello").expect(terminal.Done, "early words\nhello")
	for _, noise := range []string{"Starting up", "warming up", `{"level":"info"}`} {
		if !strings.Contains(h.text(terminal.Log), noise) {
			t.Errorf("%q is not in the log", noise)
		}
	}
	if len(p.agentInfo.Commands) == 0 || p.agentInfo.Commands[0].Name != "review" {
		t.Errorf("about is %+v", p.agentInfo)
	}
	h = p.send("tool x read Reading\nstatus x completed\nstatus y in_progress\nraw {\"sessionUpdate\":\"from_the_future\"}\nsay ok").expect(terminal.Done, "ok")
	wanttest.Equal(t, "the tool is shown … times:", strings.Count(lastText(h.frames, terminal.Progress), "Reading"), 1)
}

func lastText(frames []terminal.Frame, kind terminal.Kind) (text string) {
	for _, f := range frames {
		if f.Kind == kind {
			text = f.Text
		}
	}
	return text
}

func TestALineThatIsTooLongIsSkipped(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { c.MaxLine = 64 << 10 })
	p := d.person("a")
	h := p.send("noise "+strings.Repeat("x", 1<<20)+"\nsay short").expect(terminal.Done, "short\n⚠ A line of 1048576 bytes was skipped; the limit is 65536 bytes.")
	if !strings.Contains(h.text(terminal.Log), "a line of 1048576 bytes was skipped") {
		t.Errorf("log: %.300q", h.text(terminal.Log))
	}
}

func TestATurnThatTheAgentCancelsAfterARefusalIsRefusedAndNotCancelled(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{Text: "Reject", By: "ann"}, nil
	}
	h := p.send("ask x execute Delete all?\nstop cancelled")
	h.expect(terminal.Refused, "permission selected no")
	if text := h.text(terminal.Message); strings.Contains(text, "cancelled") {
		t.Errorf("said %q", text)
	}
}

func TestAgentsMayAsk(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	asked := 0
	p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		asked++
		return terminal.Answer{Text: "Reject", By: "ann"}, nil
	}
	p.send("ask x execute Delete all?").expect(terminal.Refused, "permission selected no")
	wanttest.Equal(t, "asked … times:", asked, 1)
	h := p.send("call no/such {}\ncall terminal/output {\"sessionId\":\"another\",\"terminalId\":\"x\"}")
	if text := h.text(terminal.Message); !strings.Contains(text, "-32601") || !strings.Contains(text, "unknown session another") {
		t.Errorf("said %q", text)
	}
	p = newFixture(t, "", allowAll).person("a")
	p.send("run echo out; echo err >&2; exit 3").expect(terminal.Done, "out\nerr\n(exit 3)")
	p.send("write "+p.path("note")+" words\nread "+p.path("note")).expect(terminal.Done, "written\nwords")
}

func TestAnAgentThatReleasesNoTerminalCanContinue(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", allowAll).person("a")
	create := "call terminal/create {\"sessionId\":\"SESSION\",\"command\":\"true\"}\n"
	h := p.send(strings.Repeat(create, 40) + "run true\n" + strings.Repeat(create, 40))
	if text := h.text(terminal.Message); strings.Count(text, "terminalId") != 80 {
		t.Errorf("said %.2000q", text)
	}
}

func TestDisabledMethodsAreUnknown(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { settings(c).Files, settings(c).Terminals = false, false })
	h := d.person("a").send("call fs/read_text_file {\"sessionId\":\"SESSION\",\"path\":\"/etc/hostname\"}\ncall terminal/create {\"sessionId\":\"SESSION\",\"command\":\"ls\"}")
	if n := strings.Count(h.text(terminal.Message), "-32601"); n != 2 {
		t.Errorf("said %q", h.text(terminal.Message))
	}
}
