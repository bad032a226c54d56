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

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// twoMembers writes the configs of a member without labels and of one that has the label of the
// agent, and returns their network.
func twoMembers(t *testing.T, agent string) (api *telegramtest.Server, configs []string) {
	t.Helper()
	url, seed := postgrestest.URL(t), killtest.Seed()
	api = telegramtest.New(t)
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "token"), []byte(api.Token), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(agent), 0o600))
	for name, labels := range map[string]string{"host-a": "", "host-b": `"gpu"`} {
		path := filepath.Join(dir, name+".json")
		musttest.Do(t, os.WriteFile(path, fmt.Appendf(nil, `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true, "labels": ["gpu"]},
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": %q, "allowFrom": ["7"]}},
			"gateway": {"store": %q, "bot": "b%d", "member": {"name": %q, "ttl": 2, "labels": [%s]}, "drainTimeout": 0},
		}`, api.URL, url, seed, name, labels), 0o600))
		showDaemonLog(t, path, seed)
	}
	return api, []string{filepath.Join(dir, "host-a.json"), filepath.Join(dir, "host-b.json")}
}

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
	api, configs := twoMembers(t, `
read -r envelope
case $envelope in
*'"text":"ask"'*) printf '{"type":"ask","id":"q","text":"Which?"}\n'; read -r answer
	printf '{"type":"message","text":"got it"}\n';;
*) printf '{"type":"message","text":"begun"}\n'; sleep 600;;
esac
`)
	shows := func(text string) func() bool {
		return func() bool {
			return slices.ContainsFunc(api.BotMessages(7), func(m telegramtest.Message) bool {
				return strings.Contains(m.TextOrCaption(), text)
			})
		}
	}
	await := func(what string, ready func() bool) {
		t.Helper()
		for deadline := time.Now().Add(waitTimeout); !ready(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it did not happen: %s", what)
			}
		}
	}
	a := startDaemon(t, configs[0])
	await("host-a leads", func() bool {
		return slices.Equal(listMembersJSON(t, configs[0])["host-a"].Receives, []string{"telegram"})
	})
	b := startDaemon(t, configs[1])
	api.UserSends(7, "ask")
	await("the question", shows("Which?"))
	running := listMembersJSON(t, configs[1])
	wanttest.Equal(t, "turns on the member with the label", running["host-b"].Running, 1)
	wanttest.Equal(t, "turns on the other", running["host-a"].Running, 0)
	api.UserSends(7, "this one")
	await("the answer", shows("got it"))
	api.UserSends(7, "work")
	await("the turn", shows("begun"))
	api.UserSends(7, "/stop")
	await("the end of the turn", func() bool { return listMembersJSON(t, configs[0])["host-b"].Running == 0 })
	mustRunProgram(t, "drain", "host-a", "--config", configs[0])
	await("host-b leads", func() bool { return len(listMembersJSON(t, configs[0])["host-b"].Receives) == 1 })
	wanttest.Equal(t, "the drained member", listMembersJSON(t, configs[0])["host-a"].State, store.Draining)
	api.UserSends(7, "ask")
	await("an answer through the new leader", func() bool { return len(api.BotMessages(7)) > 4 })
	musttest.Do(t, a.End())
	musttest.Do(t, b.End())
}

func TestAMessageThatWaitsToBeSentIsSentByAnotherMember(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*killtest.Child){
		"of a killed one": (*killtest.Child).Kill, "of one that was stopped": func(c *killtest.Child) { _ = c.End() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, configs := twoMembers(t, `printf '{"type":"message","text":"late"}\n'`)
			startDaemon(t, configs[0])
			b := startDaemon(t, configs[1])
			api.FailNext("sendMessage", telegramtest.RateLimited(5))
			api.UserSends(7, "hi")
			for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
				log, _ := os.ReadFile(configs[1] + ".log")
				if strings.Contains(string(log), "will retry") && strings.Contains(string(log), "429") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("nothing was refused: %s", log)
				}
			}
			end(b) // and it does not come back
			api.WaitForText(t, 7, "late")
		})
	}
}
