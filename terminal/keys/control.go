package keys

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/screen/picture"
)

// Commands of people in the chat.
const (
	screenCommand = "screen"
	keyCommand    = "key"
	typeCommand   = "type"
	takeCommand   = "take"
	giveCommand   = "give"
	logCommand    = "log"
	sizeCommand   = "size"
)

// commandHelp are the descriptions of the commands in menus.
var commandHelp = map[string]words.Key{
	screenCommand: words.HelpScreen,
	keyCommand:    words.HelpKey,
	typeCommand:   words.HelpType,
	takeCommand:   words.HelpTake,
	giveCommand:   words.HelpGive,
	logCommand:    words.HelpLog,
	sizeCommand:   words.HelpSize,
}

func commandList(names ...string) []terminal.Command {
	var all []terminal.Command
	for _, name := range names {
		all = append(all, terminal.Command{Name: name, HelpKey: commandHelp[name]})
	}
	return all
}

// Controls returns the commands of people in a chat with an agent.
func (p *Protocol) Controls() []terminal.Command {
	return commandList(screenCommand, keyCommand, typeCommand, takeCommand, giveCommand, logCommand)
}

// AcceptsControl accepts every command, and also text while a person has taken over the terminal.
func (p *Protocol) AcceptsControl(chat, command string) bool {
	if command != "" {
		return true
	}
	s := p.find(chat)
	return s != nil && s.isTaken()
}

// ReadsSecret reports whether a person types where the program reads a password. The text of a turn
// is for the agent.
func (p *Protocol) ReadsSecret(r terminal.ControlRequest) bool {
	return p.AcceptsControl(r.Chat, r.Command) && p.readsSecret(r)
}

// readsSecret reports whether a message that is typed now is a password.
func (p *terminals) readsSecret(r terminal.ControlRequest) bool {
	command := r.Command
	if command == "" {
		command, _ = splitCommand(r.Args)
	}
	s := p.find(r.Chat)
	return s != nil && (command == "" || command == keyCommand || command == typeCommand) && s.agent.HidesInput()
}

// Control runs a command of a person. The protocol screen never gets /take and /give, since there
// is no agent that has the terminal.
func (p *terminals) Control(ctx context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	s := p.find(r.Chat)
	p.pool.Touch(r.Chat)
	switch {
	case r.Command == logCommand:
		return p.runLog(r)
	case s == nil:
		return terminal.ControlReply{Text: r.Words.Text(words.KeysNoTerminal)}, nil
	case r.Command == screenCommand:
		return runScreen(s, r.Words)
	case r.Command == sizeCommand:
		return p.runSize(s, r), nil
	case r.Command == takeCommand:
		return terminal.ControlReply{Text: r.Words.Text(runTake(s))}, nil
	case r.Command == giveCommand:
		return terminal.ControlReply{Text: r.Words.Text(runGive(s))}, nil
	}
	return runInput(ctx, s, r)
}

// buttons returns the buttons of the turn's board.
func (x *turn) buttons() []terminal.ControlButton {
	if x.s.isTaken() {
		return x.s.keyButtons(x.t.Words)
	}
	return []terminal.ControlButton{{Label: x.t.Words.Text(words.ButtonTakeOver), Command: "/" + takeCommand}}
}

// runTake runs /take and returns the text of the reply.
func runTake(s *session) words.Key {
	if !s.takeOver() {
		return words.KeysTakenAlready
	}
	s.log.addEntry("taken over by the user", "")
	return words.KeysTaken
}

// runGive runs /give and returns the text of the reply.
func runGive(s *session) words.Key {
	if !s.handBack() {
		return words.KeysGivenAlready
	}
	s.log.addEntry("handed back to the agent", "")
	if s.inTurn() {
		return words.KeysAgentGoesOn
	}
	return words.KeysGiven
}

