package terminal

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
	"nanobot/terminal/warm"
)

// newWaiting returns what starts processes before their messages, as the config says.
func (r *Runner) newWaiting() *warm.Waiting {
	cfg := r.o.Config
	o := warm.Options{
		Chats: cfg.Warm.Chats, Spares: cfg.Warm.Spare, For: time.Duration(cfg.Warm.For) * time.Second, Command: cfg.Command,
		Dir: r.ownDir(), Path: lookupEnv(r.env, "PATH"), Watch: cfg.Warm.Watch, Workspace: r.o.Workspace, Log: r.o.Log,
	}
	if r.sandbox.SeparatesChats() {
		o.Spares = 0
	}
	return warm.New(o)
}

// StartWarming starts processes before their messages from now on, where the config wants that. The
// name of the gateway identifies them after a crash. Calls after the first do nothing.
func (r *Runner) StartWarming(gateway string) {
	if r.o.Warm {
		r.warm.Start(func() process.Options {
			return r.sandbox.Apply(r.warmOptions(r.ownDir(), slices.Concat(r.env, r.socketEnv(), process.GatewayEnv(gateway))),
				sandbox.ChatDirs{})
		})
	}
}

// WarmAgents returns how many processes wait for a message.
func (r *Runner) WarmAgents() int { return r.warm.Count() }

// RestartedAgents returns how many persistent agents were started again because there was no room
// to keep them, and the key of the limit for which the last one had been ended.
func (r *Runner) RestartedAgents() (count int, key string) {
	if p := r.pool(); p != nil {
		return p.Restarts()
	}
	return 0, ""
}

// restartWarning is the last log line about persistent agents that were started again.
type restartWarning struct {
	mu    sync.Mutex
	count int
	at    time.Time
}

// warnAboutRestarts logs that persistent agents are started again because there was no room to keep
// them, at most once an hour.
func (r *Runner) warnAboutRestarts() {
	count, key := r.RestartedAgents()
	w := &r.restartWarning
	w.mu.Lock()
	defer w.mu.Unlock()
	if count == w.count || time.Since(w.at) < time.Hour {
		return
	}
	w.count, w.at = count, time.Now()
	r.o.Log.Warn("agents are started again because there is no room to keep them between turns",
		zap.Int("count", count), zap.String("raise", key))
}

// warmOptions returns the options of a process that is started before its message.
func (r *Runner) warmOptions(dir string, env []string) process.Options {
	o := r.commandOptions(r.command.Expand("", ShellQuote), dir, env)
	o.DelayInput, o.Grace, o.StderrTail = true, outputGrace, stderrTail
	return o
}

// prepareNext starts the process for the next turn of the chat. The temporary files are removed
// now, while no agent of the chat can be running.
func (t *turn) prepareNext() {
	t.warm.Prepare(t.req.chatKey(), func() error {
		_, err := t.sandbox.PrepareChat(t.userDir, nil, true)
		return err
	}, func() process.Options { return t.sandboxed(t.warmOptions(t.dir, t.persistentEnv())) })
}

// killWaiting ends the process that was waiting for the turn, if the turn has not used it.
func (t *turn) killWaiting() {
	if t.waiting != nil {
		t.waiting.Kill()
		t.waiting.Wait()
		t.waiting = nil
	}
}

// begin gives a process that was waiting its message and ties it to the turn.
func (t *turn) begin(ctx context.Context, child *process.Child, in Input) *Agent {
	before := child.Usage()
	child.SetOwner(t.owner())
	agent := bind(ctx, child, in.onStop)
	agent.firstInput = len(in.First)
	agent.reportUsage = func(u process.Usage) {
		u.CPU -= before.CPU
		t.used.add(u)
	}
	t.Report(Launched(agent.Pid()))
	child.SetInput(in.First, in.KeepOpen)
	return agent
}

// LaunchPersistent implements Host.
func (t *turn) LaunchPersistent(o PersistentOptions) (*Agent, error) {
	if _, err := t.sandbox.PrepareChat(t.userDir, nil, true); err != nil {
		return nil, err
	}
	program := t.commandOptions(t.o.Config.Command, t.dir, slices.Concat(t.persistentEnv(), o.Env))
	if o.Args != nil {
		program.Path, program.Args, program.Fallback = "", o.Args, nil
	}
	program.KeepInput, program.Terminal = true, o.Terminal
	agent, err := launch(context.Background(), t.sandboxed(program), nil)
	if err == nil {
		t.persistent.add(agent)
		t.Report(Launched(agent.Pid()))
	}
	return agent, err
}

// persistentEnv returns the environment of persistent agents, without the variables of a single
// message.
func (t *turn) persistentEnv() []string {
	return slices.Concat(t.agentEnv(), t.chatEnv(), t.dirs.Environ(), process.GatewayEnv(t.req.GatewayName))
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
	case Usage:
		report.Model = Clean(report.Model)
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
