package acp_test

import (
	"reflect"
	"testing"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/warm"
)

func TestAgentsAreKeptAsFarAsThereIsMemory(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "", func(c *config.Terminal) { settings(c).KeptMemory = 1 }) // each agent has more
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
		got := acp.New(tc.open).Agents.Room
		if got.Keys = nil; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v, %+v: %+v, want %+v", tc.set, tc.open, got, tc.want)
		}
	}
}
