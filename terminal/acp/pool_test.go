package acp_test

import (
	"os"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

func TestAnIdleAgentIsEndedAndResumed(t *testing.T) {
	d := newDesk(t, "-resume")
	d.protocol.Agents.IdleTime = 20 * time.Millisecond
	p := d.person("a")
	p.says("hello")
	eventually(t, "it is ended", func() bool { return !stillRunning(p.pids[0]) })
	p.says("history").is(terminal.Done, "prompts so far: 2")
}

func TestTheLongestIdleAgentGoesFirst(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { settings(c).MaxKept = 2 })
	a, b, c := d.person("a"), d.person("b"), d.person("c")
	a.says("hello")
	b.says("hello")
	a.says("hello")
	c.says("hello")
	eventually(t, "b is ended", func() bool { return !stillRunning(b.pids[0]) })
	if !stillRunning(a.pids[0]) || !stillRunning(c.pids[0]) {
		t.Error("another was ended")
	}
}

func TestAnAgentAtWorkIsNotEndedForAnother(t *testing.T) {
	d := newDesk(t, "", func(c *config.Terminal) { settings(c).MaxKept = 1 })
	a, b := d.person("a"), d.person("b")
	gate, works := d.file("go"), make(chan struct{})
	a.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial && works != nil {
			close(works)
			works = nil
		}
	}
	started, done := works, make(chan *heard)
	go func() { done <- a.says("say begun\nuntil " + gate) }()
	<-started
	b.says("hello").is(terminal.Done, "You said: hello")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	(<-done).is(terminal.Done, "begun")
	eventually(t, "one of them is ended", func() bool { return stillRunning(a.pids[0]) != stillRunning(b.pids[0]) })
}

func TestCloseEndsAgentsThatIgnoreAClosedStdin(t *testing.T) {
	d := newDesk(t, "-stubborn")
	people := []*person{d.person("a"), d.person("b"), d.person("c")}
	for _, p := range people {
		p.says("hello")
	}
	d.runner.Close()
	for _, p := range people {
		if stillRunning(p.pids[0]) {
			t.Error("an agent lives on")
		}
	}
}

func TestATurnAfterCloseKeepsNothing(t *testing.T) {
	d := newDesk(t, "-resume")
	p := d.person("a")
	p.says("hello")
	d.runner.Close()
	p.says("history").is(terminal.Done, "prompts so far: 2")
	if stillRunning(p.pids[1]) {
		t.Error("it is kept")
	}
}

func TestTurnsOfOneChatWaitForEachOther(t *testing.T) {
	d := newDesk(t, "")
	gate := d.file("go")
	p := d.person("a")
	begun := make(chan struct{})
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial && f.Text == "begun" {
			close(begun)
		}
	}
	first := make(chan *heard)
	go func() { first <- p.says("say begun\nuntil " + gate) }()
	<-begun
	second := make(chan *heard)
	other := d.person("a")
	other.mem = p.mem
	go func() { second <- other.says("history") }()
	time.AfterFunc(30*time.Millisecond, func() { _ = os.WriteFile(gate, nil, 0o600) })
	(<-first).is(terminal.Done, "begun")
	(<-second).is(terminal.Done, "prompts so far: 2")
}
