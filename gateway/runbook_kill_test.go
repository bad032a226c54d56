package gateway_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// runChat is a chat in which people run one runbook after the other.
type runChat struct {
	approvers
	begun int
}

// countMessages counts the messages of the chat that match a condition.
func (c *runChat) countMessages(so func(gatewaytest.Call) bool) (n int) {
	for _, call := range c.net.Sent(c.chat) {
		if so(call) {
			n++
		}
	}
	return n
}

// ended reports whether the chat was told the end of all runs.
func (c *runChat) ended() bool {
	return c.countMessages(isReport) == c.begun && c.countMessages(hasFiles) == c.begun
}

// pressOpen presses a button of each open question.
func (c *runChat) pressOpen() {
	for _, call := range c.newMessages(c.net.Sent(c.chat)) {
		c.respond(call)
	}
}

// TestKillingTheDaemonDuringRunsLosesAndRepeatsNothing kills a daemon with SIGKILL again and again
// while people execute runbooks in three chats. With NANOBOT_LONG=1 there are 150 kills.
func TestKillingTheDaemonDuringRunsLosesAndRepeatsNothing(t *testing.T) {
	kills := killtest.Rounds(t, 4, 150)
	net := gatewaytest.NewNetwork()
	t.Cleanup(net.Close)
	net.Idempotent = true
	dir, folder := t.TempDir(), t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(folder, "mixed.md"), []byte(mixedRunbook), 0o600))
	chooseState(t, filepath.Join(dir, ".nanobot"))
	spec := daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: firstLine, OnCrash: "report", Runbooks: folder,
		Networks: []networkSpec{{Name: "net", URL: net.URL, Idempotent: true}},
	}
	var chats []*runChat
	for i := range 3 {
		chats = append(chats, &runChat{approvers: approvers{t: t, net: net, chat: strconv.Itoa(i), seen: map[string]bool{}}})
	}
	seed := killtest.Seed()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	})
	killtest.KillLoop{
		Random: rand.New(rand.NewPCG(seed, 0)), Kills: kills, Killed: func() {},
		Write: func(random *rand.Rand) {
			c := chats[random.IntN(len(chats))]
			if c.pressOpen(); c.ended() {
				c.begun++
				net.UserWrites(c.chat, "ann", "/run mixed")
			}
		},
		Start: func() (*killtest.Child, func() bool) {
			_, polls := net.Acknowledged()
			spec.Number++
			return startDaemon(t, spec), func() bool { _, now := net.Acknowledged(); return now > polls }
		},
	}.Run(t)
	last := startDaemon(t, spec)
	for _, c := range chats {
		for deadline := time.Now().Add(testTimeout); !c.ended(); time.Sleep(5 * time.Millisecond) {
			if c.pressOpen(); time.Now().After(deadline) {
				log, _ := os.ReadFile(filepath.Join(dir, "log"))
				t.Fatalf("chat %s was shown %q; the daemons logged:\n%s", c.chat, texts(net.Sent(c.chat)), log)
			}
		}
	}
	if err := last.End(); err != nil {
		t.Error(err)
	}
	checkRunsAfterKills(t, dir, chats)
}

// checkRunsAfterKills checks the results of the runs of all chats.
func checkRunsAfterKills(t *testing.T, dir string, chats []*runChat) {
	t.Helper()
	begun, again := 0, 0
	for _, c := range chats {
		begun, again = begun+c.begun, again+c.again
		answers := c.countMessages(func(call gatewaytest.Call) bool { return strings.HasPrefix(call.Text, "Runbook ") })
		late := c.countMessages(func(call gatewaytest.Call) bool { return strings.Contains(call.Text, "not open any more") })
		if answers != c.begun*mixedTimes["prompted"] || late > 0 || !c.ended() {
			t.Errorf("of %d runs chat %s was shown %d answers and %q", c.begun, c.chat, answers, texts(c.net.Sent(c.chat)))
		}
	}
	for name, times := range mixedTimes {
		content, _ := os.ReadFile(filepath.Join(dir, name))
		if n := strings.Count(string(content), "\n"); n < times*begun || n > times*begun+again {
			t.Errorf("%s %d times in %d runs with %d interruptions", name, n, begun, again)
		}
	}
	s := musttest.Get(openState(t.Context(), filepath.Join(dir, ".nanobot")))(t)
	defer s.Close()
	runs, err := runbook.Runs{Records: s}.List(t.Context(), "")
	if err != nil || len(runs) != begun {
		t.Errorf("there are %d runs, not %d: %v", len(runs), begun, err)
	}
	for _, run := range runs {
		if _, err := runbook.Verify(run.Export()); err != nil || run.Status != runbook.Complete || len(run.Records) != 4 {
			t.Errorf("run %s is %s with %d records: %v", run.ID, run.Status, len(run.Records), err)
		}
	}
	t.Logf("%d runs, %d interruptions", begun, again)
}
