package acp_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// Resource limits apply to the whole process, so this test runs itself in a process of its own.
func TestAnAgentThatLacksFileDescriptorsAtItsStartConsumesNoMessage(t *testing.T) {
	if os.Getenv("ACPTEST_POOR") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "ACPTEST_POOR=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	d := newFixture(t, "")
	d.person("1").send("hello").expect(terminal.Done, "You said: hello") // what is opened once is open from here on
	entries := musttest.Get(os.ReadDir("/proc/self/fd"))(t)
	var before unix.Rlimit
	musttest.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	limit := func(n uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: before.Max}); err != nil {
			t.Error(err)
		}
	}
	defer limit(before.Cur)
	for left := range uint64(8) { // from too few for the chat's folder to too few for the agent's pipes
		limit(uint64(len(entries)) - 1 + left)
		h := d.person("2").send("hello")
		limit(before.Cur)
		var short *terminal.ShortageError
		if h.err == nil && left > 5 {
			break
		}
		if !errors.As(h.err, &short) || short.Errno != syscall.EMFILE {
			t.Errorf("with %d left: %v", left, h.err)
		}
	}
	d.person("2").send("hello").expect(terminal.Done, "You said: hello")
}
