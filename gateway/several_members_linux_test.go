package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/process"
)

// newSharedACPBot returns a bot whose agent is the scripted agent of the protocol acp.
func newSharedACPBot(t *testing.T, flags string) *sharedBot {
	t.Helper()
	b := newSharedBot(t, acpVariable+"=1 exec "+terminal.ShellQuote(os.Args[0])+" "+flags)
	b.terminal.Protocol = acp.Name
	b.protocol = func(b *sharedBot) terminal.Protocol { return acp.New(terminal.OpenOptions{Config: b.terminal}) }
	return b
}

// awaitAnswers waits until a chat was shown n messages that are no progress, and returns their
// texts.
func (b *sharedBot) awaitAnswers(chat string, n int) []string {
	b.t.Helper()
	calls, ok := b.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) >= n })
	if !ok {
		b.t.Fatalf("chat %s was shown %q, want %d messages", chat, texts(calls), n)
	}
	return texts(calls)
}

func TestPeopleAreToldOnceThatNoMemberCanRunTheirAgent(t *testing.T) {
	t.Parallel()
	const text = "No machine that can do this is up now."
	b := newSharedBot(t, `read -r line; text=${line#*\"text\":\"}; echo "{\"type\":\"message\",\"text\":\"${text%%\"*} by $MEMBER\"}"`)
	b.settings.AllowFrom = map[string][]string{"net": {"u", "v"}}
	b.net.Languages = map[string]string{"v": "de"}
	painter := b.terminal
	painter.Labels = []string{"gpu"}
	b.others = map[string]config.Terminal{"painter": painter}
	first := b.start("host-a")
	b.write("1", "/agent painter")
	b.write("1", "one")
	first.awaitTrue("its offer to cancel", func() bool { return len(b.await("1", text).Buttons) == 1 })
	b.net.UserWrites("2", "v", "/agent painter")
	b.net.UserWrites("2", "v", "eins")
	b.await("2", "Gerade läuft kein Rechner, der das kann.")
	b.write("1", "two")
	b.write("3", "three") // for the default agent
	b.await("3", "three by host-a")
	second := b.start("host-c", "other")
	first.stop()
	b.awaitTrue("the second leader", func() bool { return !second.gw.Standby() })
	b.write("4", "/agent painter") // the second leader tells this one after all others
	b.write("4", "four")
	b.await("4", text)
	b.start("host-b", "gpu")
	b.await("1", "two by host-b")
	wanttest.EqualSlices(t, "what the first chat was shown", b.awaitAnswers("1", 4)[1:], []string{
		text + " Your message waits until one is; /stop all drops it.", "one by host-b", "two by host-b",
	})
	wanttest.Equal(t, "messages of the second chat", len(b.awaitAnswers("2", 3)), 3)
}

func TestAChatStaysWithTheMemberThatHasItsAgent(t *testing.T) {
	t.Parallel()
	b := newSharedACPBot(t, "")
	leader, worker := b.startPair()
	b.write("1", "history")
	wanttest.Equal(t, "at first", b.awaitAnswers("1", 1)[0], "prompts so far: 1")
	worker.awaitEnd("1")
	b.start("host-c", "gpu")
	for n := 2; n <= 5; n++ {
		_, err := leader.gw.Ask(t.Context(), gateway.AutomaticMessage{
			Origin: channels.ByHook("ci"), Chat: channels.Chat{Channel: "net", ID: "1"}, Text: "history",
		})
		musttest.Do(t, err)
		wanttest.Equal(t, "the agent's prompts", b.awaitAnswers("1", n)[n-1], fmt.Sprint("prompts so far: ", n))
		worker.awaitEnd("1")
	}
	wanttest.Equal(t, "the member that has the agent", len(worker.runners[0].IdleAgents()), 1)
}

func TestASessionIsLoadedOnAnotherMemberOrThePersonIsTold(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"-load -dir sessions": "prompts so far: 2", "-load -dir sessions-of-$MEMBER": "prompts so far: 1", "": "prompts so far: 1",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			b := newSharedACPBot(t, flags)
			_, worker := b.startPair()
			b.write("1", "history")
			b.await("1", "prompts so far: 1")
			worker.awaitEnd("1")
			worker.die()
			next := b.start("host-c", "gpu")
			b.write("1", "history")
			next.awaitTrue("the second turn", func() bool { return next.turn("1").In.ID == "m2" && next.awaitEnd("1").ID > 0 })
			var all string
			b.awaitTrue("both answers", func() bool {
				all = strings.Join(texts(b.net.Sent("1")), "|")
				return strings.Count(all, "prompts so far") == 2
			})
			wanttest.Equal(t, "the answer", strings.HasSuffix(all, want), true)
			lost := strings.Count(all, "The earlier conversation could not be resumed; this is a new one.")
			wanttest.Equal(t, "the sentence", lost == 1, want == "prompts so far: 1")
		})
	}
}

// TestANeighboursPersistentAgentSurvivesTheStartOfAMember starts two members on one machine. Only
// with the folder of the first one is the second one its successor.
func TestANeighboursPersistentAgentSurvivesTheStartOfAMember(t *testing.T) {
	t.Parallel()
	for name, survives := range map[string]bool{"folders of their own": true, "the same folder name": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSharedBot(t, `echo $$ >> pids; while read -r line; do echo answer; done`)
			b.protocol = func(*sharedBot) terminal.Protocol { return &persistentProtocol{} }
			first := b.start("host-a")
			b.write("1", "hello")
			b.await("1", "answer")
			first.awaitEnd("1")
			pid := (&fixture{t: t, dir: b.dir}).agentPIDs()[0]
			if first.replaced = !survives; first.replaced {
				musttest.Do(t, os.MkdirAll(b.stateDir("host-b"), 0o700))
				id := musttest.Get(os.ReadFile(filepath.Join(b.stateDir("host-a"), "member-id")))(t)
				musttest.Do(t, os.WriteFile(filepath.Join(b.stateDir("host-b"), "member-id"), id, 0o600))
			}
			b.start("host-b") // returns when the leftover agents were killed
			wanttest.Equal(t, "the agent lives", isAlive(pid), survives)
		})
	}
}

// The process records of the member that died are on its machine, so the agent may have begun.
func TestTheTurnOfADeadMemberCountsAsBegun(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	_, worker := b.startPair()
	b.write("1", "work")
	running := worker.awaitRunning("1")
	b.await("1", "begun")
	musttest.Do(t, worker.store.SetProcess(running.ID, store.Process(process.NewNotStartedRecord())))
	worker.die()
	b.await("1", "I was restarted while working on this.")
	next := b.start("host-c", "gpu")
	wanttest.Equal(t, "the turn", next.awaitEnd("1").State, store.Interrupted)
}

func TestAMemberOfASharedStoreServesNobodyBeforeItsFirstBeat(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, echo)
	leader := b.start("host-a")
	b.awaitTrue("the leader", func() bool { return !leader.gw.Standby() })
	later := gateway.New(gateway.Options{Store: leader.store, Settings: leader.settings, Log: zap.NewNop()})
	wanttest.Equal(t, "another member may lead", later.Standby(), true)
}
