package terminal

import (
	"context"
	"slices"
	"sync"

	"nanobot/terminal/process"
)

// LaunchPersistent implements Host.
func (t *turn) LaunchPersistent(o PersistentOptions) (*Agent, error) {
	if o.Args == nil {
		o.Args = []string{t.o.Config.Shell, "-c", t.o.Config.Command}
	}
	if _, err := t.sandbox.PrepareChat(t.userDir, nil, true); err != nil {
		return nil, err
	}
	agent, err := launch(context.Background(), t.sandboxed(process.Options{
		Args: o.Args, Dir: t.workDir(), Env: slices.Concat(t.persistentEnv(), o.Env), KeepInput: true, Terminal: o.Terminal,
	}), nil)
	if err == nil {
		t.persistent.add(agent)
		t.Report(Launched(agent.Pid()))
	}
	return agent, err
}

// persistentEnv returns the environment of persistent agents, without the variables of a single
// message.
func (t *turn) persistentEnv() []string {
	return slices.Concat(t.env, t.chatEnv(), t.dirs.Environ(), process.GatewayEnv(t.req.GatewayName))
}

// Report cleans what the agent says about itself, and counts the usage of a persistent agent that
// works on the turn.
func (t *turn) Report(r Report) {
	switch report := r.(type) {
	case Launched:
		if agent := t.persistent.find(int(report)); agent != nil {
			t.used.trackPersistent(agent)
		}
	case AgentInfo:
		report.Line, report.Commands = Clean(report.Line), slices.Clone(report.Commands)
		for i, c := range report.Commands {
			report.Commands[i].Help = Clean(c.Help)
		}
		r = report
	}
	t.Chat.Report(r)
}

// pool returns the pool of persistent agents; nil: the protocol has none.
func (r *Runner) pool() ProcessPool {
	if k, ok := r.o.Protocol.(PersistentProtocol); ok {
		return k.Pool()
	}
	return nil
}

// IdleAgents returns the chats with a persistent agent that no turn uses, as ProcessPool.Idle does.
func (r *Runner) IdleAgents() map[string][]string {
	if p := r.pool(); p != nil {
		return p.Idle()
	}
	return nil
}

// EndIdleAgent ends the persistent agent of a chat (channel:id), unless a turn uses it.
func (r *Runner) EndIdleAgent(chat string) {
	if p := r.pool(); p != nil {
		p.End(chat)
	}
	r.warm.End(chat)
}

// EndSession ends what the protocol keeps of a chat (channel:id) when a person begins a new
// conversation.
func (r *Runner) EndSession(chat string) {
	if p, ok := r.o.Protocol.(Restarter); ok {
		p.EndSession(chat)
	}
}

// StopCommands ends the commands that the persistent agent of a chat (channel:id) has left running,
// and returns how many it ended, and whether it told the agent to stop other work.
func (r *Runner) StopCommands(chat string) (ended int, told bool) {
	if s, ok := r.o.Protocol.(CommandStopper); ok {
		return s.StopCommands(chat)
	}
	return 0, false
}

// persistentAgents are the running persistent agents, by PID.
type persistentAgents struct {
	mu   sync.Mutex
	live map[int]*Agent
}

func (k *persistentAgents) add(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live = map[int]*Agent{}
	}
	k.live[a.Pid()] = a
	a.reportUsage = func(process.Usage) { k.drop(a) }
}

func (k *persistentAgents) drop(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live[a.Pid()] == a {
		delete(k.live, a.Pid())
	}
}

func (k *persistentAgents) find(pid int) *Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[pid]
}
