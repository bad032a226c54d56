package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// beyondLease is how long a member is cut off or suspended.
const beyondLease = memberTTL + memberTTL/5

// memberDisturbances are what happens to a member. half is a random duration of up to half a
// second.
var memberDisturbances = []struct {
	name   string
	happen func(s *cluster, m *member, half time.Duration)
}{
	{"killed", func(s *cluster, m *member, half time.Duration) {
		m.run.Load().kill()
		time.Sleep(half)
		s.start(m)
	}},
	{"killed within 500 ms of a start", func(s *cluster, m *member, half time.Duration) {
		m.run.Load().kill()
		s.start(m)
		time.Sleep(half)
		m.run.Load().kill()
		s.start(m)
	}},
	{"cut off from the database", func(_ *cluster, m *member, half time.Duration) { m.cutDatabase(true, noDirection, half) }},
	{"not heard by the database", func(_ *cluster, m *member, half time.Duration) { m.cutDatabase(false, toServer, half) }},
	{"not told by the database", func(_ *cluster, m *member, half time.Duration) { m.cutDatabase(false, toClient, half) }},
	{"cut off from the networks", func(_ *cluster, m *member, half time.Duration) { m.cutNetworks(true, noDirection, half) }},
	{"not heard by the networks", func(_ *cluster, m *member, half time.Duration) { m.cutNetworks(false, toServer, half) }},
	{"not told by the networks", func(_ *cluster, m *member, half time.Duration) { m.cutNetworks(false, toClient, half) }},
	{"suspended", (*cluster).suspend},
	{"drained", (*cluster).drain},
}

// cutDatabase disturbs the links to the database for longer than the lease.
func (m *member) cutDatabase(cut bool, silent direction, half time.Duration) {
	m.run.Load().disturbed.Store(true)
	setLinks(m.database, cut, silent)
	time.Sleep(beyondLease + half)
	setLinks(m.database, false, noDirection)
}

// cutNetworks disturbs the links to the networks for longer than the lease.
func (m *member) cutNetworks(cut bool, silent direction, half time.Duration) {
	setLinks(m.networks, cut, silent)
	time.Sleep(beyondLease + half)
	setLinks(m.networks, false, noDirection)
}

func setLinks(all []*memberLink, cut bool, silent direction) {
	for _, l := range all {
		l.set(cut, silent)
	}
}

// suspend suspends a member with its agents, as a suspended machine does, for longer than the
// lease. When it continues, it exits.
func (s *cluster) suspend(m *member, half time.Duration) {
	r := m.run.Load()
	ready := r.isReady()
	r.disturbed.Store(true)
	r.suspended.Store(true)
	all := []int{r.cmd.Process.Pid}
	_ = syscall.Kill(all[0], syscall.SIGSTOP)
	for i := 0; i < len(all); i++ {
		_ = syscall.Kill(all[i], syscall.SIGSTOP)
		all = append(all, childrenOf(all[i])...)
	}
	time.Sleep(beyondLease + half)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	if !ready {
		return // it may have no lease yet
	}
	select {
	case <-r.done:
		if status := r.cmd.ProcessState.ExitCode(); status != exit.NoLease {
			s.t.Errorf("%s was suspended beyond its lease and ended with %s", r.name, r.cmd.ProcessState)
		}
	case <-time.After(waitTimeout):
		s.t.Errorf("%s was suspended beyond its lease and goes on", r.name)
	}
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) (all []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range threads {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			all = append(all, child)
		}
	}
	return all
}

// drain drains a member and restarts it.
func (s *cluster) drain(m *member, half time.Duration) {
	out, status := runProgram(s.t, "drain", m.name, "--config", m.cfg)
	r := m.run.Load()
	if status != 0 && !r.disturbed.Load() && !strings.Contains(out, "no live member") {
		s.t.Errorf("drain has ended with %d: %s", status, out)
	}
	time.Sleep(half)
	young := !r.isReady() // it may not listen to signals yet
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(waitTimeout):
		s.t.Errorf("%s does not end", r.name)
		r.kill()
	}
	if status := r.cmd.ProcessState.ExitCode(); status != 0 && !young {
		s.checkStatus(r)
	}
	s.start(m)
}

// failOver kills the primary server and promotes the standby.
func (s *cluster) failOver() {
	s.failingOver.Store(true)
	for _, m := range s.members {
		m.run.Load().disturbed.Store(true)
	}
	s.primary.Kill()
	s.execute(s.standby, "SELECT pg_promote()") // returns when it is done
	s.failingOver.Store(false)
	s.counts["failover"]++
}

// execute executes a statement on a server.
func (s *cluster) execute(server *postgrestest.Server, statement string) {
	s.t.Helper()
	c := musttest.Get(pgx.ParseConfig(server.URL()))(s.t)
	postgrestest.Exec(s.t, c, statement)
}

// disturbMembers has a number of things happen to random members, also to two at the same time,
// while people write. In the middle the database fails over.
func (s *cluster) disturbMembers(times int) {
	var order []int
	for i := range times {
		s.ask(time.Duration(s.random.IntN(1000)) * time.Millisecond)
		if i == times/2 {
			s.failOver()
		}
		if len(order) == 0 {
			order = s.random.Perm(len(memberDisturbances))
		}
		d := memberDisturbances[order[0]]
		order = order[1:]
		victims := []*member{s.awaitIdleMember()}
		if strings.HasPrefix(d.name, "killed") && s.random.IntN(2) == 0 {
			victims = append(victims, s.awaitIdleMember())
			s.counts["two killed at the same time"]++
		}
		s.counts[d.name]++
		for _, m := range victims {
			half := time.Duration(s.random.IntN(500)) * time.Millisecond
			s.work.Go(func() {
				defer m.busy.Store(false)
				d.happen(s, m, half)
			})
		}
	}
	s.work.Wait()
}

// awaitIdleMember waits until at most one member is disturbed, and returns a random other one.
func (s *cluster) awaitIdleMember() *member {
	for {
		idle := slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.busy.Load() || m.run.Load().hasEnded() })
		if len(idle) > 1 {
			m := idle[s.random.IntN(len(idle))]
			m.busy.Store(true)
			return m
		}
		s.ask(50 * time.Millisecond)
	}
}
