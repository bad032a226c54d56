package keys

import (
	"bytes"
	"context"
	"fmt"
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

// Control carries out a command of a person.
func (p *Protocol) Control(ctx context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	s := p.find(r.Chat)
	switch {
	case r.Command == logCommand:
		return p.sendLog(r.Chat)
	case s == nil:
		return terminal.ControlReply{Text: noTerminal}, nil
	case r.Command == screenCommand:
		return picturedScreen(s)
	case r.Command == takeCommand:
		return p.takeOver(s), nil
	case r.Command == giveCommand:
		return handBack(s), nil
	}
	return byHand(ctx, s, r, p.handButtons(s))
}

// handButtons are the buttons under a screen that a person types into.
func (p *Protocol) handButtons(s *session) []terminal.ControlButton {
	if !s.isTaken() {
		return keyRow
	}
	return append(keyRow[:len(keyRow):len(keyRow)], terminal.ControlButton{Label: "Hand back", Command: "/" + giveCommand})
}

// buttons are those of the board of a turn.
func (x *turn) buttons() []terminal.ControlButton {
	if !x.s.isTaken() {
		return []terminal.ControlButton{{Label: "Take over", Command: "/" + takeCommand}}
	}
	return append(keyRow[:len(keyRow):len(keyRow)], terminal.ControlButton{Label: "Hand back", Command: "/" + giveCommand})
}

func (p *Protocol) takeOver(s *session) terminal.ControlReply {
	if !s.take() {
		return terminal.ControlReply{Text: "You have the terminal already. /give hands it back to the agent."}
	}
	s.log.note("taken over by the user", "")
	return terminal.ControlReply{Text: "The terminal is yours: what you write is typed, with Enter. /key sends keys. /give hands it back to the agent."}
}

func handBack(s *session) terminal.ControlReply {
	if !s.give() {
		return terminal.ControlReply{Text: "The agent has the terminal already. /take takes it over."}
	}
	s.log.note("handed back to the agent", "")
	if s.hasTurn() {
		return terminal.ControlReply{Text: "The agent goes on."}
	}
	return terminal.ControlReply{Text: "The agent has the terminal again. Your next message is for it."}
}

const (
	// settled is how long the terminal writes nothing when a key has had its effect, and
	// mostSettling how long that is waited for.
	settled, mostSettling = 300 * time.Millisecond, 3 * time.Second
)

// byHand types what a person wrote. Where no turn shows the screen, the reply does.
func byHand(ctx context.Context, s *session, r terminal.ControlRequest, buttons []terminal.ControlButton) (terminal.ControlReply, error) {
	if r.Command == keyCommand && strings.TrimSpace(r.Args) == "" {
		return terminal.ControlReply{Text: howToKey}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, mostSettling)
	defer cancel()
	s.useHands()
	s.typeByHand(ctx, r.Command, r.Args)
	if s.hasTurn() {
		return terminal.ControlReply{}, nil
	}
	s.awaitQuiet(ctx, settled, mostSettling)
	return terminal.ControlReply{Screen: s.snapshot(), Buttons: buttons}, nil
}

const (
	// betweenKeys is how long nothing happens before the next key of several is pressed, and
	// mostBetweenKeys how long that is waited for. A program that is started by one key sets up the
	// terminal before it gets the next.
	betweenKeys, mostBetweenKeys = 30 * time.Millisecond, 150 * time.Millisecond
)

// typeByHand types what a person means by a command or by text.
func (s *session) typeByHand(ctx context.Context, command, args string) {
	switch command {
	case screenCommand: // which only shows
		return
	case keyCommand:
		for _, key := range strings.Fields(args) {
			s.press(ctx, key)
			s.awaitQuiet(ctx, betweenKeys, mostBetweenKeys)
		}
	default:
		s.typeText(ctx, args)
		s.press(ctx, "Enter")
	}
	s.log.note("typed by the user", args)
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
