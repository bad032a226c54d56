package terminal

import (
	"context"
	"slices"

	"nanobot/terminal/process"
)

// keep starts a process that outlives the turn.
func (t *turn) keep(o PersistentOptions) (*Agent, error) {
	if o.Args == nil {
		o.Args = []string{t.o.Config.Shell, "-c", t.o.Config.Command}
	}
	if _, err := t.sandbox.PrepareChat(t.userDir, nil, true); err != nil {
		return nil, err
	}
	agent, err := launch(context.Background(), t.sandboxed(process.Options{
		Args: o.Args, Dir: t.dir(), Env: slices.Concat(t.keptEnv(), o.Env), KeepInput: true, Terminal: o.Terminal,
	}), nil)
	if err == nil {
		t.kept.add(agent)
		t.uses(agent.Pid())
	}
	return agent, err
}

// keptEnv is the environment of agents that outlive the turn. What differs from message to message
// is not in it.
func (t *turn) keptEnv() []string {
	return slices.Concat(t.env, t.chatEnv(), t.chat.Environ(), process.GatewayEnv(t.req.GatewayName))
}

func (t *turn) uses(pid int) {
	if agent := t.kept.find(pid); agent != nil {
		t.used.watch(agent)
	}
	if t.req.OnLaunch != nil {
		t.req.OnLaunch(pid)
	}
}

func (t *turn) tell(a AgentInfo) {
	if t.req.OnAgentInfo == nil {
		return
	}
	a.Line, a.Commands = Clean(a.Line), slices.Clone(a.Commands)
	for i, c := range a.Commands {
		a.Commands[i].Help = Clean(c.Help)
	}
	t.req.OnAgentInfo(a)
}

func (t *turn) memory() Memory {
	if t.req.Memory != nil {
		return t.req.Memory
	}
	return forgetful{}
}

// forgetful is the memory of a chat that nobody keeps.
type forgetful struct{}

func (forgetful) Load(context.Context) (string, error) { return "", nil }
func (forgetful) Save(context.Context, string) error   { return nil }

func (forgetful) LoadLasting(context.Context) (string, error) { return "", nil }
func (forgetful) SaveLasting(context.Context, string) error   { return nil }

// pool returns the pool of the agents that the protocol keeps; nil: it keeps none.
func (r *Runner) pool() ProcessPool {
	if k, ok := r.o.Protocol.(PersistentProtocol); ok {
		return k.Pool()
	}
	return nil
}

// Kept returns the agents that are kept and that no turn uses.
func (r *Runner) IdleAgents() []IdleAgent {
	if p := r.pool(); p != nil {
		return p.Idle()
	}
	return nil
}

// Release ends the kept agent of a chat (channel:id), unless a turn uses it.
func (r *Runner) EndIdleAgent(chat string) {
	if p := r.pool(); p != nil {
		p.End(chat)
	}
}

// StartAfresh ends what the protocol keeps of a chat (channel:id) whose person starts afresh.
func (r *Runner) StartAfresh(chat string) {
	if p, ok := r.o.Protocol.(Restarter); ok {
		p.StartAfresh(chat)
	}
}

// Stop ends what the kept agent of a chat (channel:id) has left running, and says how many commands
// that were.
func (r *Runner) StopCommands(chat string) (ended int) {
	if s, ok := r.o.Protocol.(CommandStopper); ok {
		return s.StopCommands(chat)
	}
	return 0
}
