package acp

import (
	"slices"
	"strings"
	"time"

	"nanobot/internal/procfs"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/process"
)

const (
	// maxLeft limits the commands that are remembered after a stopped turn.
	maxLeft = 20
	// reportDelay is how long after the start of its process an agent may report a command.
	reportDelay = 2 * time.Second
	// minPart is the length from which a command is recognized as a part of an argument.
	minPart = 8
	// endTime is how long an agent has to exit when its commands are ended with it.
	endTime = time.Second
)

// leftCommand is a command that the agent had not ended when its turn was stopped.
type leftCommand struct {
	view.OpenCommand
	// since and until are when its process may have been started, in clock ticks since boot.
	since, until uint64
}

// recordLeft records the commands of a turn that was stopped.
func (a *agent) recordLeft(open []view.OpenCommand) {
	now := procfs.TicksSinceBoot()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now == 0 {
		return // nothing could be known of its processes
	}
	for _, c := range open[:min(len(open), max(0, maxLeft-len(a.left)))] {
		// What the agent started before the turn does not belong to it.
		age := 1 + uint64(min(time.Since(c.Began)+reportDelay, time.Since(c.Turn))*procfs.TicksPerSecond/time.Second)
		a.left = append(a.left, leftCommand{c, now - min(now, age), now})
	}
}

// forgetLeft forgets a command whose end the agent has reported after the turn.
func (a *agent) forgetLeft(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = slices.DeleteFunc(a.left, func(c leftCommand) bool { return c.Call == call })
}

// leftRunning is what still runs of the commands of stopped turns.
type leftRunning struct {
	commands []string
	trees    []procfs.Stat // processes that are known to run one of the commands
	// unsure means that a command has no such process; others are those that may run it.
	unsure bool
	others []procfs.Stat
}

// findLeft returns the commands of stopped turns that still run, and forgets the others. A process
// runs a command if its arguments have the command; any other that was started during the call
// may run it.
func (a *agent) findLeft() (found leftRunning) {
	a.mu.Lock()
	left := slices.Clone(a.left)
	a.mu.Unlock()
	if len(left) == 0 {
		return found
	}
	processes := a.Descendants()
	runs, known := map[string]bool{}, map[int]bool{} // calls, and processes of found.trees
	for _, c := range left {
		for _, p := range processes {
			if c.mayHaveStarted(p) && c.isIn(procfs.Args(p.Pid)) {
				found.trees = append(found.trees, p)
				runs[c.Call], known[p.Pid] = true, true
			}
		}
	}
	for _, p := range processes { // parents come before their children
		known[p.Pid] = known[p.Pid] || known[p.Parent]
	}
	for _, c := range left {
		before := len(found.others)
		for _, p := range processes {
			if !runs[c.Call] && c.mayHaveStarted(p) && !known[p.Pid] {
				found.others = append(found.others, p)
			}
		}
		if !runs[c.Call] && len(found.others) == before {
			a.forgetLeft(c.Call)
			continue
		}
		found.unsure = found.unsure || !runs[c.Call]
		found.commands = append(found.commands, c.Command)
	}
	return found
}

// mayHaveStarted reports whether a process was started during the call, by the time of its start.
func (c leftCommand) mayHaveStarted(p procfs.Stat) bool {
	return c.since <= p.Start && p.Start <= c.until
}

// isIn reports whether the arguments of a process have the command: as one of them, for a shell, or
// as all of them, with the program.
func (c leftCommand) isIn(args []string) bool {
	if len(args) == 0 || c.Command == "" {
		return false
	}
	has := func(arg string) bool {
		return arg == c.Command || len(c.Command) >= minPart && strings.Contains(arg, c.Command)
	}
	return slices.ContainsFunc(args[1:], has) || has(strings.Join(args, " ")) || has(view.ShellCommand(args[0], args[1:]))
}

// awaitLeft records the commands that a stopped turn has left, and returns those that still run
// after CommandGrace, since most agents end theirs.
func (a *agent) awaitLeft(open []view.OpenCommand) []string {
	a.recordLeft(open)
	for deadline := time.Now().Add(a.timeouts.CommandGrace); ; time.Sleep(20 * time.Millisecond) {
		found := a.findLeft()
		if len(found.commands) == 0 || time.Now().After(deadline) {
			return found.commands
		}
	}
}

// LeftCommands returns the commands of stopped turns that the chat's agent still runs.
func (p *Protocol) LeftCommands(chat string) []string {
	a, ok := p.Agents.Find(chat)
	if !ok {
		return nil
	}
	return a.findLeft().commands
}

// EndLeftCommands kills the commands of stopped turns that the chat's agent still runs. If their
// processes cannot be told from others, it ends the agent, unless a turn uses it.
func (p *Protocol) EndLeftCommands(chat string) (ended int) {
	a, ok := p.Agents.Find(chat)
	if !ok {
		return 0
	}
	found := a.findLeft()
	process.KillTrees(found.trees)
	push := a.noticePusher() // before the agent's exit ends its session
	if found.unsure && p.Agents.EndIdle(chat) {
		process.KillTrees(found.others) // which would be killed with the agent, but later
		text := words.AgentEndedForgets
		if a.initResponse.canRestore() {
			text = words.AgentEndedResumes
		}
		push(text)
		a.Stop(endTime)
		select {
		case <-a.done:
		case <-time.After(2 * endTime): // it hangs in the kernel
		}
		return len(found.commands)
	}
	return len(found.commands) - len(a.findLeft().commands)
}

// noticePusher returns a function that sends a text of the gateway after the last turn, if that is
// possible.
func (a *agent) noticePusher() func(words.Key) {
	if s := a.currentSession(); s != nil {
		return s.noticePusher()
	}
	return func(words.Key) {}
}

func (s *session) noticePusher() func(words.Key) {
	s.updateMu.Lock()
	s.flushBackground()
	t := s.background.turn
	s.updateMu.Unlock()
	return func(text words.Key) {
		if t != nil {
			// the gateway logs a message that it cannot store
			_ = t.Push(terminal.Frame{Kind: terminal.Message, Text: t.Words.Text(text)})
		}
	}
}

// forgetEnded forgets the command of a tool call that has ended after its turn.
func (a *agent) forgetEnded(u update) {
	var c view.ToolFields
	_ = rpc.DecodeLenient(u.Raw, &c)
	switch c.Status.V {
	case "completed", "failed", "cancelled":
		a.forgetLeft(c.ID.V)
	}
}
