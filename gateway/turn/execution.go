package turn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// Executor works on messages in the place of their agents, such as on a run of a runbook, and may
// have the agent work on parts of it.
type Executor interface {
	// Executes reports whether a message is for the executor.
	Executes(in channels.Incoming) bool
	// Execute works on a message. After a crash between two calls of Execution.Running it is called
	// again for the same attempt; after one during such a call, the settings and the person decide.
	Execute(ctx context.Context, x *Execution) (terminal.Outcome, error)
}

// Execution is what an executor can do in a turn.
type Execution struct {
	Inbound store.Inbound

	turn  *Turn
	calls callbacks
}

// Task is something for the agent to do in a turn that has several tasks.
type Task struct {
	Name string // unique within the message
	Text string
	Emit func(terminal.Frame) error // takes what the agent says; Execution.Emit shows it
}

// Emit shows a frame in the chat.
func (x *Execution) Emit(f terminal.Frame) error { return x.calls.emit(f) }

// ShowAbove has what tools show as progress appear below a text from now on, so that it does not
// replace what the executor shows.
func (x *Execution) ShowAbove(text string) { x.turn.tools.setAbove(text) }

// Running says that processes run from now on until the function that it returns is called, so that
// after a crash in between the turn counts as one that had begun. So does a turn whose ctx has
// ended by then, which has cut the processes off: when the gateway shuts down it is for the next
// start to find.
func (x *Execution) Running(ctx context.Context) (ended func()) {
	x.turn.recordProcess(terminal.RecordStarting())
	return func() {
		x.turn.pid.Store(0)
		if ctx.Err() == nil {
			x.turn.recordProcess(terminal.RecordNotStarted())
		}
	}
}

// NotRunning says that no process runs yet.
func (x *Execution) NotRunning() { x.turn.recordProcess(terminal.RecordNotStarted()) }

// Prompt has the agent of the chat work on a task. It is called between Running and its end.
func (x *Execution) Prompt(ctx context.Context, task Task) (terminal.Outcome, error) {
	in := x.Inbound.In
	in.Text, in.Press, in.Media, in.ReplyTo = task.Text, "", nil, nil
	req := Request(in, strconv.FormatInt(x.Inbound.ID, 10)+"."+task.Name)
	req.Task = task.Name
	calls := x.calls
	calls.emit, calls.end = task.Emit, nil
	defer x.turn.pid.Store(0)
	return x.turn.prompt(ctx, req, calls)
}

// execEnvProvider is a runner that knows the execution environment of the agent of a chat.
type execEnvProvider interface {
	ExecEnv(channel, chatID string) (terminal.ExecEnv, error)
}

var _ execEnvProvider = (*terminal.Runner)(nil)

// ExecEnv returns the environment in which the agent of the chat works.
func (x *Execution) ExecEnv() (terminal.ExecEnv, error) {
	r, ok := x.turn.set.Runner.(execEnvProvider)
	if !ok {
		return terminal.ExecEnv{}, errors.New("the agent has no execution environment")
	}
	chat := x.Inbound.In.Chat
	p, err := r.ExecEnv(chat.Channel, chat.ID)
	if err != nil {
		return p, fmt.Errorf("prepare the execution environment: %w", err)
	}
	return p, nil
}
