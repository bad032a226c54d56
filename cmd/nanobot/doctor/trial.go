package doctor

import (
	"fmt"

	"nanobot/channels"
	"nanobot/terminal"
)

// assess assesses the agent by its trial turn. If the agent has succeeded, its protocol assesses
// the output.
func (r *trial) assess(protocol terminal.Description, timeout int) findings {
	switch out := r.Outcome; {
	case r.err != nil:
		return bad("cannot be run: "+r.err.Error(), "correct terminal.command, terminal.cwd or terminal.shell")
	case out.Status == terminal.TimedOut:
		return bad(fmt.Sprintf("has not ended within %d s%s", timeout, r.StderrSuffix()),
			"find out what it waits for, or raise terminal.timeout")
	case out.Signal != "":
		return bad("was killed by "+out.Signal+r.StderrSuffix(), r.ByHand)
	case out.ExitCode == 127:
		return bad("the command was not found"+r.StderrSuffix(),
			"install it, or write its full path in terminal.command; the PATH of a service differs from that of your shell")
	case out.ExitCode == 126:
		return bad("the command cannot be executed"+r.StderrSuffix(),
			"make it executable (chmod +x), or name its interpreter in terminal.command")
	case out.ExitCode != 0:
		return bad(fmt.Sprintf("exit status %d%s", out.ExitCode, r.StderrSuffix()), r.ByHand)
	}
	found := protocol.AssessTrial(&r.Trial)
	return findings{{Status: verdicts[found.Verdict], Detail: found.Detail, Fix: found.Fix}}
}

// verdicts translates the verdicts of protocols, which know nothing of channels.
var verdicts = map[terminal.Verdict]channels.Verdict{
	terminal.Good: channels.Good, terminal.Doubtful: channels.Doubtful, terminal.Bad: channels.Bad,
}
