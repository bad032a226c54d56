package acp_test

import (
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/warm"
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

// smallRoom is the room of agents that have more memory than it allows, all together or alone.
func smallRoom(c *config.Terminal) { settings(c).KeptMemory = 1 }

func TestAgentsAreKeptAsFarAsThereIsMemory(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", smallRoom)
	d.protocol.Agents.MinProcesses = 2
	a, b, c := d.person("a"), d.person("b"), d.person("c")
	for _, p := range []*person{a, b, a} {
		p.send("hello")
	}
	if !processExists(a.pids[0]) || !processExists(b.pids[0]) {
		t.Error("fewer are kept than may run at the same time")
	}
	c.send("hello")
	eventually(t, "b is ended", func() bool { return !processExists(b.pids[0]) })
	if !processExists(a.pids[0]) || !processExists(c.pids[0]) {
		t.Error("another was ended")
	}
	wanttest.Equal(t, "log lines before an agent is started again:", d.logs.Len(), 0)
	b.send("hello")
	a.send("hello")
	if n, key := d.runner.RestartedAgents(); n != 2 || key != "acp.keptMemory" {
		t.Errorf("%d agents were started again for %q", n, key)
	}
	lines := d.logs.FilterMessageSnippet("started again").All()
	if len(lines) != 1 || lines[0].ContextMap()["raise"] != "acp.keptMemory" || lines[0].Level != zap.WarnLevel {
		t.Errorf("the log has %+v", lines)
	}
}

func TestEnoughMemoryKeepsTheAgentsOfManyChats(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "")
	var people []*person
	for i := range 20 {
		people = append(people, d.person(string(rune('a'+i))))
		people[i].send("hello")
	}
	for _, p := range people {
		if !processExists(p.pids[0]) {
			t.Fatal("an agent was ended")
		}
	}
}

func TestTheMemoryForKeptAgentsFollowsFromTheMachine(t *testing.T) {
	t.Parallel()
	usable := procfs.UsableMemory()
	for _, tc := range []struct {
		set  acp.Settings
		open terminal.OpenOptions
		want warm.Room
	}{
		{acp.Settings{}, terminal.OpenOptions{MaxConcurrent: 8}, warm.Room{MaxMemory: usable / 4, MinProcesses: 8}},
		{acp.Settings{}, terminal.OpenOptions{Agents: 3}, warm.Room{MaxMemory: usable / 4 / 3}},
		{acp.Settings{KeptMemory: 100, MaxKept: 5}, terminal.OpenOptions{Agents: 3}, warm.Room{MaxMemory: 100 << 20, MaxProcesses: 5}},
	} {
		tc.open.Config.Protocols = config.Protocols{acp.Name: &tc.set}
		got := acp.New(tc.open).Agents.Limits()
		if got.Keys = nil; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v, %+v: %+v, want %+v", tc.set, tc.open, got, tc.want)
		}
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
