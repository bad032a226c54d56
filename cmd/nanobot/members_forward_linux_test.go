package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// twoMembers are a member without labels and one that has the label of the agent. Their leases are
// so long that only a test ends them.
type twoMembers struct {
	t       *testing.T
	api     *telegramtest.Server
	configs []string
	daemons []*killtest.Child
	schema  string
	server  *pgx.ConnConfig
}

// newTwoMembers writes the configs.
func newTwoMembers(t *testing.T, agent string) *twoMembers {
	t.Helper()
	url, seed := postgrestest.URL(t), killtest.Seed()
	api, dir := telegramtest.New(t), t.TempDir()
	m := &twoMembers{t: t, api: api, schema: fmt.Sprint("nanobot_b", seed), server: musttest.Get(pgx.ParseConfig(url))(t)}
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "token"), []byte(api.Token), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(agent), 0o600))
	for _, c := range []struct{ name, labels string }{{"host-a", ""}, {"host-b", `"gpu"`}} {
		path := filepath.Join(dir, c.name+".json")
		musttest.Do(t, os.WriteFile(path, fmt.Appendf(nil, `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true, "labels": ["gpu"]},
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": %q, "allowFrom": ["7"]}},
			"gateway": {"store": %q, "bot": "b%d", "member": {"name": %q, "ttl": 60, "labels": [%s]}, "drainTimeout": 0},
		}`, api.URL, url, seed, c.name, c.labels), 0o600))
		showDaemonLog(t, path, seed)
		m.configs = append(m.configs, path)
	}
	return m
}

// start starts the next member.
func (m *twoMembers) start() *killtest.Child {
	m.t.Helper()
	daemon := startDaemon(m.t, m.configs[len(m.daemons)])
	m.daemons = append(m.daemons, daemon)
	return daemon
}

// hint has the members renew their leases and look for work at once, as they do each quarter of a
// lease.
func (m *twoMembers) hint() {
	m.t.Helper()
	postgrestest.Exec(m.t, m.server, fmt.Sprintf("SELECT pg_notify('%s', '')", m.schema))
}

// await waits until something has happened while the members run.
func (m *twoMembers) await(what string, happened func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(waitTimeout); !happened(); time.Sleep(20 * time.Millisecond) {
		checkRunning(m.t, m.daemons, m.configs...)
		if time.Now().After(deadline) {
			m.t.Fatalf("it did not happen: %s", what)
		}
	}
}

// shown returns how many messages in the chat of user 7 show a text.
func (m *twoMembers) shown(text string) (n int) {
	for _, m := range m.api.BotMessages(7) {
		if strings.Contains(m.TextOrCaption(), text) {
			n++
		}
	}
	return n
}

// shows reports whether a message in the chat of user 7 shows a text.
func (m *twoMembers) shows(text string) bool { return m.shown(text) > 0 }

// listMembersJSON returns what nanobot members says, by name; nil before a daemon has made the
// state.
func listMembersJSON(t *testing.T, cfg string) map[string]listedMember {
	t.Helper()
	out, status := runProgram(t, "members", "--json", "--config", cfg)
	if status != 0 {
		return nil
	}
	var all []listedMember
	musttest.Do(t, json.Unmarshal([]byte(out), &all))
	byName := map[string]listedMember{}
	for _, m := range all {
		byName[m.Name] = m
	}
	return byName
}

func TestStopAndAnswersReachTheMemberThatRunsTheTurn(t *testing.T) {
	t.Parallel()
	m := newTwoMembers(t, `
read -r envelope
case $envelope in
*'"text":"ask"'*) printf '{"type":"ask","id":"q","text":"Which?"}\n'; read -r answer
	printf '{"type":"message","text":"got it"}\n';;
*) printf '{"type":"message","text":"begun"}\n'; sleep 600;;
esac
`)
	list := func() map[string]listedMember { return listMembersJSON(t, m.configs[0]) }
	a := m.start()
	m.await("host-a leads", func() bool { return slices.Equal(list()["host-a"].Receives, []string{"telegram"}) })
	b := m.start()
	m.api.UserSends(7, "ask")
	m.await("the question", func() bool { return m.shows("Which?") })
	running := listMembersJSON(t, m.configs[1])
	wanttest.Equal(t, "turns on the member with the label", running["host-b"].Running, 1)
	wanttest.Equal(t, "turns on the other", running["host-a"].Running, 0)
	m.api.UserSends(7, "this one")
	m.await("the answer", func() bool { return m.shows("got it") })
	m.api.UserSends(7, "work")
	m.await("the turn", func() bool { return m.shows("begun") })
	m.api.UserSends(7, "/stop")
	m.await("the end of the turn", func() bool { return list()["host-b"].Running == 0 })
	mustRunProgram(t, "drain", "host-a", "--config", m.configs[0])
	m.await("host-b leads", func() bool {
		m.hint()
		return len(list()["host-b"].Receives) == 1
	})
	wanttest.Equal(t, "the drained member", list()["host-a"].State, store.Draining)
	m.api.UserSends(7, "ask")
	m.await("the question through the new leader", func() bool { return m.shown("Which?") == 2 })
	musttest.Do(t, a.End())
	musttest.Do(t, b.End())
}

func TestAMessageThatWaitsToBeSentIsSentByAnotherMember(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*twoMembers, *killtest.Child){
		"of a killed one": func(m *twoMembers, c *killtest.Child) {
			c.Kill()
			postgrestest.Exec(t, m.server, "UPDATE "+m.schema+".member SET lease = 1 WHERE name = 'host-b'") // it has ended
			m.hint()
		},
		"of one that was stopped": func(_ *twoMembers, c *killtest.Child) { _ = c.End() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTwoMembers(t, `printf '{"type":"message","text":"late"}\n'`)
			m.start()
			b := m.start()
			m.api.FailNext("sendMessage", telegramtest.RateLimited(5))
			m.api.UserSends(7, "hi")
			m.await("the refusal", func() bool {
				log, _ := os.ReadFile(m.configs[1] + ".log")
				return strings.Contains(string(log), "will retry") && strings.Contains(string(log), "429")
			})
			m.daemons = m.daemons[:1]
			end(m, b) // and it does not come back
			m.await("the answer", func() bool { return m.shows("late") })
		})
	}
}