const (
	// replyQuiet is the pause in the output after which the reply to a person shows the screen.
	replyQuiet = 300 * time.Millisecond
	// maxReplyWait limits the wait for that pause.
	maxReplyWait = 3 * time.Second
	// keyQuiet is the pause before the next of several keys: a program that one key starts must set
	// up the terminal before it reads the next key. maxKeyWait limits the wait for that pause.
	keyQuiet, maxKeyWait = 30 * time.Millisecond, 150 * time.Millisecond
)

// runInput types a person's input. The reply shows the screen unless a turn shows it.
func runInput(ctx context.Context, s *session, r terminal.ControlRequest) (terminal.ControlReply, error) {
	if r.Command == keyCommand && strings.TrimSpace(r.Args) == "" {
		return terminal.ControlReply{Text: r.Words.Text(words.KeysUsage)}, nil
	}
	s.typingLock <- struct{}{}
	defer s.unlockTyping()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer process.NewStopwatch(maxReplyWait, cancel).Stop()
	s.recordUserInput()
	if !s.typeInput(ctx, r.Command, r.Args) {
		return terminal.ControlReply{Text: r.Words.Text(words.KeysNothingTyped)}, nil
	}
	if s.inTurn() {
		return terminal.ControlReply{}, nil
	}
	s.awaitQuiet(ctx, replyQuiet, maxReplyWait)
	if s.isDead() {
		return terminal.ControlReply{
			Text:   r.Words.Text(words.KeysShellEnded, s.exit.Description(r.Words)),
			Screen: s.snapshot(), Live: true,
		}, nil
	}
	return terminal.ControlReply{Screen: s.snapshot(), Live: true, Buttons: s.keyButtons(r.Words)}, nil
}

// typeInput types the keys of /key or a text. It reports false if the input queue is full.
func (s *session) typeInput(ctx context.Context, command, args string) bool {
	if command == keyCommand && args == otherKeys {
		s.swapKeys()
		return true
	}
	typed := args
	if s.agent.HidesInput() {
		typed = "(not shown, as a password)"
	}
	s.log.addEntry("typed by the user", typed)
	switch command {
	case keyCommand:
		ok := true
		for _, key := range strings.Fields(args) {
			ok = s.pressKeys(ctx, key) && ok
			s.awaitQuiet(ctx, keyQuiet, maxKeyWait)
		}
		return ok
	}
	return s.typeText(ctx, args) && s.pressKeys(ctx, "Enter")
}

// runScreen runs /screen: the screen as text and as a picture.
func runScreen(s *session, w words.Words) (terminal.ControlReply, error) {
	now := s.snapshot()
	var png bytes.Buffer
	missing, err := picture.Encode(&png, now, picture.SystemFonts)
	if err != nil {
		return terminal.ControlReply{}, fmt.Errorf("draw screen: %w", err)
	}
	reply := terminal.ControlReply{
		Screen: now, Files: []terminal.ControlFile{{Name: "screen.png", Content: png.Bytes()}},
	}
	if len(missing) > 0 {
		named := string(missing[:min(len(missing), maxMissing)])
		reply.Text = w.Text(words.KeysPictureLacks, strings.Join(strings.Split(named, ""), " "))
	}
	return reply, nil
}

// maxMissing limits the characters that are named because a picture lacks them.
const maxMissing = 10

// runLog runs /log: the dialogue and the recording of a chat.
func (p *terminals) runLog(r terminal.ControlRequest) (terminal.ControlReply, error) {
	l := p.logs.find(r.Chat)
	if l == nil {
		return terminal.ControlReply{Text: r.Words.Text(words.KeysNoLog)}, nil
	}
	dialogue, cast := l.exportFiles()
	reply := terminal.ControlReply{Text: r.Words.Text(words.KeysLog)}
	if dialogue != "" {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "dialogue.txt", Content: []byte(dialogue)})
	}
	if len(cast) > 0 {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "terminal.cast", Content: cast})
	}
	return reply, nil
}
