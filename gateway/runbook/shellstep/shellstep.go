// Package shellstep runs the commands of shell steps, so that an agent cannot forge their proof. It
// does not know which run a step belongs to.
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
	// maxOutput is how many of the first and of the last bytes of each output stream are recorded.
	maxOutput = 8 << 10
	// Exit statuses of a command that timed out, and of one that could not be started, as in
	// shells.
	timedOut, notRun = 124, 126
)

// ExecEnv returns the environment for the commands of a run: that of the agent plus the run's mark.
// Processes that a crash has left behind from this run are killed.
func ExecEnv(p terminal.ExecEnv, run string) terminal.ExecEnv {
	mark := "runbook-" + run
	process.KillRun(mark, process.NewNotStartedRecord())
	p.Env = append(p.Env[:len(p.Env):len(p.Env)], process.RunEnv(mark)...)
	return p
}

// Run runs a command and returns the observed result. The only error is that ctx has ended; the
// proof is meaningless then.
func Run(ctx context.Context, place terminal.ExecEnv, command string, timeout time.Duration) (
	runbook.ShellProof, error,
) {
	began := time.Now()
	ran, err := shellrun.Run(ctx, command, shellrun.Options{
		ExecEnv: place, Timeout: timeout, Head: maxOutput,
		Tail: maxOutput,
	})
	proof := runbook.ShellProof{
		ExitCode: ran.Code, Stdout: ran.Stdout.String(), Stderr: ran.Stderr.String(),
		DurationSeconds: time.Since(began).Seconds(),
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
