package terminal

import (
	"context"
	"errors"

	"nanobot/internal/words"
	"nanobot/terminal/screen"
)

// Controller is a protocol with commands for people that it carries out itself, during a turn of
// the chat and between turns. A chat is an Envelope.SessionKey.
type Controller interface {
	// Controls returns the commands, for menus and help.
	Controls() []Command
	// AcceptsControl reports whether the protocol carries out a command in this chat now. Otherwise
	// the message gets a turn. The command "" stands for text that is no command.
	AcceptsControl(chat, command string) bool
	// Control carries out an accepted command. It must return within seconds. An error is shown to
	// the person.
	Control(ctx context.Context, r ControlRequest) (ControlReply, error)
}

// SecretReader is a Controller whose programs may read passwords.
type SecretReader interface {
	// ReadsSecret reports whether a message would be typed now, as a command or by a turn, where
	// the program reads a line without echo. Such a message is stored and shown nowhere.
	ReadsSecret(r ControlRequest) bool
}

// Screen is a snapshot of a terminal screen, for packages that do not import the emulator.
type Screen = screen.Snapshot

// ControlRequest is a message that a Controller acts on.
type ControlRequest struct {
	Chat    string
	Command string      // without the slash; "": text that is no command
	Args    string      // what follows the command, or the text
	Words   words.Words // for the reply
}

// ControlReply is the reply to a command. The zero value sends nothing.
type ControlReply struct {
	Text    string // Markdown
	Screen  *screen.Snapshot
	Buttons []ControlButton
	Files   []ControlFile
}

// ControlButton is a command that people can choose by a button.
type ControlButton struct {
	Label   string
	Command string // as a person would write it, with the slash; at most 63 bytes
}

// ControlFile is a file that a Controller has created.
type ControlFile struct {
	Name    string
	Content []byte
}

// ErrNoController says that the agent's protocol has no commands of its own.
var ErrNoController = errors.New("the agent has no such command")

// controller returns the agent's protocol, if it is a Controller.
func (r *Runner) controller() Controller {
	c, _ := r.o.Protocol.(Controller)
	return c
}

// Controls returns the commands that the agent's protocol carries out itself.
func (r *Runner) Controls() []Command {
	if c := r.controller(); c != nil {
		return c.Controls()
	}
	return nil
}

// AcceptsControl reports whether the agent's protocol carries out a command in a chat now.
func (r *Runner) AcceptsControl(chat, command string) bool {
	c := r.controller()
	return c != nil && c.AcceptsControl(chat, command)
}

// ReadsSecret reports whether a message would be typed where a program reads a password.
func (r *Runner) ReadsSecret(req ControlRequest) bool {
	s, ok := r.o.Protocol.(SecretReader)
	return ok && s.ReadsSecret(req)
}

// Control carries out a command of the agent's protocol.
func (r *Runner) Control(ctx context.Context, req ControlRequest) (ControlReply, error) {
	c := r.controller()
	if c == nil {
		return ControlReply{}, ErrNoController
	}
	reply, err := c.Control(ctx, req)
	reply.Text = Clean(reply.Text)
	return reply, err
}
