package gateway_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func (fx *fixture) agentPIDs() (pids []int) {
	fx.t.Helper()
	b := musttest.Get(os.ReadFile(filepath.Join(fx.dir, "pids")))(fx.t)
	for line := range strings.FieldsSeq(string(b)) {
		pid, _ := strconv.Atoi(line)
		pids = append(pids, pid)
	}
	return pids
}

func isAlive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// awaitProcessEnd waits until a process has ended.
func awaitProcessEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); isAlive(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives", pid)
		}
	}
}

func TestMemoriesOfAProtocolSurviveARestartAndEndWithNew(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, remembers)
	fx.protocol = &persistentProtocol{}
	fx.start()
	say := func(chat, text, want string) {
		t.Helper()
		before := len(fx.net.Sent(chat))
		fx.net.UserWrites(chat, "u", text)
		calls, ok := fx.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(c) > before })
		if !ok || !strings.HasPrefix(calls[before].Text, want) {
			t.Fatalf("to %q chat %s was shown %q, want %q", text, chat, texts(calls), want)
		}
		fx.awaitIdle(chat)
	}
	say("1", "save session 7", "known: ")
	say("1", "hello", "known: session 7")
	say("2", "hello", "known: ")
	wanttest.Equal(t, "agents were started:", len(fx.agentPIDs()), 1)
	fx.stop()
	awaitProcessEnd(t, fx.agentPIDs()[0])
	fx.protocol = &persistentProtocol{}
	fx.start()
	say("1", "hello", "known: session 7")
	say("1", "/new", "This is a new conversation")
	say("1", "hello", "known: ")
}

func TestMemoriesThatATurnSavesAfterNewAreDropped(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	began, goOn := make(chan struct{}), make(chan struct{})
	known := make(chan string, 1)
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		if tn.Envelope.Text == "first" {
			close(began)
			<-goOn
			tn.Report(terminal.AgentInfo{Line: "of the past"})
			return terminal.Outcome{Status: terminal.Done}, tn.Memory().Save(ctx, terminal.ConversationMemory, "of the past")
		}
		was, err := tn.Memory().Load(ctx, terminal.ConversationMemory)
		known <- was
		return terminal.Outcome{Status: terminal.Done}, err
	})
	fx.start()
	fx.net.UserWrites("1", "u", "first")
	<-began
	fx.net.UserWrites("1", "u", "/new")
	fx.awaitText("1", "This is a new conversation")
	close(goOn)
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "second")
	wanttest.Equal(t, "remembered is", <-known, "")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/status")
	if got := fx.awaitText("1", "Nothing is running."); strings.Contains(got.Text, "past") {
		t.Errorf("the status is %s", got.Text)
	}
}

// menuChannel is a channel that shows the menu of commands.
type menuChannel struct {
	menuReader
	set chan string
}

func (m menuChannel) SetChatMenu(_ context.Context, chat channels.Chat, commands []channels.Command) error {
	line := chat.String()
	for _, c := range commands {
		line += " " + c.Name + "=" + c.Help
	}
	m.set <- line
	return nil
}

func TestAgentInformationIsShownInStatusHelpAndTheMenu(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, remembers)
	fx.protocol = &persistentProtocol{}
	set := make(chan string, 10)
	var read channels.MenuSource
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return menuChannel{menuReader{c, &read}, set} }
	fx.start()
	fx.net.UserWrites("1", "u", "about gpt-x, 12k of 200k tokens /plan /stop /web-search")
	wanttest.Equal(t, "the menu is", <-set, "net:1 plan=does plan web-search=does web-search")
	fx.awaitText("1", "known: ")
	fx.awaitIdle("1")
	check := func() {
		t.Helper()
		n := len(fx.net.Sent("1"))
		fx.net.UserWrites("1", "u", "/status")
		fx.net.UserWrites("1", "u", "/help")
		calls, _ := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == n+2 })
		if got := calls[n].Text; !strings.Contains(got, "Agent: gpt-x, 12k of 200k tokens") {
			t.Errorf("the status is %s", got)
		}
		if got := calls[n+1].Text; !strings.Contains(got, "\n/plan: does plan\n") || strings.Contains(got, "/stop: does stop") {
			t.Errorf("the help is %s", got)
		}
		var commands []string
		for _, c := range musttest.Get(read(t.Context(), channels.Chat{Channel: "net", ID: "1"}, channels.User{ID: "u"}))(t).Commands {
			commands = append(commands, c.Name)
		}
		want := []string{"stop", "status", "new", "retry", "remind", "schedules", "verbose", "search", "usage", "whoami", "help", "plan", "web-search"}
		wanttest.EqualSlices(t, "commands", commands, want)
	}
	check()
	fx.stop()
	fx.protocol = &persistentProtocol{}
	fx.start()
	check()
	fx.net.UserWrites("1", "u", "about gpt-y /plan /stop /web-search") // the same commands
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "about gpt-z")
	wanttest.Equal(t, "the menu is", <-set, "net:1")
}

