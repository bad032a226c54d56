package killtest_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAKillLoopKillsEachChildWhileUsersWrite(t *testing.T) {
	dir := t.TempDir()
	var written atomic.Int64
	started, killed, last := 0, 0, &killtest.Child{}
	killtest.KillLoop{
		Random: rand.New(rand.NewPCG(1, 0)), Kills: 3,
		Write: func(*rand.Rand) { written.Add(1) },
		Start: func() (*killtest.Child, func() bool) {
			started++
			up := filepath.Join(dir, "up")
			_ = os.Remove(up)
			last = killtest.Start(t, exec.Command("sh", "-c", "touch "+up+"; exec sleep 600"))
			return last, func() bool {
				_, err := os.Stat(up)
				return err == nil && written.Load() > 0
			}
		},
		Killed: func() {
			killed++
			if err := syscall.Kill(last.PID(), 0); err == nil {
				t.Errorf("child %d lives", started)
			}
		},
	}.Run(t)
	if started != 3 || killed != 3 || written.Load() == 0 {
		t.Errorf("%d were started, %d killed, %d times something was written", started, killed, written.Load())
	}
}

func TestAChildIsSeenToHaveExitedBeforeAndAfterWait(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tell")
	}
	c := killtest.Start(t, exec.Command("sleep", "600"))
	wanttest.Equal(t, "while it runs", c.HasExited(), false)
	musttest.Do(t, c.Signal(syscall.SIGKILL))
	for deadline := time.Now().Add(5 * time.Minute); !c.HasExited(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not seen to have exited")
		}
	}
	wanttest.Equal(t, "once more", c.HasExited(), true)
	_ = c.Wait()
	wanttest.Equal(t, "after Wait", c.HasExited(), true)
}

func TestAChildEndsOnceHoweverOftenItIsKilled(t *testing.T) {
	c := killtest.Start(t, exec.Command("sleep", "600"))
	c.Kill()
	c.Kill()
	own := killtest.Start(t, exec.Command("true"))
	if err := own.Wait(); err != nil {
		t.Error(err)
	}
	own.Kill()
}

func TestASeedCanBeGiven(t *testing.T) {
	t.Setenv("NANOBOT_SEED", "17")
	wanttest.Equal(t, "got", killtest.Seed(), 17)
	t.Setenv("NANOBOT_SEED", "")
	if killtest.Seed() == 17 {
		t.Error("without the variable the seed is the same")
	}
}
