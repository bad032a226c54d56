package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// crashAgent answers question 17 with a17 and b17, some time apart for odd ones. Questions that end
// in 5 or 8 are too much for the first attempts: it begins a child that stays, and waits until all
// is calm.
const crashAgent = `echo $$ >> pids; read -r line; text=${line#*\"text\":\"}; n=${text%%\"*}; try=${line#*\"attempt\":}; try=${try%%[,\}]*}
	say() { echo "{\"type\":\"message\",\"text\":\"$1$n\"}"; }
	say a
	case $n.$try in
	*5.[12]|*8.[123]) sleep 300 & while [ ! -e calm ]; do sleep 0.05; done;;
	*[1379].*) sleep 0.0$n;;
	esac
	say b; echo '{"type":"usage","input_tokens":1}'`

// TestKillingTheDaemonAtAnyInstantLosesNothing kills a daemon with SIGKILL again and again, in the
// midst of its start, its turns and its sends, while people keep writing on two networks that
// outlive it and keep score. With NANOBOT_LONG=1 there are 200 kills for each way to treat cut off
// turns, which takes some minutes each.
func TestKillingTheDaemonAtAnyInstantLosesNothing(t *testing.T) {
	for _, onCrash := range []string{"retry", "report"} {
		t.Run(onCrash, func(t *testing.T) {
			brief := 5
			if isShared() { // beside the test with SQLite
				brief = 3
			}
			kills := killtest.Rounds(t, brief, 200)
			c := newKillTest(t, onCrash)
			c.killRepeatedly(kills)
			c.finishWork()
			c.checkNetworks()
			c.checkUsage()
		})
	}
}

// killTest is a daemon that is killed and restarted, and two networks that keep running. On one of
// them a repeated send has no second effect.
type killTest struct {
	t      *testing.T
	random *rand.Rand // of the kills; the people have their own
	spec   daemonSpec
	nets   []*gatewaytest.Network
	chats  []*crashChat
	mark   string // in the environment of all that a daemon starts

	unready, kills int
}

// crashChat is a chat and the people in it.
type crashChat struct {
	name    string
	net     *gatewaytest.Network
	asked   int            // the last question
	ids     map[string]int // questions by the network's message ID
	pressed map[string]int // questions by the key of the report whose button was pressed
}

const chatsPerNetwork = 4

func newKillTest(t *testing.T, onCrash string) *killTest {
	seed := killtest.Seed()
	c := &killTest{t: t, random: rand.New(rand.NewPCG(seed, 0)), mark: "CRASH_MARK=" + strconv.FormatUint(seed, 36)}
	dir := t.TempDir()
	chooseState(t, filepath.Join(dir, ".nanobot"))
	c.spec = daemonSpec{Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: crashAgent, OnCrash: onCrash}
	for i, idempotent := range []bool{true, false} {
		n := gatewaytest.NewNetwork()
		t.Cleanup(n.Close)
		n.Idempotent, n.Fault = idempotent, newSlowFault(rand.New(rand.NewPCG(seed, uint64(i+1))))
		c.nets = append(c.nets, n)
		c.spec.Networks = append(c.spec.Networks, networkSpec{Name: "net" + strconv.Itoa(i), URL: n.URL, Idempotent: idempotent})
		for j := range chatsPerNetwork {
			c.chats = append(c.chats, &crashChat{name: "c" + strconv.Itoa(j), net: n, ids: map[string]int{}, pressed: map[string]int{}})
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
			t.Logf("the last daemons logged:\n%s", tail(filepath.Join(dir, "log"), 20))
		}
	})
	return c
}

// newSlowFault makes a network slow at times, so that a kill meets sends that were not carried out
// yet, or were and are not confirmed.
func newSlowFault(random *rand.Rand) func(gatewaytest.Call) gatewaytest.Fault {
	var mu sync.Mutex
	return func(gatewaytest.Call) gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		delay := time.Duration(random.IntN(50)) * time.Millisecond
		switch random.IntN(4) {
		case 0:
			return gatewaytest.Fault{DelayAfter: delay}
		case 1:
			return gatewaytest.Fault{DelayBefore: delay}
		}
		return gatewaytest.Fault{}
	}
}

// startDaemon starts a daemon. Its output is complete when it has ended.
func (c *killTest) startDaemon() (*killtest.Child, *bytes.Buffer) {
	c.t.Helper()
	c.spec.Number++
	spec := musttest.Get(json.Marshal(c.spec))(c.t)
	out := &bytes.Buffer{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+string(spec), c.mark)
	cmd.Stdout, cmd.Stderr = out, out
	return killtest.Start(c.t, cmd), out
}

