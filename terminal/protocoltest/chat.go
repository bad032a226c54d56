// Package protocoltest tests protocols: Run is the suite that every protocol passes, and Chat is a
// chat that a test watches.
package protocoltest

import (
	"context"

	"nanobot/internal/role"
	"nanobot/terminal"
)

// Ask is the method of a terminal.Chat.
type Ask func(context.Context, terminal.Question) (terminal.Answer, error)

// Chat is a terminal.Chat whose methods call functions. What is not set is that of terminal.NoChat.
type Chat struct {
	terminal.NoChat
	OnFrame  func(terminal.Frame) error // gets all frames but those for the log
	OnLog    func(terminal.Frame)
	OnAsk    Ask
	OnPush   func(terminal.Frame) error
	OnAwait  func(context.Context) (resume func(context.Context) error)
	OnAside  func(context.Context) (back func(context.Context) error)
	OnReport func(terminal.Report)
	Hidden   bool // the board is
	Inject   <-chan terminal.Injection
	Texts    []string // of the person
	Access   terminal.SessionAccess
	Who      role.Role
	Remember terminal.Memory
}

// Frames returns a chat that passes all frames but those for the log to a function.
func Frames(emit func(terminal.Frame) error) *Chat { return &Chat{OnFrame: emit} }

// OnLaunch returns an OnReport that passes on the PIDs of processes.
func OnLaunch(launched func(pid int)) func(terminal.Report) {
	return func(r terminal.Report) {
		if pid, ok := r.(terminal.Launched); ok {
			launched(int(pid))
		}
	}
}

var _ terminal.Chat = (*Chat)(nil)

// Emit calls OnFrame or OnLog.
func (c *Chat) Emit(f terminal.Frame) error {
	switch {
	case f.Kind == terminal.Log && c.OnLog != nil:
		c.OnLog(f)
	case f.Kind != terminal.Log && c.OnFrame != nil:
		return c.OnFrame(f)
	}
	return nil
}

// Ask calls OnAsk.
func (c *Chat) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	if c.OnAsk == nil {
		return c.NoChat.Ask(ctx, q)
	}
	return c.OnAsk(ctx, q)
}

// Push calls OnPush.
func (c *Chat) Push(f terminal.Frame) error {
	if c.OnPush == nil {
		return c.NoChat.Push(f)
	}
	return c.OnPush(f)
}

// MayPush reports whether OnPush is set.
func (c *Chat) MayPush() bool { return c.OnPush != nil }

// BoardHidden returns Hidden.
func (c *Chat) BoardHidden() bool { return c.Hidden }

// HasBoard returns the opposite of Hidden.
func (c *Chat) HasBoard() bool { return !c.Hidden }

// AwaitPerson calls OnAwait.
func (c *Chat) AwaitPerson(ctx context.Context) (resume func(context.Context) error) {
	if c.OnAwait == nil {
		return nil
	}
	return c.OnAwait(ctx)
}

// StepAside calls OnAside.
func (c *Chat) StepAside(ctx context.Context) (back func(context.Context) error) {
	if c.OnAside == nil {
		return nil
	}
	return c.OnAside(ctx)
}

// Injections returns Inject.
func (c *Chat) Injections() <-chan terminal.Injection { return c.Inject }

// PersonTexts returns Texts.
func (c *Chat) PersonTexts() []string { return c.Texts }

// SessionAccess returns Access.
func (c *Chat) SessionAccess(context.Context) (terminal.SessionAccess, error) { return c.Access, nil }

// Role returns Who.
func (c *Chat) Role(context.Context) (role.Role, error) { return c.Who, nil }

// Memory returns Remember.
func (c *Chat) Memory() terminal.Memory {
	if c.Remember == nil {
		return c.NoChat.Memory()
	}
	return c.Remember
}

// Report calls OnReport.
func (c *Chat) Report(r terminal.Report) {
	if c.OnReport != nil {
		c.OnReport(r)
	}
}
