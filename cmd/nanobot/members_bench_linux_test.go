package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// benchMembers are members of one bot, from the binary as it is released, on a server of their own
// and a Telegram on loopback.
type benchMembers struct {
	b      *testing.B
	binary string
	dir    string // the workspace
	api    *telegramtest.Server
	alive  map[string]*killtest.Child
}

// newBenchMembers writes the configs of members, whose names and labels are the same.
func newBenchMembers(b *testing.B, binary, terminal string, ttl int, names ...string) *benchMembers {
	b.Helper()
	_, url := postgrestest.StartTCP(b)
	m := &benchMembers{b: b, binary: binary, dir: b.TempDir(), api: telegramtest.New(b), alive: map[string]*killtest.Child{}}
	musttest.Do(b, os.WriteFile(filepath.Join(m.dir, "token"), []byte(m.api.Token), 0o600))
	for _, name := range names {
		musttest.Do(b, os.WriteFile(m.config(name), fmt.Appendf(nil, `{
			%s,
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": %q, "allowFrom": ["*"]}},
			"gateway": {"store": %q, "bot": "bench", "member": {"name": %q, "ttl": %d, "labels": [%q]},
				"maxConcurrent": 4, "onCrash": "retry"},
		}`, terminal, m.api.URL, url, name, ttl, name), 0o600))
	}
	return m
}

func (m *benchMembers) config(name string) string { return filepath.Join(m.dir, name+".json") }

// start starts members one after the other, and waits until the first one receives.
func (m *benchMembers) start(names ...string) {
	m.b.Helper()
	for _, name := range names {
		m.alive[name] = startRelease(m.b, m.binary, m.config(name))
		m.await(name+" is up", func() bool { return m.states()[name] == store.Up })
		m.api.AwaitPoll(m.b)
	}
}

// end ends members in an orderly way.
func (m *benchMembers) end(names ...string) {
	m.b.Helper()
	for _, name := range names {
		musttest.Do(m.b, m.alive[name].End())
	}
}

// states returns the states of the members by their names.
func (m *benchMembers) states() map[string]store.MemberState {
	all, _ := filepath.Glob(filepath.Join(m.dir, "*.json"))
	cmd := exec.Command(m.binary, "members", "--json", "--config", all[0])
	cmd.Env = environWithoutTestSettings()
	out, _ := cmd.Output() // there may be no state yet
	var listed []listedMember
	_ = json.Unmarshal(out, &listed)
	states := map[string]store.MemberState{}
	for _, one := range listed {
		states[one.Name] = one.State
	}
	return states
}

// await waits until something has happened, and returns when it had.
func (m *benchMembers) await(what string, happened func() bool) time.Time {
	m.b.Helper()
	for deadline := time.Now().Add(waitTimeout); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			m.b.Fatalf("it did not happen: %s", what)
		}
	}
	return time.Now()
}

// lines returns how many lines the agents have written into a file.
func (m *benchMembers) lines(name string) int {
	content, _ := os.ReadFile(filepath.Join(m.dir, name))
	return strings.Count(string(content), "\n")
}

// countShown returns how many messages of a chat contain a text.
func (m *benchMembers) countShown(chat int64, text string) (n int) {
	for _, shown := range m.api.BotMessages(chat) {
		if strings.Contains(shown.TextOrCaption(), text) {
			n++
		}
	}
	return n
}

// reportSeconds reports the median and the longest of some times.
func reportSeconds(b *testing.B, what string, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2].Seconds(), what+"-s")
	b.ReportMetric(all[len(all)-1].Seconds(), what+"-max-s")
}

// askingBenchAgent asks, writes down that it has the answer, and works until it is stopped.
const askingBenchAgent = `read -r envelope
printf '{"type":"ask","id":"q","text":"Which?"}\n'
read -r answer
echo $$ >>answered
exec sleep 600
`