// killRepeatedly kills one daemon after the other while people write. The work of a daemon begins
// with a poll; before that it cleans up after the last one.
func (c *killTest) killRepeatedly(kills int) {
	c.t.Helper()
	var out *bytes.Buffer
	killtest.KillLoop{
		Random: c.random, Kills: kills, Write: c.writeAsPeople,
		Start: func() (child *killtest.Child, ready func() bool) {
			_, polls := c.nets[0].Acknowledged()
			child, out = c.startDaemon()
			return child, func() bool {
				_, now := c.nets[0].Acknowledged()
				return now > polls
			}
		},
		Killed: func() {
			c.kills++
			if !strings.Contains(out.String(), "ready") {
				c.unready++
			}
		},
	}.Run(c.t)
}

// writeAsPeople asks questions, not too many at once, and presses the button of a report.
func (c *killTest) writeAsPeople(random *rand.Rand) {
	chat := c.chats[random.IntN(len(c.chats))]
	if seen := chat.readTranscript(); chat.asked-seen.countSettled(c.spec.OnCrash) < 5 {
		chat.askQuestion()
	}
	c.pressRerun(chat)
}

func (ch *crashChat) askQuestion() {
	ch.asked++
	ch.ids[ch.net.UserWrites(ch.name, "u", strconv.Itoa(ch.asked))] = ch.asked
}

// pressRerun presses the buttons that were not pressed yet.
func (c *killTest) pressRerun(chat *crashChat) {
	if c.spec.OnCrash != "report" {
		return
	}
	for _, s := range chat.readTranscript().said {
		if _, done := chat.pressed[s.Key]; s.what == "report" && !done && len(s.Buttons) == 1 {
			chat.pressed[s.Key] = s.question
			chat.net.UserPresses(chat.name, "u", s.Buttons[0])
		}
	}
}

// finishWork lets a last daemon finish all work, and ends it.
func (c *killTest) finishWork() {
	c.t.Helper()
	musttest.Do(c.t, os.WriteFile(filepath.Join(c.spec.Dir, "calm"), nil, 0o600))
	daemon, out := c.startDaemon()
	for deadline := time.Now().Add(2 * testTimeout); ; time.Sleep(10 * time.Millisecond) {
		open := 0
		for _, chat := range c.chats {
			c.pressRerun(chat)
			open += chat.asked - chat.readTranscript().countSettled(c.spec.OnCrash)
		}
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%d questions were never answered", open)
			break
		}
	}
	awaitNoProcesses(c.t, "the daemon has zombies", func() []int { return zombies(daemon.PID()) })
	if err := daemon.End(); err != nil {
		c.t.Errorf("the last daemon: %v, %s", err, out)
	}
	awaitNoProcesses(c.t, "processes survived", func() []int { return processesWithMark(c.mark) })
	for _, pid := range processesWithMark(c.mark) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// awaitNoProcesses waits until there are no unexpected processes.
func awaitNoProcesses(t *testing.T, what string, find func() []int) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(10 * time.Millisecond) {
		found := find()
		if len(found) == 0 {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		for _, pid := range found {
			cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			t.Errorf("%s: %d %q", what, pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))
		}
		return
	}
}

// checkNetworks checks the messages on the networks.
func (c *killTest) checkNetworks() {
	c.t.Helper()
	asked, doubles := 0, 0
	for _, chat := range c.chats {
		seen := chat.readTranscript()
		asked, doubles = asked+chat.asked, doubles+len(seen.doubles)
		for _, m := range append(seen.mistakes, seen.findMistakes(chat, c.spec.OnCrash)...) {
			c.t.Errorf("idempotent %v, chat %s: %s", chat.net.Idempotent, chat.name, m)
		}
		if c.t.Failed() {
			c.t.Logf("idempotent %v, chat %s was shown %s", chat.net.Idempotent, chat.name, seen)
		}
	}
	agents, _ := os.ReadFile(filepath.Join(c.spec.Dir, "pids"))
	c.t.Logf("%d kills (%d before it was ready), %d questions, %d agents, %d sends in flight repeated", c.kills, c.unready, asked, bytes.Count(agents, []byte("\n")), doubles)
}

// checkUsage checks that each turn was counted once for each time that it has ended, with what its
// agent has reported.
func (c *killTest) checkUsage() {
	c.t.Helper()
	s := openBeside(c.t, c.spec.State)
	defer s.Close()
	var want store.UsageSum
	for _, inbound := range musttest.Get(s.Turns(c.t.Context(), store.TurnFilter{Limit: 1_000_000}))(c.t) {
		want.Turns++
		if c.spec.OnCrash == "report" { // each attempt has ended
			want.Turns += int64(inbound.Attempt - 1)
		}
		if inbound.State == store.Done {
			want.InputTokens++
		}
	}
	var got store.UsageSum
	for _, sum := range musttest.Get(s.SumUsage(c.t.Context(), store.UsageByChat, store.UsageFilter{}))(c.t) {
		got.Add(store.UsageSum{Turns: sum.Turns, InputTokens: sum.InputTokens})
	}
	if got != want || got.Turns == 0 {
		c.t.Errorf("the ledger has %+v, want %+v", got, want)
	}
}

