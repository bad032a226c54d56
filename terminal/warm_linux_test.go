package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// warmFixture is a runner with processes that wait for their messages. Every process of its agent
// writes a line with its PID to the file starts.
type warmFixture struct {
	*turnFixture
	runner *terminal.Runner
}

// startWarm runs agent.sh, which is the given script after the line about its start.
func startWarm(t *testing.T, script string, w config.Warm, change ...func(*turnFixture)) *warmFixture {
	t.Helper()
	b := newTurnFixture(t, "plain", "exec sh agent.sh")
	b.opts.Config.Warm, b.opts.Warm = w, true
	b.putFile("agent.sh", "echo $$ >> starts\n"+script)
	for _, f := range change {
		f(b)
	}
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	r.StartWarming("gateway-of-the-test")
	t.Cleanup(r.Close)
	return &warmFixture{turnFixture: b, runner: r}
}

// ask runs a turn in a chat and returns its answer.
func (b *warmFixture) ask(chat string) string {
	b.t.Helper()
	b.req.ChatID, b.frames = chat, nil
	b.chat.OnFrame = func(f terminal.Frame) error {
		if !f.Board {
			b.frames = append(b.frames, f)
		}
		return nil
	}
	out, err := b.runner.Turn(b.t.Context(), b.req, &b.chat)
	if err != nil || len(b.frames) != 1 {
		b.t.Fatalf("the answer in %s is %v (%v)", chat, b.frames, err)
	}
	b.out = out
	return b.frames[0].Text
}

// awaitStarts waits until so many processes were started and are up, and returns their PIDs.
func (b *warmFixture) awaitStarts(n int) (pids []string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%d starts", n), func() bool {
		content, _ := os.ReadFile(filepath.Join(b.workspace, "starts"))
		pids = strings.Fields(string(content))
		return len(pids) >= n
	})
	if len(pids) > n {
		b.t.Fatalf("%d processes were started, want %d", len(pids), n)
	}
	return pids
}

func (b *warmFixture) await(what string, condition func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("no sign of %s; %d processes wait", what, b.runner.WarmAgents())
		}
	}
}

// awaitEnd waits until a process is gone.
func (b *warmFixture) awaitEnd(pid string) {
	b.t.Helper()
	n := musttest.Get(strconv.Atoi(pid))(b.t)
	b.await("the end of "+pid, func() bool { return unix.Kill(n, 0) != nil })
}

const answerWithPID = `read -r line; echo $$`

func TestATurnIsServedByTheProcessThatWaits(t *testing.T) {
	t.Parallel()
	b := startWarm(t, answerWithPID, config.Warm{Chats: 8, For: 300})
	wanttest.Equal(t, "the first turn was served by", b.ask("1"), b.awaitStarts(2)[0])
	for i := 1; i < 4; i++ { // each process serves one turn
		waiting := b.awaitStarts(i + 1)[i]
		if got := b.ask("1"); got != waiting {
			t.Errorf("turn %d was served by %s, and %s waited", i, got, waiting)
		}
	}
}

func TestAProcessThatWaitsHasTheVariablesOfItsChatOnly(t *testing.T) {
	t.Parallel()
	const show = `read -r line; env | grep -c -e ^NANOBOT_TEXT -e ^NANOBOT_USER_ID -e ^NANOBOT_USER_NAME -e ^NANOBOT_RUN; echo "$NANOBOT_CHAT_ID $NANOBOT_CHAT_TOKEN $NANOBOT_KEPT"`
	b := startWarm(t, show, config.Warm{Chats: 8, For: 300})
	b.req.User, b.req.RunName, b.req.Token, b.req.GatewayName = &terminal.User{ID: "7", Name: "Ann"}, "run-1", "token-1", "gateway-of-the-test"
	for i, state := range []string{"cold", "warm"} {
		if got := b.ask("1"); got != "0\n1 token-1 gateway-of-the-test" {
			t.Errorf("a %s process has %q", state, got)
		}
		b.awaitStarts(i + 2) // each turn starts the process of the next one
	}
	spare := startWarm(t, show, config.Warm{Spare: 1, For: 300})
	spare.awaitStarts(1)
	spare.req.Token = "token-1"
	wanttest.Equal(t, "a spare process has", spare.ask("1"), "0\n  gateway-of-the-test")
}

func TestAProcessFromBeforeAChangeOfItsFilesIsNotUsed(t *testing.T) {
	t.Parallel()
	agent := "echo $$ >> starts\n" + answerWithPID
	for what, change := range map[string]func(b *warmFixture){
		"the agent's file is written": func(b *warmFixture) { b.putFile("agent.sh", agent+"\n") },
		"the agent's file is replaced by one with the same content and time": func(b *warmFixture) {
			path := filepath.Join(b.workspace, "agent.sh")
			info := musttest.Get(os.Stat(path))(b.t)
			other := b.putFile("other", agent)
			musttest.Do(b.t, os.Chtimes(other, info.ModTime(), info.ModTime()))
			musttest.Do(b.t, os.Rename(other, path))
		},
		"a watched file changes":          func(b *warmFixture) { b.putFile("prompt.txt", "new") },
		"a watched file is added":         func(b *warmFixture) { b.putFile("more.txt", "new") },
		"a watched file below a folder":   func(b *warmFixture) { b.putFile("lib/deep/x.py", "new") },
		"a watched file below is removed": func(b *warmFixture) { _ = os.Remove(filepath.Join(b.workspace, "lib/deep/y.py")) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := startWarm(t, answerWithPID, config.Warm{Chats: 8, For: 300, Watch: []string{"*.txt", "lib/**/*.py"}}, func(b *turnFixture) {
				musttest.Do(t, os.MkdirAll(filepath.Join(b.workspace, "lib/deep"), 0o700))
				b.putFile("prompt.txt", "old")
				b.putFile("lib/deep/y.py", "old")
			})
			b.ask("1")
			stale := b.awaitStarts(2)[1]
			change(b)
			if got := b.ask("1"); got == stale {
				t.Errorf("the process from before the change was used")
			}
			b.awaitEnd(stale)
			if b.logs.FilterMessage("cold start instead of the process that was waiting").Len() != 1 {
				t.Error("the cold start was not logged")
			}
			fresh := b.awaitStarts(4)[3]
			if got := b.ask("1"); got != fresh {
				t.Errorf("%s was used after the change, and %s waited", got, fresh)
			}
		})
	}
}

