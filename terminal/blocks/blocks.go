package blocks

import (
	"context"
	"strings"
	"sync"

	"nanobot/config"
	"nanobot/internal/role"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Protocol runs sessions with models that have no tool calls.
type Protocol struct {
	settings *Settings
	waiting  waitingTurns
	fileMu   sync.Mutex // held while a session changes a file
}

var (
	_ terminal.Protocol      = (*Protocol)(nil)
	_ terminal.Controller    = (*Protocol)(nil)
	_ terminal.MessageReader = (*Protocol)(nil)
)

// New returns the protocol for an agent.
func New(cfg config.Terminal) *Protocol { return &Protocol{settings: SettingsOf(cfg)} }

// Commands of people in the chat.
const (
	resumeCommand = "resume"
	diffCommand   = "diff"
	undoCommand   = "undo"
)

// Controls returns the commands for menus.
func (p *Protocol) Controls() []terminal.Command {
	return []terminal.Command{
		{Name: resumeCommand, HelpKey: words.HelpResume, Resumes: true},
		{Name: diffCommand, HelpKey: words.HelpDiff},
		{Name: undoCommand, HelpKey: words.HelpUndo},
	}
}

// AcceptsControl accepts nothing: commands run as turns, so that none runs while a session changes
// files.
func (p *Protocol) AcceptsControl(string, string) bool { return false }

// Control is never called, because no command is accepted.
func (p *Protocol) Control(context.Context, terminal.ControlRequest) (terminal.ControlReply, error) {
	return terminal.ControlReply{}, terminal.ErrNoController
}

// parsePersonCommand returns the command in a message, or "".
func parsePersonCommand(text string) string {
	for _, name := range []string{resumeCommand, diffCommand, undoCommand} {
		if strings.EqualFold(strings.TrimSpace(text), "/"+name) {
			return name
		}
	}
	return ""
}

// Turn processes a message: a task or a command.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	files, err := openFolder(t.Envelope.UserDataDir)
	if err != nil {
		return terminal.Outcome{}, err
	}
	defer files.close()
	space, err := openWorkspace(t.ExecEnv())
	if err != nil {
		return terminal.Outcome{}, err
	}
	defer space.close()
	x := &turn{t: t, settings: p.settings, files: files, space: space, fileMu: &p.fileMu}
	if x.command, err = ownCommand(ctx, t); err != nil {
		return terminal.Outcome{}, err
	}
	switch x.command {
	case diffCommand:
		return x.endWithMessage(x.showDiff)
	case undoCommand:
		return x.endWithMessage(x.undo)
	}
	found, err := x.findSession()
	if err != nil {
		return terminal.Outcome{}, err
	}
	if !found {
		return x.endWithMessage(func() (terminal.Frame, error) {
			return terminal.Frame{Text: x.text(words.BlocksNoTask)}, nil
		})
	}
	if err := x.openChanges(); err != nil {
		return terminal.Outcome{}, err
	}
	defer x.changes.close()
	if p.settings.Agent == personAgent {
		person := p.waiting.add(x)
		defer p.waiting.remove(person)
		return x.run(ctx, person)
	}
	return x.run(ctx, &commandTransport{x})
}

// ownCommand returns the command of a message; "": it is a task, also if somebody has forwarded a
// command, or may not give it.
func ownCommand(ctx context.Context, t terminal.Turn) (string, error) {
	command := parsePersonCommand(t.Envelope.Text)
	if command == "" || t.Envelope.Forwarded != nil {
		return "", nil
	}
	r, err := t.Role(ctx)
	if err != nil || !role.May(r, role.OfCommand(command), role.NoList) {
		return "", err
	}
	return command, nil
}

// endWithMessage ends a turn with one message.
func (x *turn) endWithMessage(message func() (terminal.Frame, error)) (terminal.Outcome, error) {
	return terminal.Outcome{Status: terminal.Done}, x.sendResult(message)
}
