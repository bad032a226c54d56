package terminal

import (
	"context"
	"slices"
	"time"

	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
	"nanobot/terminal/warm"
)

// newWaiting returns what starts processes before their messages, as the config says.
func (r *Runner) newWaiting() *warm.Waiting {
	cfg := r.o.Config
	o := warm.Options{
		Chats: cfg.Warm.Chats, Spares: cfg.Warm.Spare, For: time.Duration(cfg.Warm.For) * time.Second, Command: cfg.Command,
		Dir: r.workDir(), Path: lookupEnv(r.env, "PATH"), Watch: cfg.Warm.Watch, Workspace: r.o.Workspace, Log: r.o.Log,
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
			return r.sandbox.Apply(r.warmOptions(slices.Concat(r.env, r.socketEnv(), process.GatewayEnv(gateway))), sandbox.ChatDirs{})
		})
	}
}

// WarmAgents returns how many processes wait for a message.
func (r *Runner) WarmAgents() int { return r.warm.Count() }

// warmOptions returns the options of a process that is started before its message.
func (r *Runner) warmOptions(env []string) process.Options {
	return process.Options{
		Args: []string{r.o.Config.Shell, "-c", r.command.Expand("", ShellQuote)}, Dir: r.workDir(), Env: env,
		DelayInput: true, Grace: outputGrace, StderrTail: stderrTail,
	}
}

// prepareNext starts the process for the next turn of the chat. The temporary files are removed
// now, while no agent of the chat can be running.
func (t *turn) prepareNext() {
	t.warm.Prepare(t.req.Channel+":"+t.req.ChatID, func() error {
		_, err := t.sandbox.PrepareChat(t.userDir, nil, true)
		return err
	}, func() process.Options { return t.sandboxed(t.warmOptions(t.persistentEnv())) })
}

// killWaiting ends the process that was waiting for the turn, if the turn has not used it.
func (t *turn) killWaiting() {
	if t.waiting != nil {
		t.waiting.Kill()
		t.waiting.Wait()
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