func TestAReloadClosesTheFormerRunnerWhenItsTurnsHaveEnded(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `echo $$ >> pids; while read -r line; do case $line in *slow*) touch up; `+waitForFileScript("go")+`;; esac; echo answer; done`)
	former, next := &persistentProtocol{}, &persistentProtocol{}
	fx.protocol = former
	fx.start()
	fx.net.UserWrites("1", "u", "slow")
	fx.awaitFile("up")
	fx.protocol = next
	s := fx.settings
	s.Agents = fx.agents(zap.NewNop())
	fx.gw.Reload(s)
	fx.net.UserWrites("2", "u", "quick")
	fx.awaitText("2", "answer")
	if !isAlive(fx.agentPIDs()[0]) {
		t.Fatal("the former agent was ended in the midst of its turn")
	}
	fx.touchFile("go")
	fx.awaitText("1", "answer")
	awaitProcessEnd(t, fx.agentPIDs()[0])
	if !isAlive(fx.agentPIDs()[1]) {
		t.Error("the new agent was ended")
	}
	fx.stop()
	if former.closed != 1 || next.closed != 1 || isAlive(fx.agentPIDs()[1]) {
		t.Errorf("closed %d and %d times", former.closed, next.closed)
	}
}

func TestADirectTurnKeepsItsAgentAndMemoryUntilClose(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, remembers)
	k := &persistentProtocol{}
	runner := musttest.Get(terminal.NewRunner(terminal.Options{Config: fx.terminal, Workspace: fx.dir, Protocol: k, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	g, w := &gateway.Direct{Runner: runner, Log: zap.NewNop()}, &textChannel{}
	for _, text := range []string{"save s1", "x"} {
		in := channels.Incoming{Chat: channels.Chat{Channel: "wall", ID: "1"}, Text: text}
		musttest.Get(g.Turn(t.Context(), w, in))(t)
	}
	if got := w.sent[len(w.sent)-1].Text; !strings.HasSuffix(got, "s1") {
		t.Errorf("sent %+v", w.sent)
	}
	g.Close()
	if pids := fx.agentPIDs(); len(pids) != 1 || isAlive(pids[0]) {
		t.Errorf("agents %v", pids)
	}
}

// A gateway that dies while nothing runs leaves no inbound message behind, but its kept agent's
// children, and agents that the kernel could not kill.
func TestAPersistentAgentOfAKilledDaemonIsKilledAtTheNextStart(t *testing.T) {
	t.Parallel()
	h := newDaemonFixture(t, `sleep 300 & echo $! >> pids; echo $$ >> pids; while read -r line; do env | grep ^NANOBOT_KEPT= > kept; echo answer; done`)
	h.spec.Keep = true
	h.startDaemon()
	h.net.UserWrites("1", "u", "hello")
	h.expect("1", "answer")
	fx := &fixture{t: t, dir: h.spec.Dir}
	h.awaitSettled()
	h.killDaemon()
	pids := fx.agentPIDs()
	awaitProcessEnd(t, pids[1])
	if !isAlive(pids[0]) {
		t.Fatal("the child died by itself: that proves nothing")
	}
	name := musttest.Get(os.ReadFile(filepath.Join(h.spec.Dir, "kept")))(t)
	startReparented := func(variable string) int { // a leader that lives, of a parent that is gone
		cmd := exec.Command("sh", "-c", `setsid sleep 300 >/dev/null 2>&1 & echo $!`)
		cmd.Env = append(os.Environ(), variable)
		out := musttest.Get(cmd.Output())(t)
		pid := musttest.Get(strconv.Atoi(strings.TrimSpace(string(out))))(t)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		return pid
	}
	ours, others := startReparented(strings.TrimSpace(string(name))), startReparented("NANOBOT_KEPT=somebody-else")
	h.startDaemon()
	awaitProcessEnd(t, pids[0])
	awaitProcessEnd(t, ours)
	if !isAlive(others) {
		t.Error("another gateway's agent was killed")
	}
	h.net.UserWrites("1", "u", "again")
	h.expect("1", "answer", "answer")
	h.stopDaemon()
	for _, pid := range fx.agentPIDs() {
		awaitProcessEnd(t, pid)
	}
}

// awaitSettled waits until no turn runs.
func (h *daemonFixture) awaitSettled() {
	h.t.Helper()
	s := openBeside(h.t, h.spec.State)
	defer s.Close()
	h.awaitTrue("the turns to end", func() bool {
		running, err := s.Turns(h.t.Context(), store.TurnFilter{Outcome: string(store.Running), Limit: 1})
		return err == nil && len(running) == 0
	})
}

func TestTheTransientMessageOfAnAnswerIsRemovedAfterAKill(t *testing.T) {
	t.Parallel()
	h := newDaemonFixture(t, `echo partial words:1000; `+waitForFileScript("go")+`echo message the end`)
	h.spec.Stream = true
	h.startDaemon()
	h.net.UserWrites("1", "u", "write")
	shows := func(part string) func(c []gatewaytest.Call) bool {
		return func(c []gatewaytest.Call) bool { return strings.Contains(strings.Join(texts(c), " "), part) }
	}
	if calls, ok := h.net.Await("1", 2*testTimeout, shows("w00999")); !ok {
		t.Fatalf("shown is %+v", calls)
	}
	h.awaitTransients(2)
	h.killDaemon()
	fx := &fixture{t: t, dir: h.spec.Dir}
	fx.touchFile("go")
	h.startDaemon()
	if calls, ok := h.net.Await("1", 2*testTimeout, func(c []gatewaytest.Call) bool {
		c = withoutDone(c)
		return len(c) == 1 && c[0].Text == "the end"
	}); !ok {
		t.Errorf("shown is %q", texts(calls))
	}
	h.stopDaemon()
}

// The message is on disk, and whether it took its transient message's place is not known.
func TestAnAnswerReplacesItsTransientMessageAfterAKill(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"it had not": false, "it had": true} {
		t.Run(name, func(t *testing.T) {
			h := newDaemonFixture(t, `echo partial one; `+waitForFileScript("go")+`echo message one two; `+waitForFileScript("never"))
			h.spec.Stream, h.spec.OnCrash = true, "report"
			h.net.Idempotent, h.spec.Networks[0].Idempotent = false, false
			hang, reached := make(chan struct{}), make(chan struct{}, 10)
			first := true
			h.net.EditFault = func(gatewaytest.Call) gatewaytest.Fault {
				if !first {
					return gatewaytest.Fault{}
				}
				first = false
				reached <- struct{}{}
				if done {
					return gatewaytest.Fault{DelayAfter: 2 * testTimeout}
				}
				return gatewaytest.Fault{HangUntil: hang}
			}
			h.startDaemon()
			h.net.UserWrites("1", "u", "write")
			calls, ok := h.net.Await("1", 2*testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 1 })
			if !ok {
				t.Fatal("nothing is shown")
			}
			h.awaitTransients(1)
			(&fixture{t: t, dir: h.spec.Dir}).touchFile("go")
			<-reached
			h.killDaemon()
			h.startDaemon()
			all, ok := h.net.Await("1", 2*testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 2 && c[0].Text == "one two" })
			if !ok || all[0].ID != calls[0].ID || all[0].Repeat || !strings.HasPrefix(all[1].Text, "I was restarted") {
				t.Errorf("shown is %+v", all)
			}
			close(hang)
			h.stopDaemon()
			if left := h.net.Sent("1"); len(left) != 2 {
				t.Errorf("in the end %+v", left)
			}
		})
	}
}

