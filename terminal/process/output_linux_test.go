package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/terminal/process"
)

// printOutput makes the test binary a program that prints what a script and its descendants print.
func printOutput(script string) {
	c, err := process.Start(process.Options{
		Args: []string{"/bin/sh", "-c", script}, NoInput: true, Grace: 500 * time.Millisecond, MaxLinger: time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(os.Stdout, c.Stdout)
	c.Wait()
}

func TestAfterAPauseADescendantHasTimeForItsOutput(t *testing.T) {
	t.Parallel()
	pausetest.Try(t, 100*time.Millisecond, func() error {
		gate := filepath.Join(t.TempDir(), "gate")
		script := "(sleep 0.1; echo up; until [ -e " + gate + " ]; do sleep 0.05; done; echo late) & exit 0"
		cmd := exec.Command(musttest.Get(os.Executable())(t), "print-output", script)
		out := bufio.NewReader(musttest.Get(cmd.StdoutPipe())(t))
		musttest.Do(t, cmd.Start())
		up, _ := out.ReadString('\n')
		musttest.Do(t, cmd.Process.Signal(unix.SIGSTOP))
		time.Sleep(1200 * time.Millisecond) // the pause: more than twice the grace
		musttest.Do(t, cmd.Process.Signal(unix.SIGCONT))
		musttest.Do(t, os.WriteFile(gate, nil, 0o600))
		rest, _ := io.ReadAll(out)
		musttest.Do(t, cmd.Wait())
		if up+string(rest) != "up\nlate\n" {
			return fmt.Errorf("printed %q", up+string(rest))
		}
		return nil
	})
}
