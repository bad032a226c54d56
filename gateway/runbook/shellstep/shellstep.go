// Package shellstep runs the commands of shell steps, so that nobody can forge their proof. It does
// not know which run a step belongs to.
package shellstep

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/shellrun"
)

const (
	// maxOutput is how many of the first and of the last bytes are recorded of each output stream.
	maxOutput = 8 << 10
	// The exit statuses of a command that was killed after its time, and of one that could not be
	// started, as shells have them.
	timedOut, notRun = 124, 126
)

// ExecEnv returns the environment for the commands of a run: that of the agent, with the run's name
// in the environment. What a crash has left of a command of the run is killed.
func ExecEnv(p terminal.ExecEnv, run string) terminal.ExecEnv {
	mark := "runbook-" + run
	process.KillRun(mark, process.NewNotStartedRecord())
	p.Env = append(p.Env[:len(p.Env):len(p.Env)], process.RunEnv(mark)...)
	return p
}

// Run executes a command and returns what was seen of it. The error is that ctx has ended: the
// proof then says nothing.
func Run(ctx context.Context, place terminal.ExecEnv, command string, timeout time.Duration) (runbook.ShellProof, error) {
	began := time.Now()
	ran, err := shellrun.Run(ctx, command, shellrun.Options{ExecEnv: place, Timeout: timeout, Head: maxOutput, Tail: maxOutput})
	proof := runbook.ShellProof{
		ExitCode: ran.Code, Stdout: ran.Stdout.String(), Stderr: ran.Stderr.String(), DurationSeconds: time.Since(began).Seconds(),
	}
	switch {
	case ctx.Err() != nil:
		return proof, ctx.Err()
	case err != nil:
		proof.ExitCode, proof.Stderr = notRun, proof.Stderr+"nanobot: the command did not run: "+err.Error()+"\n"
	case ran.TimedOut:
		proof.ExitCode, proof.Stderr = timedOut, proof.Stderr+fmt.Sprintf("nanobot: killed after %s\n", timeout)
	}
	return proof, nil
}
