package terminal

import (
	"context"
	"errors"
	"strings"

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
	// FittingSize is that of the message, see Request.
	FittingSize string
}

// ControlReply is the reply to a command. The zero value sends nothing.
type ControlReply struct {
	Text    string // Markdown
	Screen  *screen.Snapshot
	Live    bool // Screen is the live screen of the chat; see Frame
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

// Control carries out a command of the agent's protocol.
func (r *Runner) Control(ctx context.Context, req ControlRequest) (ControlReply, error) {
	reply, err := r.Controller.Control(ctx, req)
	reply.Text = Clean(reply.Text)
	return reply, err
}

// noFeatures stands for the optional interfaces that a protocol does not implement.
type noFeatures struct{}

func (noFeatures) Controls() []Command                { return nil }
func (noFeatures) AcceptsControl(string, string) bool { return false }
func (noFeatures) ReadsSecret(ControlRequest) bool    { return false }
func (noFeatures) StopCommands(string) (int, bool)    { return 0, false }
func (noFeatures) LeftCommands(string) []string       { return nil }
func (noFeatures) EndLeftCommands(string) int         { return 0 }
func (noFeatures) EndSession(string)                  {}
func (noFeatures) Control(context.Context, ControlRequest) (ControlReply, error) {
	return ControlReply{}, ErrNoController
}

// featureOf returns a protocol as one of its optional interfaces, or noFeatures.
func featureOf[T any](p Protocol) T {
	if feature, ok := p.(T); ok {
		return feature
	}
	return any(noFeatures{}).(T)
}

// MessageReader is a protocol whose turns can read messages that people send while the turn runs.
type MessageReader interface {
	// ReadMessage offers a message that arrived during a turn of its chat. It reports whether the
	// turn reads the message; then the protocol has stored the message and its files, and the
	// gateway does nothing else with it. Otherwise the message waits in the queue of the chat, and
	// is offered again when the turn calls Chat.AwaitPerson. It must return within a second.
	//
	// After a crash or an error, a message that was read (identified by Chat and ID) may be offered
	// again, even after the end of that turn: each message is offered once more before it gets a
	// turn. ReadMessage then reports true and does nothing. It must remember the IDs for as long as
	// networks redeliver messages, which can be days.
	//
	// A message with nothing but its Chat asks whether the turn would read a message now.
	ReadMessage(ctx context.Context, m PersonMessage) (read bool, err error)
}

// PersonMessage is a message from a person.
type PersonMessage struct {
	Chat  string   // an Envelope.SessionKey
	ID    string   // of the network; "": it has none, and is offered once
	User  string   // ID of the person
	Text  string   // may be empty
	Media []string // absolute paths of the files that came with it
	// UserDataDir is the folder of the chat. The runner sets it.
	UserDataDir string
}

// ReadsMessages reports whether the turns of the agent's protocol may read messages.
func (r *Runner) ReadsMessages() bool {
	_, ok := r.o.Protocol.(MessageReader)
	return ok
}

// ReadMessage offers a message to the agent's protocol, except one with files that become text at
// the beginning of a turn.
func (r *Runner) ReadMessage(ctx context.Context, m PersonMessage) (bool, error) {
	reader, ok := r.o.Protocol.(MessageReader)
	if !ok || r.Hears(m.Media, nil) {
		return false, nil
	}
	channel, id, _ := strings.Cut(m.Chat, ":")
	var err error
	if m.UserDataDir, err = UserDir(r.o.Workspace, channel, id); err != nil {
		return false, err
	}
	return reader.ReadMessage(ctx, m)
}

// AwaitPerson stops the clock of the turn during the wait.
func (t *turn) AwaitPerson(ctx context.Context) (resume func(context.Context) error) {
	restart := t.pause()
	again := t.Chat.AwaitPerson(ctx)
	if again == nil { // nobody can answer, so the time counts
		restart()
		return context.Cause
	}
	return func(ctx context.Context) error {
		defer restart()
		return again(ctx)
	}
}
