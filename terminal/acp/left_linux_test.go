package acp_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// stopWhile sends a message and stops its turn once the file exists, which the agent's command
// writes.
func (p *person) stopWhile(text, file string) *turnResult {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	ended := make(chan struct{})
	defer func() { <-ended }()
	go func() {
		defer close(ended)
		eventually(p.t, "the command runs", func() bool { b, _ := os.ReadFile(file); return len(b) > 0 })
		stop()
	}()
	return p.sendUntil(ctx, text)
}

// late returns a command that writes its PID to a file, and then waits for a long time before it
// writes the file late.
func (p *person) late(wait string) (command, pidFile string) {
	pidFile = p.path("pid")
	return "echo $$ > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; " + wait + "; echo x > " + p.path("late"), pidFile
}

func (p *person) mustNotBeLate(pid int) {
	p.t.Helper()
	if now, ok := procfs.ReadStat(pid); ok && !now.Dead() { // its parent may not have seen its end yet
		p.t.Error("the command still runs")
	}
	if _, err := os.Stat(p.path("late")); err == nil {
		p.t.Error("the command went on to its next part")
	}
}

func TestAStoppedTurnSaysWhichCommandsTheAgentLeavesRunning(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a").pushes()
	command, pidFile := p.late("sleep 600")
	h := p.stopWhile("tool t execute "+command+"\nstatus t in_progress\nchild "+command+"\nawait", pidFile)
	h.expectError(terminal.Stopped, "Stopped.\nStill running: `echo $$")
	wanttest.Equal(t, "the frame offers to end it:", h.frames[len(h.frames)-1].StillRunning, true)
	wanttest.Equal(t, "commands that are left:", strings.Join(d.runner.LeftCommands("cli:a"), "|"), command)
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	pid := readPid(t, pidFile)
	if !processExists(pid) {
		t.Fatal("the command was ended without a request")
	}
	wanttest.Equal(t, "ended commands:", d.runner.EndLeftCommands("cli:a"), 1)
	p.mustNotBeLate(pid)
	wanttest.Equal(t, "commands ended again:", d.runner.EndLeftCommands("cli:a"), 0)
	wanttest.Equal(t, "commands that are left:", len(d.runner.LeftCommands("cli:a")), 0)
	p.send("history").expect(terminal.Done, "prompts so far: 3")
	if p.pids[0] != p.pids[2] {
		t.Errorf("the agent was started again: %v", p.pids)
	}
}

func TestASecondStopEndsWhatTheFirstHasLeft(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a").pushes()
	command, pidFile := p.late("sleep 600")
	p.stopWhile("tool t execute "+command+"\nstatus t in_progress\nchild "+command+"\nawait", pidFile)
	pid := readPid(t, pidFile)
	ended, told := d.runner.StopCommands("cli:a")
	wanttest.Equal(t, "ended commands:", ended, 1)
	wanttest.Equal(t, "the agent is told to stop other work:", told, false)
	p.mustNotBeLate(pid)
}

// The title of the call has not the command, so that no process is known to run it.
func TestTheAgentIsEndedWithACommandThatCannotBeToldApart(t *testing.T) {
	t.Parallel()
	for flags, said := range map[string]string{"-resume": "resumes the conversation", "": "starts a new conversation"} {
		d := newFixture(t, flags)
		p := d.person("a").pushes()
		command, pidFile := p.late("sleep 600")
		h := p.stopWhile("tool t execute Build it\nstatus t in_progress\nchild "+command+"\nawait", pidFile)
		h.expectError(terminal.Stopped, "Still running: `Build it`. /stop ends it.")
		pid := readPid(t, pidFile)
		wanttest.Equal(t, "ended commands:", d.runner.EndLeftCommands("cli:a"), 1)
		p.mustNotBeLate(pid)
		if processExists(p.pids[0]) {
			t.Error("the agent still runs")
		}
		if got := <-p.pushed; !strings.Contains(got, said) {
			t.Errorf("the chat is told %q", got)
		}
		prompts := map[bool]string{true: "prompts so far: 2", false: "prompts so far: 1"}[flags != ""]
		if h := p.send("history"); !strings.Contains(h.text(terminal.Message), prompts) {
			t.Errorf("%q: the next turn says %q", flags, h.text(terminal.Message))
		}
	}
}

// A turn that uses the agent must not end with it.
func TestACommandThatCannotBeToldApartRunsOnDuringAnotherTurn(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a").pushes()
	command, pidFile := p.late("sleep 600")
	p.stopWhile("tool t execute Build it\nstatus t in_progress\nchild "+command+"\nawait", pidFile)
	p.onFrame = func(f terminal.Frame) {
		if f.Kind == terminal.Message {
			wanttest.Equal(t, "ended commands:", d.runner.EndLeftCommands("cli:a"), 0)
			wanttest.Equal(t, "commands that are left:", strings.Join(d.runner.LeftCommands("cli:a"), "|"), "Build it")
			p.onFrame = nil
		}
	}
	p.send("say second").expect(terminal.Done, "second")
	if p.onFrame != nil || !processExists(readPid(t, pidFile)) {
		t.Error("the command was ended, or nobody tried")
	}
	wanttest.Equal(t, "ended commands:", d.runner.EndLeftCommands("cli:a"), 1)
}

// Many agents end their commands and do not report it.
func TestAStoppedTurnSaysNothingAboutCommandsThatHaveEnded(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"child echo $$ > PID\nuntil PID", "status t failed\nchild echo $$ > PID; exec sleep 600", "spawn echo $$ > PID; exec sleep 600",
	} {
		d := newFixture(t, "-resume", allowAll)
		p := d.person("a").pushes()
		pidFile := p.path("pid")
		h := p.stopWhile(strings.ReplaceAll("tool t execute make\nstatus t in_progress\n"+call+"\nawait", "PID", pidFile), pidFile)
		if pid := readPid(t, pidFile); processExists(pid) {
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		}
		if got := h.text(terminal.Error); got != "Stopped." || h.frames[len(h.frames)-1].StillRunning {
			t.Errorf("%s: it says %q", call, got)
		}
	}
}
