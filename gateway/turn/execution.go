package turn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// Executor works on some messages instead of their agents, for example on a run of a runbook. It
// may have the agent work on single tasks.
type Executor interface {
	// Executes reports whether the executor works on this message.
	Executes(in channels.Incoming) bool
	// Execute works on a message. After a crash outside of Execution.MarkRunning and its end,
	// Execute is called again for the same attempt; after a crash in between, the setting onCrash
	// decides.
	Execute(ctx context.Context, x *Execution) (terminal.Outcome, error)
}

// Execution gives an executor access to its turn.
type Execution struct {
	Inbound store.Inbound

	turn *Turn
	chat *chat
}

// Task is one of several prompts to the agent within a turn.
type Task struct {
	Name string // unique within the message
	Text string
	Emit func(terminal.Frame) error // receives the agent's frames; Execution.Emit shows them
}

// Words returns the words in the language of the asker.
func (x *Execution) Words() words.Words { return x.turn.words }

// Emit shows a frame in the chat.
func (x *Execution) Emit(f terminal.Frame) error { return x.chat.Emit(f) }

// ShowHeading shows a heading on the board. From now on, the progress of the agent and of its tools
// appears below it.
func (x *Execution) ShowHeading(text string) error {
	x.turn.setHeading(text)
	return x.chat.Emit(terminal.Frame{Kind: terminal.Progress})
}

// MarkRunning records that processes run until ended is called, so that after a crash in between
// the turn counts as started. The record also stays if ctx has ended by then: a shutdown has killed
// the processes, and the next start has to report or retry the turn.
func (x *Execution) MarkRunning(ctx context.Context) (ended func()) {
	x.turn.recordProcess(process.NewStartingRecord())
	return func() {
		x.turn.pid.Store(0)
		if ctx.Err() == nil {
			x.turn.recordProcess(process.NewNotStartedRecord())
		}
	}
}

// MarkNotRunning records that no process runs yet.
func (x *Execution) MarkNotRunning() { x.turn.recordProcess(process.NewNotStartedRecord()) }

// Prompt has the agent of the chat work on a task. It is called between MarkRunning and its end.
func (x *Execution) Prompt(ctx context.Context, task Task) (terminal.Outcome, error) {
	in := x.Inbound.In
	in.Text, in.Press, in.Media, in.ReplyTo = task.Text, "", nil, nil
	req := RequestFor(in, strconv.FormatInt(x.Inbound.ID, 10)+"."+task.Name)
	req.Task = task.Name
	defer x.turn.pid.Store(0)
	return x.turn.promptAgent(ctx, req, taskChat{x.chat, task.Emit})
}

// execEnvProvider is a runner that knows the execution environment of the agent for a message.
type execEnvProvider interface {
	ExecEnvFor(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.ExecEnv, error)
}

var _ execEnvProvider = (*terminal.Runner)(nil)

// ExecEnv returns the environment in which the agent works on the message.
func (x *Execution) ExecEnv(ctx context.Context) (terminal.ExecEnv, error) {
	r, ok := x.turn.settings.Runner.(execEnvProvider)
	if !ok {
		return terminal.ExecEnv{}, errors.New("the agent has no execution environment")
	}
	req := RequestFor(x.Inbound.In, strconv.FormatInt(x.Inbound.ID, 10))
	req.Words, req.RunName = x.Words(), RunName(x.Inbound)
	p, err := r.ExecEnvFor(ctx, req, x.chat)
	if err != nil {
		return p, fmt.Errorf("prepare the execution environment: %w", err)
	}
	return p, nil
}
