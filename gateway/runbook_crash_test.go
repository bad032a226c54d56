package gateway_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
)

// mixedRunbook has a step of each type that needs no tools. The command of the third step always
// fails.
const mixedRunbook = "# Mixed\n\n" +
	"## Build\n\nBuild it.\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> built\"}}}\n```\n" +
	"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\",\"approvals\":2}}}\n```\n" +
	"## Check\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> checked; false\"}}}\n```\n" +
	"## Report\n\nSay what you did.\n\n```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":12}}}\n```\n" +
	"## Clean up\n\nRemove what is left.\n"

// firstLine is an agent that answers with the first line of what it is told.
const firstLine = `echo x >> prompted; read -r line; text=${line#*\"text\":\"}; text=${text%%\\n*}; echo "{\"type\":\"message\",\"text\":\"$text\"}"`

// mixedTimes is how often a run of mixedRunbook executes the commands of its steps and prompts the
// agent when nothing goes wrong.
var mixedTimes = map[string]int{"built": 1, "checked": 4, "prompted": 6}

// approvers are people who press a button of each message once: ann and bob approve,
// a step that has failed 3 times is tried again, and later skipped; what was interrupted is run
// again.
type approvers struct {
	t     *testing.T
	net   *gatewaytest.Network
	chat  string
	seen  map[string]bool // IDs of messages
	again int             // how often something was run again
}

// newMessages returns the messages that the people have not handled yet.
func (p *approvers) newMessages(calls []gatewaytest.Call) (all []gatewaytest.Call) {
	for _, c := range calls {
		if len(c.Buttons) > 0 && c.Kind != string(channels.Progress) && !p.seen[c.ID] {
			all = append(all, c)
		}
	}
	return all
}

func (p *approvers) respond(c gatewaytest.Call) {
	p.seen[c.ID] = true
	switch {
	case strings.Contains(c.Text, "2 people have to approve."):
		p.net.UserPresses(p.chat, "ann", c.Buttons[0])
		p.net.UserPresses(p.chat, "bob", c.Buttons[0])
	case strings.Contains(c.Text, "Step 3 has failed 3 times."):
		p.net.UserPresses(p.chat, "ann", c.Buttons[0])
	case strings.Contains(c.Text, "Step 3 has failed 4 times."):
		p.net.UserWrites(p.chat, "bob", "/run skip it is broken")
	case strings.Contains(c.Text, "I was restarted while working on this."):
		p.again++
		p.net.UserPresses(p.chat, "ann", c.Buttons[0])
	case strings.HasPrefix(c.Text, "Queued"):
	default:
		p.t.Errorf("nobody knows what to do about %q", c.Text)
	}
}

// runApprovers are approvers in chat 1 of a fixture.
type runApprovers struct {
	approvers
	r *fixture
}

func newRunApprovers(fx *fixture) *runApprovers {
	return &runApprovers{approvers{t: fx.t, net: fx.net, chat: "1", seen: map[string]bool{}}, fx}
}

// isReport reports whether a message is the end of a run.
func isReport(c gatewaytest.Call) bool {
	return strings.Contains(c.Text, "The run is complete.") && c.Kind == string(channels.Answer)
}

func hasFiles(c gatewaytest.Call) bool { return len(c.Files) > 0 }

// completeRun handles messages until the run ends, and restarts the gateway if it crashes.
func (p *runApprovers) completeRun(m *crashingStore) (crashed bool) {
	p.r.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; {
		calls, _ := p.r.net.Await("1", 5*time.Millisecond, func(calls []gatewaytest.Call) bool {
			return len(p.newMessages(calls)) > 0
		})
		for _, c := range p.newMessages(calls) {
			p.respond(c)
		}
		switch {
		case !crashed && m.hasCrashed():
			p.r.awaitCrash()
			crashed = true
			p.r.startCrashing(storeWrite{})
		case slices.ContainsFunc(calls, isReport) && slices.ContainsFunc(calls, hasFiles) && p.isIdle():
			return crashed
		case time.Now().After(deadline):
			p.r.t.Fatalf("the run does not end; the chat was shown %q; logged %v", texts(calls), p.r.logs.All())
		}
	}
}

// isIdle reports whether the gateway has nothing to do.
func (p *runApprovers) isIdle() bool {
	taken, _ := p.r.net.Acknowledged()
	if taken < p.r.net.Updates() || countSending(p.r.t, filepath.Join(p.r.dir, ".nanobot")) > 0 {
		return false
	}
	inbounds, err := p.r.store.Recent(p.r.t.Context(), channels.Chat{Channel: "net", ID: "1"}, 50)
	for _, i := range inbounds {
		if i.Ended.IsZero() {
			return false
		}
	}
	return err == nil
}

// newMixedRunFixture is a fixture for runs of mixedRunbook.
func newMixedRunFixture(t *testing.T) *fixture {
	t.Helper()
	fx := newRunbookFixture(t, firstLine, map[string]string{"mixed": mixedRunbook})
	fx.net.Idempotent = true
	return fx
}

func TestAKillAtAnyWriteOfARunLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	fx := newMixedRunFixture(t)
	m := fx.startCrashing(storeWrite{})
	fx.net.UserWrites("1", "ann", "/run mixed")
	p := newRunApprovers(fx)
	p.completeRun(m)
	p.checkRun()
	fx.stop()
	var writes []storeWrite
	for _, method := range slices.Sorted(maps.Keys(m.count)) {
		for i := range m.count[method] {
			writes = append(writes, storeWrite{method, i + 1, false}, storeWrite{method, i + 1, true})
		}
	}
	for i, at := range writes {
		if !killtest.IsLong() && i%41 != 0 {
			continue
		}
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			fx := newMixedRunFixture(t)
			m := fx.startCrashing(at)
			fx.net.UserWrites("1", "ann", "/run mixed")
			p := newRunApprovers(fx)
			p.completeRun(m)
			p.checkRun()
		})
	}
}

