package keys

import (
	"context"
	"errors"
	"strings"
	"time"

	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// turnQuiet is the pause in the output that ends a turn without an agent.
const turnQuiet = 2 * time.Second

// Screen shows a terminal program in a chat, with a person at the keyboard.
type Screen struct {
	*terminals
}

var (
	_ terminal.Protocol           = (*Screen)(nil)
	_ terminal.PersistentProtocol = (*Screen)(nil)
	_ terminal.Controller         = (*Screen)(nil)
	_ terminal.Restarter          = (*Screen)(nil)
	_ terminal.SecretReader       = (*Screen)(nil)
)

// NewScreen returns a protocol without any terminals.
func NewScreen(cfg config.Terminal) *Screen { return &Screen{newTerminals(cfg, personSize)} }

// Turn types a message and shows the screen until the output pauses. The program keeps running.
func (p *Screen) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if command, args := splitCommand(t.Envelope.Text); command == sizeCommand {
		if _, ok := parseSize(args); !ok && args != autoSize {
			usage := terminal.Frame{Kind: terminal.Message, Silent: true, Text: sizeUsage(t.Words)}
			return terminal.Outcome{Status: terminal.Done}, t.Emit(usage)
		}
		if err := p.chooseSize(ctx, t, &args); err != nil {
			return terminal.Outcome{}, err
		}
	}
	return p.withTerminal(ctx, t, nil, func(s *session, opened bool) (terminal.Outcome, error) {
		d := startDisplay(ctx, t, s, displayOptions{
			buttons: func() []terminal.ControlButton { return s.keyButtons(t.Words) }, live: true,
		})
		defer d.end()
		p.typeMessage(ctx, t, s, opened)
		s.awaitTurnQuiet(ctx)
		d.end()
		if err := p.chooseSize(ctx, t, s.chosenSize.Swap(nil)); err != nil {
			return terminal.Outcome{}, err
		}
		return p.showEnd(ctx, t, s)
	})
}

// typeMessage types the message of a turn before any later input.
func (p *Screen) typeMessage(ctx context.Context, t terminal.Turn, s *session, opened bool) {
	s.typingLock <- struct{}{}
	defer s.unlockTyping()
	if opened {
		s.awaitPrompt(ctx)
	}
	command, args := splitCommand(t.Envelope.Text)
	// /screen and /size only show the screen, and a file without a text types nothing.
	if command == screenCommand || command == sizeCommand || len(t.Envelope.Media) > 0 && strings.TrimSpace(args) == "" {
		return
	}
	s.typeInput(ctx, command, args)
}

// awaitTurnQuiet returns when the output pauses, when the program has exited, or when ctx ends.
func (s *session) awaitTurnQuiet(ctx context.Context) {
	for s.turnContinues(ctx) {
		s.awaitQuiet(ctx, turnQuiet, time.Hour)
	}
}

// turnContinues reports whether a turn is to wait for output. If not, the turn shows nothing that
// is typed from now on, so that later input gets a turn or an answer of its own.
func (s *session) turnContinues(ctx context.Context) bool {
	select {
	case s.typingLock <- struct{}{}: // the turn shows what was accepted before
		defer s.unlockTyping()
		if ctx.Err() == nil && !s.isDead() && s.quietFor() < turnQuiet {
			return true
		}
	case <-ctx.Done():
	}
	s.setInTurn(false)
	return false
}

func (s *session) unlockTyping() { <-s.typingLock }

// showEnd sends the screen as the last message of a turn.
func (p *Screen) showEnd(ctx context.Context, t terminal.Turn, s *session) (terminal.Outcome, error) {
	frame := terminal.Frame{
		Kind: terminal.Message, Screen: s.snapshot(), Live: true, Silent: true, Buttons: s.keyButtons(t.Words),
	}
	if files := t.Envelope.Media; len(files) > 0 {
		frame.Text = t.Words.Text(words.KeysFilesAreHere, strings.Join(files, ", "))
	}
	out := terminal.Outcome{Status: terminal.Done}
	switch {
	case s.isDead():
		frame.Text, frame.Buttons = t.Words.Text(words.KeysProgramEnded, s.exit.Description(t.Words)), nil
		if !s.exit.OK() {
			out = terminal.Outcome{Status: terminal.Failed, ExitCode: s.exit.Code, Signal: s.exit.Signal}
		}
	case errors.Is(context.Cause(ctx), terminal.ErrTimeout): // not an error: the program may run longer than a turn
	case ctx.Err() != nil:
		s.interrupt()
		if err := t.Emit(frame); err != nil {
			return out, err
		}
		return t.EmitStopped(ctx)
	}
	return out, t.Emit(frame)
}

// splitCommand returns the command at the start of a message, without the slash, if it is /key,
// /type, /screen or /size.
func splitCommand(text string) (command, args string) {
	word, args := strings.TrimSpace(text), ""
	if at := strings.IndexAny(word, " \t\r\n"); at >= 0 {
		word, args = word[:at], word[at:]
	}
	for _, name := range []string{keyCommand, typeCommand, screenCommand, sizeCommand} {
		if strings.EqualFold(word, "/"+name) {
			return name, strings.TrimSpace(args)
		}
	}
	return "", text
}

// Controls returns the commands of people.
func (p *Screen) Controls() []terminal.Command {
	return commandList(screenCommand, keyCommand, typeCommand, sizeCommand, logCommand)
}

// ReadsSecret reports whether a message is typed where the program reads a password.
func (p *Screen) ReadsSecret(r terminal.ControlRequest) bool { return p.readsSecret(r) }

// AcceptsControl accepts input while a turn shows the screen. Other input gets a turn of its own.
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
