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

// The commands that people have.
const (
	screenCommand = "screen"
	keyCommand    = "key"
	typeCommand   = "type"
	takeCommand   = "take"
	giveCommand   = "give"
	logCommand    = "log"
)

// helps are the commands as menus show them.
var helps = map[string]string{
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
		all = append(all, terminal.Command{Name: name, Help: helps[name]})
	}
	return all
}

// keyRow are the keys that people reach by buttons.
var keyRow = []terminal.ControlButton{
	{Label: "Enter", Command: "/key Enter"},
	{Label: "Esc", Command: "/key Escape"},
	{Label: "Tab", Command: "/key Tab"},
	{Label: "↑", Command: "/key Up"},
	{Label: "↓", Command: "/key Down"},
	{Label: "Ctrl-C", Command: "/key C-c"},
}

const (
	noTerminal = "No terminal is open. Your next message opens one."
	howToKey   = "Write the keys after the command: /key Escape :wq Enter"
)

// Controls returns the commands of people in a chat with an agent.
func (p *Protocol) Controls() []terminal.Command {
	return commandList(screenCommand, keyCommand, typeCommand, takeCommand, giveCommand, logCommand)
}

// AcceptsControl accepts every command, and text while a person has the terminal.
func (p *Protocol) AcceptsControl(chat, command string) bool {
	if command != "" {
		return true
	}
	s := p.find(chat)
	return s != nil && s.isTaken()
}

// Control carries out a command of a person. /take and /give are not among those of Screen, where
// no agent has the terminal.
func (p *terminals) Control(ctx context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	s := p.find(r.Chat)
	p.kept.Touch(r.Chat)
	switch {
	case r.Command == logCommand:
		return p.sendLog(r.Chat)
	case s == nil:
		return terminal.ControlReply{Text: noTerminal}, nil
	case r.Command == screenCommand:
		return picturedScreen(s)
	case r.Command == takeCommand:
		return takeTerminal(s), nil
	case r.Command == giveCommand:
		return giveTerminal(s), nil
	}
	buttons := keyRow
	if s.isTaken() {
		buttons = takenButtons
	}
	return typeForUser(ctx, s, r, buttons)
}

// takenButtons are the buttons under a screen that a person has taken over.
var takenButtons = append(slices.Clone(keyRow), terminal.ControlButton{Label: "Hand back", Command: "/" + giveCommand})

// buttons are those of the board of a turn.
func (x *turn) buttons() []terminal.ControlButton {
	if x.s.isTaken() {
		return takenButtons
	}
	return []terminal.ControlButton{{Label: "Take over", Command: "/" + takeCommand}}
}

func takeTerminal(s *session) terminal.ControlReply {
	if !s.takeOver() {
		return terminal.ControlReply{Text: "You have the terminal already. /give hands it back to the agent."}
	}
	s.log.add("taken over by the user", "")
	return terminal.ControlReply{Text: "The terminal is yours: what you write is typed, with Enter. /key sends keys. /give hands it back to the agent."}
}

func giveTerminal(s *session) terminal.ControlReply {
	if !s.handBack() {
		return terminal.ControlReply{Text: "The agent has the terminal already. /take takes it over."}
	}
	s.log.add("handed back to the agent", "")
	if s.inTurn() {
		return terminal.ControlReply{Text: "The agent goes on."}
	}
	return terminal.ControlReply{Text: "The agent has the terminal again. Your next message is for it."}
}

const (
	// settled is the pause in the output after which a key has had its effect.
	settled = 300 * time.Millisecond
	// mostSettling is how long the reply to a person waits for that pause.
	mostSettling = 3 * time.Second
	// betweenKeys is the pause before the next key of several: a program that one key starts must
	// set up the terminal before it gets the next. mostBetweenKeys bounds the wait for that pause.
	betweenKeys, mostBetweenKeys = 30 * time.Millisecond, 150 * time.Millisecond
)

// typeForUser types what a person wrote. Where no turn shows the screen, the reply does.
func typeForUser(ctx context.Context, s *session, r terminal.ControlRequest, buttons []terminal.ControlButton) (terminal.ControlReply, error) {
	if r.Command == keyCommand && strings.TrimSpace(r.Args) == "" {
		return terminal.ControlReply{Text: howToKey}, nil
	}
	s.order.Lock()
	defer s.order.Unlock()
	ctx, cancel := context.WithTimeout(ctx, mostSettling)
	defer cancel()
	s.recordUserInput()
	if !s.typeCommand(ctx, r.Command, r.Args) {
		return terminal.ControlReply{Text: "Nothing was typed: the program in the terminal does not read its input. /key C-c interrupts it."}, nil
	}
	if s.inTurn() {
		return terminal.ControlReply{}, nil
	}
	s.awaitQuiet(ctx, settled, mostSettling)
	if s.isDead() {
		return terminal.ControlReply{Text: "The shell has ended (" + s.ended.Description() + "). Your next message is for the agent.", Screen: s.snapshot()}, nil
	}
	return terminal.ControlReply{Screen: s.snapshot(), Buttons: buttons}, nil
}

// typeCommand types what a person means by a command or by text. It reports false if too much waits
// to be typed already.
func (s *session) typeCommand(ctx context.Context, command, args string) bool {
	typed := args
	if s.agent.HidesInput() {
		typed = "(not shown, as a password)"
	}
	s.log.add("typed by the user", typed)
	switch command {
	case keyCommand:
		ok := true
		for _, key := range strings.Fields(args) {
			ok = s.press(ctx, key) && ok
			s.awaitQuiet(ctx, betweenKeys, mostBetweenKeys)
		}
		return ok
	}
	return s.typeText(ctx, args) && s.press(ctx, "Enter")
}

// picturedScreen is the screen as text and as a picture.
func picturedScreen(s *session) (terminal.ControlReply, error) {
	now := s.snapshot()
	var png bytes.Buffer
	if err := picture.Encode(&png, now); err != nil {
		return terminal.ControlReply{}, fmt.Errorf("draw screen: %w", err)
	}
	return terminal.ControlReply{Screen: now, Files: []terminal.ControlFile{{Name: "screen.png", Content: png.Bytes()}}}, nil
}

// sendLog sends the dialogue and the recording of a chat.
func (p *terminals) sendLog(chat string) (terminal.ControlReply, error) {
	l := p.logs.find(chat)
	if l == nil {
		return terminal.ControlReply{Text: "There is no log yet: no terminal was opened in this chat."}, nil
	}
	dialogue, cast := l.files()
	reply := terminal.ControlReply{Text: "What happened in the terminal. The recording can be played with asciinema."}
	if dialogue != "" {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "dialogue.txt", Content: []byte(dialogue)})
	}
	if len(cast) > 0 {
		reply.Files = append(reply.Files, terminal.ControlFile{Name: "terminal.cast", Content: cast})
	}
	return reply, nil
}
