package process

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
)

func TestOnlyTheRecordedProcessIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moment func(ticks int64) string
		dies   bool
	}{
		"noted after it began":  {func(now int64) string { return fmt.Sprintf("%s/%d", procfs.BootID(), now) }, true},
		"noted before it began": {func(now int64) string { return fmt.Sprintf("%s/%d", procfs.BootID(), now-1000) }, false},
		"noted before a reboot": {func(now int64) string { return fmt.Sprintf("another-boot/%d", now) }, false},
		"noted as nonsense":     {func(int64) string { return procfs.BootID() + "/x" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sleep", "60")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			musttest.Do(t, cmd.Start())
			_, ticks, _ := strings.Cut(bootMoment(), "/")
			var now int64
			musttest.Get(fmt.Sscan(ticks, &now))(t)
			KillRun(t.Name(), Record{Pid: cmd.Process.Pid, Start: c.moment(now)})
			p, ok := procfs.ReadStat(cmd.Process.Pid)
			if dead := !ok || p.Dead(); dead && !c.dies {
				t.Error("it was killed")
			}
			_ = cmd.Process.Signal(syscall.SIGTERM) // its exit shows whether it was killed before
			_ = cmd.Wait()
			if sig := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); (sig == syscall.SIGKILL) != c.dies {
				t.Errorf("it ended by %v", sig)
			}
		})
	}
}