// daemonMessage is one message of a daemon: a, b or report, and the question that it answers.
type daemonMessage struct {
	gatewaytest.Call
	what     string
	question int
}

// transcript has the messages of a chat, each once.
type transcript struct {
	said     []daemonMessage
	doubles  []daemonMessage
	mistakes []string
}

// readTranscript parses the messages of a chat. A repeated message must have been in flight when
// its daemon was killed: the last of that daemon in the chat, on a network that cannot tell, and
// marked as a repetition.
func (ch *crashChat) readTranscript() transcript {
	var tr transcript
	first, last := map[string]daemonMessage{}, map[int]string{}
	for _, call := range ch.net.Sent(ch.name) {
		last[call.Sender] = call.Key
	}
	for _, call := range ch.net.Sent(ch.name) {
		if strings.HasPrefix(call.Text, "Queued.") {
			continue
		}
		s := daemonMessage{Call: call, question: ch.ids[call.ReplyTo]}
		switch {
		case strings.HasPrefix(call.Text, "I was restarted") && call.Kind == "error":
			s.what = "report"
		case call.Text == "a"+strconv.Itoa(s.question), call.Text == "b"+strconv.Itoa(s.question):
			s.what = call.Text[:1]
		default:
			tr.mistakes = append(tr.mistakes, fmt.Sprintf("unexpected: %+v", call))
			continue
		}
		before, again := first[call.Key]
		first[call.Key] = s
		switch {
		case !again:
			tr.said = append(tr.said, s)
			continue
		case ch.net.Idempotent, !call.Repeat, before.Sender >= call.Sender, last[before.Sender] != call.Key:
			tr.mistakes = append(tr.mistakes, fmt.Sprintf("doubled: %+v after %+v", call, before.Call))
		}
		tr.doubles = append(tr.doubles, s)
	}
	return tr
}

// countSettled counts the questions that were answered, or reported if onCrash is report.
func (tr transcript) countSettled(onCrash string) int {
	done := map[int]bool{}
	for _, s := range tr.said {
		if s.what == "b" || s.what == "report" && onCrash == "retry" {
			done[s.question] = true
		}
	}
	return len(done)
}

// findMistakes finds messages that are lost, repeated with another key, or out of order.
func (tr transcript) findMistakes(chat *crashChat, onCrash string) (mistakes []string) {
	count, seen, latest := map[string]int{}, map[int]bool{}, 0
	for _, s := range tr.said {
		count[s.what+strconv.Itoa(s.question)]++
		switch {
		case onCrash == "retry" && s.question < latest, !seen[s.question] && s.question != len(seen)+1:
			mistakes = append(mistakes, fmt.Sprintf("%s%d came after %d", s.what, s.question, latest))
		case s.what == "a" && count["b"+strconv.Itoa(s.question)] > 0:
			mistakes = append(mistakes, fmt.Sprintf("a%d came after b", s.question))
		}
		seen[s.question], latest = true, max(latest, s.question)
	}
	presses := map[int]int{}
	for _, q := range chat.pressed {
		presses[q]++
	}
	for q := 1; q <= chat.asked; q++ {
		n := strconv.Itoa(q)
		if count["b"+n] == 0 && (onCrash != "retry" || count["report"+n] == 0) {
			mistakes = append(mistakes, fmt.Sprintf("%d was never answered", q))
		}
		if count["a"+n] > 1 || count["b"+n] > 1 || count["report"+n] > presses[q]+1 {
			mistakes = append(mistakes, fmt.Sprintf("%d was answered with %d×a, %d×b, %d reports, %d presses", q, count["a"+n], count["b"+n], count["report"+n], presses[q]))
		}
	}
	return mistakes
}

func (tr transcript) String() string {
	var b strings.Builder
	for _, s := range tr.said {
		fmt.Fprintf(&b, "%s%d(by %d) ", s.what, s.question, s.Sender)
	}
	return b.String()
}

// processesWithMark returns the processes whose environment has a mark.
func processesWithMark(mark string) (pids []int) {
	for pid := range processes() {
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if bytes.Contains(env, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombies returns the children of a process that have ended and were not reaped.
func zombies(parent int) (pids []int) {
	for pid, stat := range processes() {
		if stat[0] == "Z" && stat[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes returns the fields of /proc/N/stat after the name: state, parent, and so on.
func processes() map[int][]string {
	all := map[int][]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if i := bytes.LastIndexByte(stat, ')'); err == nil && i > 0 {
			all[pid] = strings.Fields(string(stat[i+1:]))
		}
	}
	return all
}

// tail returns the last lines of a file.
func tail(path string, n int) string {
	b, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// checkNoZombies checks that all children of this process were reaped.
func checkNoZombies(t *testing.T) {
	t.Helper()
	awaitNoProcesses(t, "there are zombies", func() []int { return zombies(os.Getpid()) })
}
