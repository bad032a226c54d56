package keys

import (
	"context"
	"errors"
	"strings"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// A turn without an agent ends when the program has written nothing for turnQuiet.
const turnQuiet = 2 * time.Second

// Screen puts a program with a terminal screen into a chat, with a person at the keyboard.
type Screen struct {
	*terminals
}

var (
	_ terminal.Protocol           = (*Screen)(nil)
	_ terminal.PersistentProtocol = (*Screen)(nil)
	_ terminal.Controller         = (*Screen)(nil)
	_ terminal.Restarter          = (*Screen)(nil)
)

// NewScreen returns a protocol that has no terminal yet.
func NewScreen(cfg config.Terminal) *Screen { return &Screen{newTerminals(cfg)} }

// Turn types a message and shows the screen until the program is quiet. The program lives on.
func (p *Screen) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return p.onTerminal(ctx, t, nil, func(s *session, opened bool) (terminal.Outcome, error) {
		d := show(ctx, t, s, displayOptions{buttons: func() []terminal.ControlButton { return keyRow }})
		defer d.end()
		p.typeMessage(ctx, t, s, opened)
		s.awaitTurnQuiet(ctx)
		d.end()
		return p.showEnd(ctx, t, s)
	})
}

// typeMessage types the message of a turn, before everything that is written after it.
func (p *Screen) typeMessage(ctx context.Context, t terminal.Turn, s *session, opened bool) {
	s.order.Lock()
	defer s.order.Unlock()
	if opened {
		s.awaitPrompt(ctx)
	}
	command, args := splitCommand(t.Envelope.Text)
	// /screen only shows, and a file without words types nothing.
	if command == screenCommand || len(t.Envelope.Media) > 0 && strings.TrimSpace(args) == "" {
		return
	}
	s.typeCommand(ctx, command, args)
}

// awaitTurnQuiet returns when the program is quiet or has ended, or when ctx ends.
func (s *session) awaitTurnQuiet(ctx context.Context) {
	for ctx.Err() == nil && !s.isDead() && s.quietFor() < turnQuiet {
		s.awaitQuiet(ctx, turnQuiet, time.Hour)
	}
}

// showEnd leaves the screen in the chat when a turn ends.
func (p *Screen) showEnd(ctx context.Context, t terminal.Turn, s *session) (terminal.Outcome, error) {
	frame := terminal.Frame{Kind: terminal.Message, Screen: s.snapshot(), Buttons: keyRow}
	if files := t.Envelope.Media; len(files) > 0 {
		frame.Text = "Your files are here: " + strings.Join(files, ", ")
	}
	out := terminal.Outcome{Status: terminal.Done}
	switch {
	case s.isDead():
		frame.Text, frame.Buttons = "The program has ended ("+s.ended.Description()+").", nil
		if !s.ended.OK() {
			out = terminal.Outcome{Status: terminal.Failed, ExitCode: s.ended.Code, Signal: s.ended.Signal}
		}
	case errors.Is(context.Cause(ctx), terminal.ErrTimeout): // the program is not to blame that it goes on
	case ctx.Err() != nil:
		s.interrupt()
		return t.EmitStopped(ctx)
	}
	return out, t.Emit(frame)
}

// splitCommand returns the command that a message begins with, without the slash, if it is one of
// the commands that type something.
func splitCommand(text string) (command, args string) {
	word, args := strings.TrimSpace(text), ""
	if at := strings.IndexAny(word, " \t\r\n"); at >= 0 {
		word, args = word[:at], word[at:]
	}
	for _, name := range []string{keyCommand, typeCommand, screenCommand} {
		if strings.EqualFold(word, "/"+name) {
			return name, strings.TrimSpace(args)
		}
	}
	return "", text
}

// Controls returns the commands of people.
func (p *Screen) Controls() []terminal.Command {
	return commandList(screenCommand, keyCommand, typeCommand, logCommand)
}

// AcceptsControl accepts what is typed while a turn shows the screen; otherwise it gets a turn of
// its own, which does.
func (p *Screen) AcceptsControl(chat, command string) bool {
	s := p.find(chat)
	switch command {
	case logCommand:
		return true
	case screenCommand:
		return s != nil
	}
	return s != nil && s.inTurn()
}