// awaitTransients waits until the daemon has recorded n transient messages.
func (h *daemonFixture) awaitTransients(n int) {
	h.t.Helper()
	s := openBeside(h.t, h.spec.State)
	defer s.Close()
	h.awaitTrue("transients to be noted", func() bool {
		transients, err := s.Transients(h.t.Context())
		return err == nil && len(transients) == n
	})
}

func TestNewAlsoAppliesToATurnThatIsBeingClaimed(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, remembers)
	fx.protocol = &persistentProtocol{}
	var retrying atomic.Bool
	restarted := make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.claimed = func(store.Inbound) {
			if !retrying.CompareAndSwap(true, false) {
				return
			}
			fx.net.UserWrites("1", "u", "/new")
			select { // so that /new comes first, if it can
			case <-restarted:
			case <-time.After(50 * time.Millisecond):
			}
		}
		h.receive = func(request store.ReceiveRequest) error {
			if request.StartConversation {
				close(restarted)
			}
			return nil
		}
	})
	fx.net.UserWrites("1", "u", "save seven")
	fx.awaitText("1", "known: ")
	fx.awaitIdle("1")
	retrying.Store(true)
	fx.net.UserWrites("1", "u", "/retry")
	fx.awaitText("1", "This is a new conversation")
	fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool { return len(answers(calls)) >= 3 })
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "hello")
	calls, _ := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool { return len(answers(calls)) >= 4 })
	if got := answers(calls); len(got) < 4 || strings.Contains(got[3], "seven") {
		t.Errorf("was shown %q", got)
	}
}