// checkRun checks the result of the only run of chat 1.
func (p *runApprovers) checkRun() {
	fx := p.r
	fx.t.Helper()
	calls := fx.net.Sent("1")
	count := func(is func(gatewaytest.Call) bool) (n int) {
		for _, c := range calls {
			if is(c) {
				n++
			}
		}
		return n
	}
	wanttest.Equal(fx.t, "the report came … times:", count(isReport), 1)
	wanttest.Equal(fx.t, "the document came … times:", count(hasFiles), 1)
	wanttest.Equal(fx.t, "the agent's answers came … times:", count(func(c gatewaytest.Call) bool { return strings.HasPrefix(c.Text, "Runbook ") }), mixedTimes["prompted"])
	_, records := fx.awaitReport("1", "The run is complete.")
	want := []string{"1 success gateway", "2 success net:", "3 skipped net:bob", "4 success agent"}
	if len(records) == len(want) {
		for i, got := range provenBy(records) {
			if !strings.HasPrefix(got, want[i]) {
				fx.t.Errorf("record %d is %q", i, got)
			}
		}
		if approved := string(records[1].UserInput); strings.Count(approved, `"by":"net:ann"`) != 1 || strings.Count(approved, `"by":"net:bob"`) != 1 {
			fx.t.Errorf("the approvals are %s", approved)
		}
	} else {
		fx.t.Errorf("the records are %q", provenBy(records))
	}
	runs, err := runbook.Runs{Records: fx.store}.List(fx.t.Context(), "")
	if err != nil || len(runs) != 1 {
		fx.t.Errorf("there are %d runs: %v", len(runs), err)
	}
	for name, want := range mixedTimes {
		if n := fx.countLines(name); n < want || n > want+p.again {
			fx.t.Errorf("%s %d times, with %d interruptions", name, n, p.again)
		}
	}
	if n := count(func(c gatewaytest.Call) bool {
		return strings.Contains(c.Text, "not open any more") || c.Text == "There is no step here that can be skipped or commented on now."
	}); n > 0 {
		fx.t.Errorf("the chat was shown %q", texts(calls))
	}
	if fx.t.Failed() {
		fx.t.Logf("the chat was shown %q", texts(calls))
	}
}

// countLines counts the lines of a file in the workspace.
func (fx *fixture) countLines(name string) int { return strings.Count(fx.workspaceFile(name), "\n") }

// lateFinishStore is a store on which turns end only when the gateway has crashed.
type lateFinishStore struct {
	*crashingStore
	crashed chan struct{}
}

func (s lateFinishStore) Finish(ctx context.Context, id int64, state store.State, o store.Outcome, with ...int64) (bool, error) {
	<-s.crashed
	return s.crashingStore.Finish(ctx, id, state, o, with...)
}

// answerCrashStore is a store whose gateway crashes when an answer of the agent is stored.
type answerCrashStore struct{ *crashingStore }

func (s answerCrashStore) Enqueue(ctx context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	delivery, claimed, err := s.crashingStore.Enqueue(ctx, outbound)
	if err == nil && strings.HasPrefix(outbound.Parts[0].Text, "Runbook ") {
		err = s.write("answer", func() error { return nil })
	}
	return delivery, claimed, err
}

// TestTwoKillsAroundAnAnswerExecuteAStepOnce kills a gateway when a question was answered whose
// turn has not ended, and once more when the agent has answered the next step.
func TestTwoKillsAroundAnAnswerExecuteAStepOnce(t *testing.T) {
	t.Parallel()
	fx := newMixedRunFixture(t)
	crashed := make(chan struct{})
	fx.abandonAfter = 10 * time.Millisecond
	fx.wrapStore = func(s store.Store) store.Store {
		return lateFinishStore{&crashingStore{
			Store: s, at: storeWrite{"Receive", 3, true}, count: map[string]int{},
			crash: func() { close(crashed); fx.crash(store.ErrUnusable) },
		}, crashed}
	}
	fx.start()
	fx.net.UserWrites("1", "ann", "/run mixed")
	p := newRunApprovers(fx)
	calls, _ := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool { return len(p.newMessages(calls)) > 0 })
	p.respond(p.newMessages(calls)[0])
	fx.awaitCrash()
	var m *crashingStore
	fx.wrapStore = func(s store.Store) store.Store {
		m = &crashingStore{
			Store: s, at: storeWrite{"answer", 1, true}, count: map[string]int{},
			crash: func() { fx.crash(store.ErrUnusable) },
		}
		return answerCrashStore{m}
	}
	fx.start()
	if !p.completeRun(m) {
		t.Error("the gateway has crashed only once")
	}
	p.checkRun()
}