func TestAProcessThatDiedOrWroteBeforeItsMessageIsNotUsed(t *testing.T) {
	t.Parallel()
	b := startWarm(t, answerWithPID, config.Warm{Chats: 8, For: 300})
	b.ask("1")
	dead := b.awaitStarts(2)[1]
	pid, _ := strconv.Atoi(dead)
	musttest.Do(t, unix.Kill(pid, unix.SIGKILL))
	b.awaitZombie(pid)
	if got := b.ask("1"); got == dead || b.out.Status != terminal.Done {
		t.Errorf("answered %s, %s", got, b.out.Status)
	}
	for _, stream := range []string{"1", "2"} {
		early := startWarm(t, "[ -e first ] && echo early >&"+stream+"; touch first; touch up-$$\n"+answerWithPID, config.Warm{Chats: 8, For: 300})
		early.ask("1")
		waiting := early.awaitStarts(2)[1]
		early.await("the output", func() bool { _, err := os.Stat(filepath.Join(early.workspace, "up-"+waiting)); return err == nil })
		if got := early.ask("1"); strings.HasSuffix(got, waiting) {
			t.Errorf("a process that had written to %s was used", stream)
		}
	}
}

// awaitZombie waits until a child has ended.
func (b *warmFixture) awaitZombie(pid int) {
	b.t.Helper()
	b.await("the death of a process", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestAProcessThatDiesWithItsMessageUnreadCostsNoMessage(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"plain", "rich"} {
		b := startWarm(t, `n=$(wc -l < starts); if [ "$n" = 2 ]; then until [ -e die ]; do sleep 0.01; done; exit 1; fi; read -r line; echo served`,
			config.Warm{Chats: 8, For: 300}, func(b *turnFixture) {
				b.opts.Config.Protocol, b.opts.Protocol = protocol, newTurnFixture(b.t, protocol, "").opts.Protocol
				b.opts.Config.Interactive = protocol == "rich"
			})
		b.ask("1")
		waiting := b.awaitStarts(2)[1]
		var launched []string
		b.chat.OnReport = protocoltest.OnLaunch(func(pid int) {
			launched = append(launched, strconv.Itoa(pid))
			b.putFile("die", "")
		})
		if got := b.ask("1"); got != "served" || b.out.Status != terminal.Done || len(launched) != 2 || launched[0] != waiting {
			t.Errorf("%s: answered %q, %s, by %s", protocol, got, b.out.Status, launched)
		}
	}
}

func TestAWaitingProcessEndsAfterItsTimeAndWithTheRunner(t *testing.T) {
	t.Parallel()
	b := startWarm(t, answerWithPID, config.Warm{Chats: 8, For: 1})
	b.ask("1")
	waiting := b.awaitStarts(2)[1]
	b.awaitEnd(waiting)
	wanttest.Equal(t, "processes are counted:", b.runner.WarmAgents(), 0)
	c := startWarm(t, answerWithPID, config.Warm{Chats: 8, Spare: 1, For: 300})
	c.ask("1")
	pids := c.awaitStarts(3)
	c.runner.Close()
	for _, pid := range pids {
		c.awaitEnd(pid)
	}
}

func TestTheChatThatWasUsedLeastRecentlyGivesWay(t *testing.T) {
	t.Parallel()
	b := startWarm(t, answerWithPID, config.Warm{Chats: 2, For: 300})
	var waiting []string
	for i := range 3 {
		b.ask(fmt.Sprint(i))
		pids := b.awaitStarts(2 * (i + 1))
		waiting = append(waiting, pids[len(pids)-1])
	}
	b.awaitEnd(waiting[0])
	wanttest.Equal(t, "processes wait:", b.runner.WarmAgents(), 2)
	if got := []string{b.ask("2"), b.ask("1")}; !slices.Equal(got, []string{waiting[2], waiting[1]}) {
		t.Errorf("served by %s, and %s waited", got, waiting)
	}
}

func TestSpareProcessesServeChatsThatHaveNone(t *testing.T) {
	t.Parallel()
	b := startWarm(t, answerWithPID, config.Warm{Spare: 2, For: 300})
	spares := b.awaitStarts(2)
	first := b.ask("1")
	all := b.awaitStarts(3) // it was replaced
	second := b.ask("2")
	if !slices.Contains(spares, first) || !slices.Contains(all, second) || first == second {
		t.Errorf("served by %s and %s, and %s waited", first, second, all)
	}
}

func TestCPUTimeCountsFromTheMessage(t *testing.T) {
	t.Parallel()
	b := startWarm(t, `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch up-$$; `+answerWithPID, config.Warm{Chats: 8, For: 300})
	b.ask("1")
	cold := b.out.CPU
	waiting := b.awaitStarts(2)[1]
	b.await("the end of the work", func() bool { _, err := os.Stat(filepath.Join(b.workspace, "up-"+waiting)); return err == nil })
	if got := b.ask("1"); got != waiting || b.out.CPU > cold/2 {
		t.Errorf("%s served, and %s waited: the CPU time is %v, and was %v after a cold start", got, waiting, b.out.CPU, cold)
	}
}
