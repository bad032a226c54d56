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
	"nanobot/terminal"
)

const newOne = "The earlier conversation could not be resumed; this is a new one."

func TestAConversationGoesOnAfterARestart(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"-resume", "prompts so far: 2"},
		{"-load", "prompts so far: 2"},
		{"-resume -load", "prompts so far: 2"},
		{"", newOne + "\n\nprompts so far: 1"},
	} {
		t.Run("flags "+c.flags, func(t *testing.T) {
			d := newDesk(t, c.flags)
			p := d.person("a")
			p.says("hello").is(terminal.Done, "You said: hello")
			d.restart()
			h := p.says("history").is(terminal.Done, c.want)
			for _, f := range h.frames {
				if strings.Contains(f.Text, "REPLAYED") {
					t.Errorf("the past was shown: %+v", f)
				}
			}
			if told := strings.Contains(h.text(terminal.Progress), newOne); told != (c.flags == "") {
				t.Errorf("progress is %q", h.text(terminal.Progress))
			}
			p.says("history") // the next turn is an ordinary one
			if p.mem.saves > 2 {
				t.Errorf("saved %d times", p.mem.saves)
			}
		})
	}
}

func TestALostSessionIsReplacedByANewOne(t *testing.T) {
	d := newDesk(t, "-resume -load")
	p := d.person("a")
	p.says("hello")
	d.restart()
	files, _ := filepath.Glob(filepath.Join(d.sessions, "*.json"))
	for _, f := range files {
		os.Remove(f)
	}
	p.says("history").is(terminal.Done, newOne+"\n\nprompts so far: 1")
	d.restart()
	p.says("history").is(terminal.Done, "prompts so far: 2")
}

func TestAnAgentThatDiesInATurnIsResumedInTheNext(t *testing.T) {
	p := newDesk(t, "-resume").person("a")
	h := p.says("say half\nstderr out of memory\ndie").is(terminal.Failed, "half")
	h.fails(terminal.Failed, "The agent ended. Your next message resumes the conversation.", "Killed by SIGKILL", "STDERR: out of memory")
	if h.out.Signal != "SIGKILL" {
		t.Errorf("signal %q", h.out.Signal)
	}
	p.says("history").is(terminal.Done, "prompts so far: 2")
	p.says("exit 3").fails(terminal.Failed, "Exit code: 3")
	p.says("history").is(terminal.Done, "prompts so far: 4")
}

func TestCommandsDieWithTheAgent(t *testing.T) {
	p := newDesk(t, "", unasked).person("a")
	file := p.file("pid")
	p.says("embed x echo $$ > "+file+".new; mv "+file+".new "+file+"; exec sleep 600\nuntil "+file+"\ndie").fails(terminal.Failed, "The agent ended.")
	eventually(t, "the command is dead", func() bool { return !stillRunning(pidIn(t, file)) })
}

// pidIn reads a process id from a file.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestErrorDetailsAreShownOnlyIfAllowed(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { c.RevealErrors = config.Reveal{} })
	h := d.person("a").says("stderr my secret\nexit 3").fails(terminal.Failed, "The agent ended. Your next message starts a new conversation")
	if text := h.text(terminal.Error); strings.Contains(text, "secret") || strings.Contains(text, "Exit code") {
		t.Errorf("said %q", text)
	}
	if !strings.Contains(h.text(terminal.Log), "my secret") {
		t.Error("the log does not have it")
	}
}

func TestAnAgentThatDiesWhileIdleIsResumed(t *testing.T) {
	p := newDesk(t, "-resume").person("a")
	p.says("hello")
	if err := syscall.Kill(p.pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is reaped", func() bool { return !stillRunning(p.pids[0]) })
	p.says("history").is(terminal.Done, "prompts so far: 2")
}

func TestAnAgentThatCannotBegin(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { c.Command = "echo no such thing >&2; exit 127" })
	d.person("a").says("hello").fails(terminal.Failed, "The agent ended before it was ready.", "STDERR: no such thing", "Exit code: 127")
	d = newDesk(t, "-version")
	p := d.person("a")
	p.says("hello").fails(terminal.Failed, "version 99", "version 1 is needed")
	if stillRunning(p.pids[0]) {
		t.Error("it is kept")
	}
}

func TestAFreshStartTakesANewSessionOfTheSameAgent(t *testing.T) {
	p := newDesk(t, "-close").person("a")
	p.says("hello")
	p.mem.forget() // as /new does
	p.says("history").is(terminal.Done, "prompts so far: 1")
	p.says("history").is(terminal.Done, "prompts so far: 2")
	if p.pids[0] != p.pids[2] {
		t.Error("the agent was started anew")
	}
}

func TestAFreshStartEndsTheCommandsOfTheOldSession(t *testing.T) {
	p := newDesk(t, "", unasked).person("a")
	file := p.file("pid")
	p.says("embed x echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 600\nuntil " + file)
	if pid := pidIn(t, file); !stillRunning(pid) {
		t.Error("the command did not outlive its turn")
	}
	p.mem.forget()
	p.says("hello").is(terminal.Done, "You said: hello")
	if pid := pidIn(t, file); stillRunning(pid) {
		t.Error("the command outlived its session")
	}
}

func TestUpdatesOfOtherSessionsAreNotShown(t *testing.T) {
	update := `"method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}`
	d := scripted(t, initializeResponse+"say '{"+fmt.Sprintf(update, "other", "not mine")+"}'\nsay '{"+fmt.Sprintf(update, "s", "mine")+"}'\n"+done)
	d.person("a").says("hello").is(terminal.Done, "mine")
}

