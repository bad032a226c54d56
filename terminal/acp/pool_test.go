package acp_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestAnIdleAgentIsEndedAndResumed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	d.protocol.Agents.IdleTime = 20 * time.Millisecond
	p := d.person("a")
	p.send("hello")
	eventually(t, "it is ended", func() bool { return !processExists(p.pids[0]) })
	p.send("history").expect(terminal.Done, "prompts so far: 2")
}

func TestTheLongestIdleAgentIsEndedFirst(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { settings(c).MaxKept = 2 })
	a, b, c := d.person("a"), d.person("b"), d.person("c")
	a.send("hello")
	b.send("hello")
	a.send("hello")
	c.send("hello")
	eventually(t, "b is ended", func() bool { return !processExists(b.pids[0]) })
	if !processExists(a.pids[0]) || !processExists(c.pids[0]) {
		t.Error("another was ended")
	}
}

func TestAnAgentInATurnIsNotEndedForAnother(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { settings(c).MaxKept = 1 })
	a, b := d.person("a"), d.person("b")
	gate, works := d.path("go"), make(chan struct{})
	a.onFrame = func(f terminal.Frame) {
		if shows(f, "begun") && works != nil {
			close(works)
			works = nil
		}
	}
	started, done := works, make(chan *turnResult)
	go func() { done <- a.send("say begun\nuntil " + gate) }()
	<-started
	b.send("hello").expect(terminal.Done, "You said: hello")
	musttest.Do(t, os.WriteFile(gate, nil, 0o600))
	(<-done).expect(terminal.Done, "begun")
	eventually(t, "one of them is ended", func() bool { return processExists(a.pids[0]) != processExists(b.pids[0]) })
}

func TestCloseEndsAgentsThatIgnoreAClosedStdin(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-stubborn")
	people := []*person{d.person("a"), d.person("b"), d.person("c")}
	for _, p := range people {
		p.send("hello")
	}
	d.runner.Close()
	for _, p := range people {
		if processExists(p.pids[0]) {
			t.Error("an agent lives on")
		}
	}
}

func TestATurnAfterCloseKeepsNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume")
	p := d.person("a")
	p.send("hello")
	d.runner.Close()
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	if processExists(p.pids[1]) {
		t.Error("it is kept")
	}
}

func TestTurnsOfOneChatWaitForEachOther(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "")
	gate := d.path("go")
	p := d.person("a")
	begun := make(chan struct{})
	closeOnce := sync.OnceFunc(func() { close(begun) })
	p.onFrame = func(f terminal.Frame) {
		if shows(f, "begun") {
			closeOnce()
		}
	}
	first := make(chan *turnResult)
	go func() { first <- p.send("say begun\nuntil " + gate) }()
	<-begun
	second := make(chan *turnResult)
	other := d.person("a")
	other.memory = p.memory
	go func() { second <- other.send("history") }()
	time.AfterFunc(30*time.Millisecond, func() { _ = os.WriteFile(gate, nil, 0o600) })
	(<-first).expect(terminal.Done, "begun")
	(<-second).expect(terminal.Done, "prompts so far: 2")
}
