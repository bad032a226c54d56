package keys

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
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
)

// commandHelp are the descriptions of the commands in menus.
var commandHelp = map[string]string{
	screenCommand: "show the terminal, as text and as a picture",
	keyCommand:    "send keys: /key Escape :wq Enter",
	typeCommand:   "type a text and Enter",
	takeCommand:   "take the terminal over from the agent",
	giveCommand:   "hand the terminal back to the agent",
	logCommand:    "send the dialogue and a recording of the terminal",
}

func commandList(names ...string) []terminal.Command {
	var all []terminal.Command
	for _, name := range names {
		all = append(all, terminal.Command{Name: name, Help: commandHelp[name]})
	}
	return all
}

// keyButtons are the buttons under a screen that press keys.
var keyButtons = []terminal.ControlButton{
	{Label: "Enter", Command: "/key Enter"},
	{Label: "Esc", Command: "/key Escape"},
	{Label: "Tab", Command: "/key Tab"},
	{Label: "↑", Command: "/key Up"},
	{Label: "↓", Command: "/key Down"},
	{Label: "Ctrl-C", Command: "/key C-c"},
}

const (
	noTerminal = "No terminal is open. Your next message opens one."
	keyUsage   = "Write the keys after the command: /key Escape :wq Enter"
)

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

// Control runs a command of a person. The protocol screen never gets /take and /give, since there
// is no agent that has the terminal.
func (p *terminals) Control(ctx context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	s := p.find(r.Chat)
	p.pool.Touch(r.Chat)
	switch {
	case r.Command == logCommand:
		return p.runLog(r.Chat)
	case s == nil:
		return terminal.ControlReply{Text: noTerminal}, nil
	case r.Command == screenCommand:
		return runScreen(s)
	case r.Command == takeCommand:
		return runTake(s), nil
	case r.Command == giveCommand:
		return runGive(s), nil
	}
	buttons := keyButtons
	if s.isTaken() {
		buttons = takeoverButtons
	}
	return runInput(ctx, s, r, buttons)
}

// takeoverButtons are the buttons under a screen that a person has taken over.
var takeoverButtons = append(slices.Clone(keyButtons), terminal.ControlButton{Label: "Hand back", Command: "/" + giveCommand})

// buttons returns the buttons of the turn's board.
func (x *turn) buttons() []terminal.ControlButton {
	if x.s.isTaken() {
		return takeoverButtons
	}
	return []terminal.ControlButton{{Label: "Take over", Command: "/" + takeCommand}}
}

func runTake(s *session) terminal.ControlReply {
	if !s.takeOver() {
		return terminal.ControlReply{Text: "You have the terminal already. /give hands it back to the agent."}
	}
	s.log.addEntry("taken over by the user", "")
	return terminal.ControlReply{Text: "The terminal is yours: what you write is typed, with Enter. /key sends keys. /give hands it back to the agent."}
}

func runGive(s *session) terminal.ControlReply {
	if !s.handBack() {
		return terminal.ControlReply{Text: "The agent has the terminal already. /take takes it over."}
	}
	s.log.addEntry("handed back to the agent", "")
	if s.inTurn() {
		return terminal.ControlReply{Text: "The agent goes on."}
	}
	return terminal.ControlReply{Text: "The agent has the terminal again. Your next message is for it."}
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
func runInput(ctx context.Context, s *session, r terminal.ControlRequest, buttons []terminal.ControlButton) (terminal.ControlReply, error) {
	if r.Command == keyCommand && strings.TrimSpace(r.Args) == "" {
		return terminal.ControlReply{Text: keyUsage}, nil
	}
	s.typingMu.Lock()
	defer s.typingMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxReplyWait)
	defer cancel()
	s.recordUserInput()
	if !s.typeInput(ctx, r.Command, r.Args) {
		return terminal.ControlReply{Text: "Nothing was typed: the program in the terminal does not read its input. /key C-c interrupts it."}, nil
	}
	if s.inTurn() {
		return terminal.ControlReply{}, nil
	}
	s.awaitQuiet(ctx, replyQuiet, maxReplyWait)
	if s.isDead() {
		return terminal.ControlReply{Text: "The shell has ended (" + s.exit.Description() + "). Your next message is for the agent.", Screen: s.snapshot()}, nil
	}
	return terminal.ControlReply{Screen: s.snapshot(), Buttons: buttons}, nil
}

// typeInput types the keys of /key or a text. It reports false if the input queue is full.
func (s *session) typeInput(ctx context.Context, command, args string) bool {
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
func runScreen(s *session) (terminal.ControlReply, error) {
	now := s.snapshot()
	var png bytes.Buffer
	if err := picture.Encode(&png, now); err != nil {
		return terminal.ControlReply{}, fmt.Errorf("draw screen: %w", err)
	}
	return terminal.ControlReply{Screen: now, Files: []terminal.ControlFile{{Name: "screen.png", Content: png.Bytes()}}}, nil
}

// runLog runs /log: the dialogue and the recording of a chat.
func (p *terminals) runLog(chat string) (terminal.ControlReply, error) {
	l := p.logs.find(chat)
	if l == nil {
		return terminal.ControlReply{Text: "There is no log yet: no terminal was opened in this chat."}, nil
	}
	dialogue, cast := l.exportFiles()
	reply := terminal.ControlReply{Text: "What happened in the terminal. The recording can be played with asciinema."}
	if dialogue != "" {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "dialogue.txt", Content: []byte(dialogue)})
	}
	if len(cast) > 0 {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "terminal.cast", Content: cast})
	}
	return reply, nil
}