func TestWithoutAMemoryTheConversationLastsAsLongAsTheAgent(t *testing.T) {
	p := newDesk(t, "").person("a")
	p.mem = nil
	p.says("hello")
	p.says("history").is(terminal.Done, "prompts so far: 2")
}

func TestAMemoryThatCannotBeReadIsOurError(t *testing.T) {
	p := newDesk(t, "").person("a")
	p.mem.err = errors.New("disk gone")
	if h := p.says("hello"); h.err == nil || !strings.Contains(h.err.Error(), "disk gone") {
		t.Errorf("got %v", h.err)
	}
}

func TestAnotherCommandDoesNotGetTheSessionOfTheFirst(t *testing.T) {
	d := newDesk(t, "-resume")
	p := d.person("a")
	p.says("hello")
	d.cfg.Command += " -close"
	d.restart()
	p.says("history").is(terminal.Done, "prompts so far: 1")
}

func TestSigningIn(t *testing.T) {
	d := newDesk(t, "-auth login")
	d.person("a").says("hello").fails(terminal.Failed, "Error (AUTH): The agent requires signing in", "Sign in: Run `agent login` on the server.", `authMethod "login"`)
	d = newDesk(t, "-auth login", func(c *config.Terminal) { settings(c).AuthMethod = "login" })
	d.person("a").says("hello").is(terminal.Done, "You said: hello")
	d = newDesk(t, "-auth login", func(c *config.Terminal) { settings(c).AuthMethod = "wrong" })
	d.person("a").says("hello").fails(terminal.Failed, "Error (AUTH)", `authMethod "wrong": unknown method`)
}

func TestSigningInInTheMiddleOfAConversation(t *testing.T) {
	d := scripted(t, initializeResponse+`
say '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Authentication required"}}'
hear; say '{"jsonrpc":"2.0","id":4,"result":{}}'
hear; chunk welcome; say '{"jsonrpc":"2.0","id":5,"result":{"stopReason":"end_turn"}}'; hear`)
	settings(&d.cfg).AuthMethod = "login"
	d.restart()
	d.person("a").says("hello").is(terminal.Done, "welcome")
	if !strings.Contains(d.said(), `"method":"authenticate","params":{"methodId":"login"}`) {
		t.Errorf("said %s", d.said())
	}
}

func TestQuirksOfAgents(t *testing.T) {
	p := newDesk(t, "-noisy -early -repeats").person("a")
	h := p.says("noise [1/3] warming up\nnoise {\"level\":\"info\"}\nsay hello").is(terminal.Done, "early words\nhello")
	for _, noise := range []string{"Starting up", "warming up", `{"level":"info"}`} {
		if !strings.Contains(h.text(terminal.Log), noise) {
			t.Errorf("%q is not in the log", noise)
		}
	}
	if len(p.about.Commands) == 0 || p.about.Commands[0].Name != "review" {
		t.Errorf("about is %+v", p.about)
	}
	h = p.says("tool x read Reading\nstatus x completed\nstatus y in_progress\nraw {\"sessionUpdate\":\"from_the_future\"}\nsay ok").is(terminal.Done, "ok")
	if n := strings.Count(last(h.frames, terminal.Progress), "Reading"); n != 1 {
		t.Errorf("the tool is shown %d times", n)
	}
}

func last(frames []terminal.Frame, kind terminal.Kind) (text string) {
	for _, f := range frames {
		if f.Kind == kind {
			text = f.Text
		}
	}
	return text
}

func TestALineThatIsTooLongIsSkipped(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { c.MaxLine = 64 << 10 })
	p := d.person("a")
	h := p.says("noise "+strings.Repeat("x", 1<<20)+"\nsay short").is(terminal.Done, "short\n⚠ A line of 1048576 bytes was skipped, the limit is 65536.")
	if !strings.Contains(h.text(terminal.Log), "a line of 1048576 bytes was skipped") {
		t.Errorf("log: %.300q", h.text(terminal.Log))
	}
}

func TestAgentsMayAsk(t *testing.T) {
	p := newDesk(t, "").person("a")
	asked := 0
	p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		asked++
		return terminal.Answer{Text: "Reject", By: "ann"}, nil
	}
	p.says("ask x execute Delete all?").is(terminal.Done, "permission selected no")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	h := p.says("call no/such {}\ncall terminal/output {\"sessionId\":\"another\",\"terminalId\":\"x\"}")
	if text := h.text(terminal.Message); !strings.Contains(text, "-32601") || !strings.Contains(text, "unknown session another") {
		t.Errorf("said %q", text)
	}
	p = newDesk(t, "", unasked).person("a")
	p.says("run echo out; echo err >&2; exit 3").is(terminal.Done, "out\nerr\n(exit 3)")
	p.says("write "+p.file("note")+" words\nread "+p.file("note")).is(terminal.Done, "written\nwords")
}

func TestAnAgentThatReleasesNoTerminalCanGoOn(t *testing.T) {
	p := newDesk(t, "", unasked).person("a")
	create := "call terminal/create {\"sessionId\":\"SESSION\",\"command\":\"true\"}\n"
	h := p.says(strings.Repeat(create, 40) + "run true\n" + strings.Repeat(create, 40))
	if text := h.text(terminal.Message); strings.Count(text, "terminalId") != 80 {
		t.Errorf("said %.2000q", text)
	}
}

func TestDisabledMethodsAreUnknown(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { settings(c).Files, settings(c).Terminals = false, false })
	h := d.person("a").says("call fs/read_text_file {\"sessionId\":\"SESSION\",\"path\":\"/etc/hostname\"}\ncall terminal/create {\"sessionId\":\"SESSION\",\"command\":\"ls\"}")
	if n := strings.Count(h.text(terminal.Message), "-32601"); n != 2 {
		t.Errorf("said %q", h.text(terminal.Message))
	}
}
