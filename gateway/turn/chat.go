package turn

import (
	"context"

	"nanobot/channels"
	"nanobot/internal/role"
	"nanobot/terminal"
)

// chat is the terminal.Chat of a turn.
type chat struct {
	*Turn
	emitFrame func(terminal.Frame) error
	post      func(channels.Message) error
	ask       func(context.Context, terminal.Question) (terminal.Answer, error)
	cancelled func() // called when the agent is being cancelled, by a timeout for example
}

var _ terminal.Chat = (*chat)(nil)

// newChat returns the chat of a turn, whose contexts are those of Run. Output that is printed after
// the end of running is still delivered, but the copies of large files are cancelled.
func (t *Turn) newChat(untilKilled, accepting, running context.Context, cancelled func()) *chat {
	return &chat{
		Turn:      t,
		emitFrame: func(f terminal.Frame) error { return t.emit(accepting, running, f) },
		post:      func(m channels.Message) error { return t.postMessage(accepting, m, 0) },
		ask: func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
			return t.askChat(ctx, untilKilled, q)
		},
		cancelled: cancelled,
	}
}

// Emit shows or records a frame.
func (c *chat) Emit(f terminal.Frame) error {
	if f.Kind == terminal.Log {
		c.handleLog(f)
		return nil
	}
	return c.emitFrame(f)
}

func (c *chat) MayPush() bool { return true }

func (c *chat) BoardHidden() bool { return c.display.Hidden() }

func (c *chat) HasBoard() bool { return c.inbound.Attempt > 1 || c.display.HasBoard() }

func (c *chat) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	return c.ask(ctx, q)
}

func (c *chat) Injections() <-chan terminal.Injection { return c.injections.lines }

func (c *chat) PersonTexts() []string { return c.injections.allTexts() }

func (c *chat) Memory() terminal.Memory { return c.memory }

func (c *chat) SessionAccess(ctx context.Context) (terminal.SessionAccess, error) {
	return c.stage.o.Access.Sessions(ctx, c.inbound.In, c.agent)
}

func (c *chat) Role(ctx context.Context) (role.Role, error) {
	return c.stage.o.Access.RoleOf(ctx, c.inbound.In)
}

// Report records a fact about the agent.
func (c *chat) Report(r terminal.Report) {
	switch r := r.(type) {
	case terminal.AgentInfo:
		c.info.update(r)
	case terminal.Usage:
		c.usage.add(r)
	case terminal.Launched:
		c.agentLaunched(int(r))
	case terminal.AllExited:
		c.slot.AgentExited()
	case terminal.InjectionsRefused:
		c.refuseInjections()
	case terminal.Cancelled:
		c.cancelled()
	case terminal.ClockStarted:
		c.toolAccess.setClock(r.Pause)
	}
}

// taskChat is the chat of one of several prompts in a turn. Other prompts may follow, each with a
// board that replaces the one before.
type taskChat struct {
	*chat
	emit func(terminal.Frame) error
}

// Emit passes a frame to the executor.
func (c taskChat) Emit(f terminal.Frame) error {
	if f.Kind == terminal.Log {
		return c.chat.Emit(f)
	}
	return c.emit(f)
}

func (taskChat) MayPush() bool { return false }

func (taskChat) BoardHidden() bool { return true }
func (taskChat) HasBoard() bool    { return false }

// Report is that of the turn, except that the turn goes on after the prompt.
func (c taskChat) Report(r terminal.Report) {
	switch r.(type) {
	case terminal.AllExited, terminal.Cancelled:
	default:
		c.chat.Report(r)
	}
}
