package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// pause stops the daemon, as SIGSTOP, a frozen container or a debugger does.
func (p *limitedDaemon) pause() {
	p.t.Helper()
	musttest.Do(p.t, p.cmd.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.PID(), &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		p.t.Fatalf("the daemon did not stop: %v, %v", status, err)
	}
}

// hasExited reports whether the process whose ID is in a file has exited; it need not be reaped.
func hasExited(file string) bool {
	pid, _ := os.ReadFile(file)
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	return err != nil || strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

// While the daemon is stopped for longer than the timeout, most agents finish, and some do not.
// Neither has timed out when it goes on.
func TestADaemonThatWasStoppedReportsNoTimeout(t *testing.T) {
	t.Parallel()
	timeout := 40   // in which even a busy machine starts them all
	if isShared() { // a member that stands still for 40 seconds ends
		timeout = 20
	}
	agents := killtest.Rounds(t, 8, 24)
	p := newLimitedDaemon(t)
	p.spec.Timeout, p.spec.Slots = timeout, agents+2
	p.spec.Command = `read -r line; chat=${line#*\"chat_id\":\"}; chat=${chat%%\"*}; echo $$ > new.$chat; mv new.$chat pid.$chat
		while [ ! -e go.${chat%%[0-9]*} ]; do sleep 0.05; done; echo "{\"type\":\"message\",\"text\":\"in time\"}"`
	p.start()
	began := time.Now()
	var chats []string
	for i := range agents {
		chats = append(chats, fmt.Sprint("ends", i))
	}
	chats = append(chats, "stays0", "stays1")
	file := func(name string) string { return filepath.Join(p.spec.Dir, name) }
	for _, chat := range chats {
		p.net.UserWrites(chat, "u", "hello")
	}
	p.awaitTrue("the start of all agents", func() bool {
		for _, chat := range chats {
			if _, err := os.Stat(file("pid." + chat)); err != nil {
				return false
			}
		}
		return true
	})
	p.pause()
	musttest.Do(t, os.WriteFile(file("go.ends"), nil, 0o600))
	p.awaitTrue("the end of the agents", func() bool {
		for _, chat := range chats[:agents] {
			if !hasExited(file("pid." + chat)) {
				return false
			}
		}
		return true
	})
	time.Sleep(time.Until(began.Add(time.Duration(timeout+1) * time.Second))) // by any clock their time is up
	musttest.Do(t, p.cmd.Signal(syscall.SIGCONT))
	for i, chat := range chats {
		if i == agents { // all others have been heard
			musttest.Do(t, os.WriteFile(file("go.stays"), nil, 0o600))
		}
		if _, ok := p.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) > 0 }); !ok {
			t.Errorf("chat %s was shown nothing", chat)
		}
	}
	if err := p.cmd.Signal(syscall.SIGTERM); err != nil { // which lets all of them end
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.cmd = nil
	for _, chat := range chats {
		if got := strings.Join(texts(p.net.Sent(chat)), "|"); got != "in time" {
			t.Errorf("chat %s was shown %q", chat, got)
		}
	}
}