// BenchmarkMembersStop reports the time from an answer and from /stop to their effect in the agent,
// whose turn is run by the member that does not receive, alternating with the one that does. An
// answer waits for 150 ms for what belongs to it. Budget: 1 s.
func BenchmarkMembersStop(b *testing.B) {
	const rounds = 10
	m := newBenchMembers(b, buildBinary(b), `"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true,
		"labels": ["host-b"]}, "agents": {"near": {"command": "sh agent.sh", "protocol": "rich", "interactive": true,
		"labels": ["host-a"]}}, "routes": [{"match": {"user": "8"}, "agent": "near"}]`, 10, "host-a", "host-b")
	musttest.Do(b, os.WriteFile(filepath.Join(m.dir, "agent.sh"), []byte(askingBenchAgent), 0o600))
	m.start("host-a", "host-b")
	answers, stops := map[string][]time.Duration{}, map[string][]time.Duration{}
	for b.Loop() {
		for n := range 2 * rounds {
			where, chat := "beside", int64(7)
			if n%2 == 1 {
				where, chat = "own", 8
			}
			answered, asked := m.lines("answered"), m.countShown(chat, "Which?")
			m.api.UserSends(chat, "work")
			m.await("the question", func() bool { return m.countShown(chat, "Which?") > asked })
			began := time.Now()
			m.api.UserSends(chat, "this one")
			at := m.await("the answer", func() bool { return m.lines("answered") > answered })
			answers[where] = append(answers[where], at.Sub(began))
			all := strings.Fields(string(musttest.Get(os.ReadFile(filepath.Join(m.dir, "answered")))(b)))
			pid := musttest.Get(strconv.Atoi(all[len(all)-1]))(b)
			began = time.Now()
			m.api.UserSends(chat, "/stop")
			at = m.await("the end", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
			stops[where] = append(stops[where], at.Sub(began))
		}
	}
	for _, where := range []string{"beside", "own"} {
		reportSeconds(b, "answer-"+where, answers[where])
		reportSeconds(b, "stop-"+where, stops[where])
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMembersTakeover reports the time from kill -9 of the member that receives and runs a
// turn, until another member has received a message, and runs that turn again. Budget: ttl + 2 s.
func BenchmarkMembersTakeover(b *testing.B) {
	binary := buildBinary(b)
	for _, of := range []struct{ ttl, rounds int }{{2, 8}, {10, 3}} {
		b.Run(fmt.Sprintf("ttl=%d", of.ttl), func(b *testing.B) {
			m := newBenchMembers(b, binary, `"terminal": {"command": "sh agent.sh", "protocol": "rich"}`, of.ttl, "host-a", "host-b")
			musttest.Do(b, os.WriteFile(filepath.Join(m.dir, "agent.sh"), []byte(`
				read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
				echo "$text" >>"$text.began"
				while [ ! -e "$text.end" ]; do sleep 0.02; done
				echo '{"type":"message","text":"hi"}'`), 0o600))
			m.start("host-a")
			var received, again []time.Duration
			for b.Loop() {
				for n := range of.rounds {
					lead, other, text := "host-a", "host-b", fmt.Sprint("turn", n)
					if n%2 == 1 {
						lead, other = other, lead
					}
					m.api.UserSends(int64(100+n), text)
					m.await("the turn", func() bool { return m.lines(text+".began") == 1 })
					m.start(other) // it did not run that turn
					m.alive[lead].Kill()
					began := time.Now()
					m.api.UserSends(1, "ended")
					received = append(received, m.await("the receipt", func() bool { return m.api.PendingUpdates() == 0 }).Sub(began))
					again = append(again, m.await("the turn again", func() bool { return m.lines(text+".began") == 2 }).Sub(began))
					musttest.Do(b, os.WriteFile(filepath.Join(m.dir, text+".end"), nil, 0o600))
					musttest.Do(b, os.WriteFile(filepath.Join(m.dir, "ended.end"), nil, 0o600))
					m.await("both answers", func() bool { return len(m.api.BotMessages(int64(100+n))) > 0 && len(m.api.BotMessages(1)) > n })
				}
			}
			reportSeconds(b, "received", received)
			reportSeconds(b, "again", again)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMembersThroughput reports how many turns a second three members run of agents that wait
// for 1 s, against one, alternating. Budget: 2.5 times as many.
func BenchmarkMembersThroughput(b *testing.B) {
	const rounds, chats = 3, 60
	names := []string{"host-a", "host-b", "host-c"}
	m := newBenchMembers(b, buildBinary(b), `"terminal": {"command": "sh agent.sh", "protocol": "rich"}`, 10, names...)
	musttest.Do(b, os.WriteFile(filepath.Join(m.dir, "agent.sh"), []byte("read -r line; sleep 1; echo end >>done\n"), 0o600))
	rates := map[int][]float64{}
	for b.Loop() {
		for range rounds {
			for _, count := range []int{1, len(names)} {
				m.start(names[:count]...)
				ended := m.lines("done")
				began := time.Now()
				for chat := range int64(chats) {
					m.api.UserSends(100+chat, "hello")
				}
				took := m.await("the turns", func() bool { return m.lines("done") == ended+chats }).Sub(began)
				rates[count] = append(rates[count], chats/took.Seconds())
				m.end(names[:count]...)
			}
		}
	}
	median := func(count int) float64 {
		slices.SortFunc(rates[count], cmp.Compare)
		return rates[count][len(rates[count])/2]
	}
	b.ReportMetric(median(1), "turns/s-of-one")
	b.ReportMetric(median(len(names)), "turns/s-of-three")
	b.ReportMetric(median(len(names))/median(1), "three/one")
	b.ReportMetric(0, "ns/op")
}
