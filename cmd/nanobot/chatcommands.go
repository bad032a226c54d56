package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// chatCommands are the commands of `nanobot chat` itself.
var chatCommands = []terminal.Command{
	{Name: "help", HelpKey: words.HelpHelp},
	{Name: "new", HelpKey: words.HelpNew},
	{Name: "status", HelpKey: words.HelpChatStatus},
	{Name: "stop", HelpKey: words.HelpChatStop},
	{Name: "quit", HelpKey: words.HelpChatQuit},
}

// errQuit ends the chat as the person wishes.
var errQuit = errors.New("the user has left the chat")

// chatCommand returns the command of the chat that a message is, or "".
func chatCommand(text string) string {
	word, isCommand := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "/")
	if word == "exit" {
		word = "quit"
	}
	for _, c := range chatCommands {
		if isCommand && c.Name == word {
			return word
		}
	}
	return ""
}

// runCommand carries out a command of the chat between turns.
func (s *chatSession) runCommand(ctx context.Context, in channels.Incoming, command string) error {
	text := ""
	switch command {
	case "quit":
		return errQuit
	case "help":
		text = s.helpText()
	case "new":
		s.gateway.NewConversation(in.Chat)
		text = s.words.Text(words.NewConversation)
	case "status":
		text = s.statusText(in.Chat)
	case "stop":
		text = s.words.Text(words.NothingRunning)
		if ended, _ := s.gateway.Runner.StopCommands(in.Chat.String()); ended > 0 {
			text = s.words.Text(words.CommandsStopped, ended)
		}
	}
	parts, err := s.ch.Plan(channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text})
	if err != nil {
		return err
	}
	for _, o := range parts {
		if _, err := s.ch.Send(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// listCommands returns a line for each command.
func (s *chatSession) listCommands(commands []terminal.Command) string {
	var b strings.Builder
	for _, c := range commands {
		help := c.Help
		if c.HelpKey != "" {
			help = s.words.Text(c.HelpKey)
		}
		fmt.Fprintf(&b, "/%s: %s\n", c.Name, help)
	}
	return b.String()
}

func (s *chatSession) helpText() string {
	text := s.listCommands(chatCommands)
	if own := s.gateway.Controls(); len(own) > 0 {
		text += "\n" + s.words.Text(words.AgentCommands) + "\n" + s.listCommands(own) + "\n"
	}
	return text + s.words.Text(words.EverythingElse)
}

func (s *chatSession) statusText(chat channels.Chat) string {
	file := s.words.Text(words.ChatNoConfig)
	if s.cfg.File() != "" {
		file = terminal.CodeSpan(s.cfg.File())
	}
	text := s.words.Text(words.ChatStatus, terminal.CodeSpan(firstLine(s.cfg.Terminal.Command)), s.cfg.Terminal.Protocol,
		terminal.CodeSpan(s.cfg.Workspace), file, terminal.CodeSpan(chat.String()))
	if left := s.gateway.Runner.LeftCommands(chat.String()); len(left) > 0 {
		text += "\n" + terminal.StillRunningText(s.words, left)
	}
	if s.last.status != "" {
		text += "\n" + s.words.Text(words.ChatLastTurn, s.words.Text(terminal.Statuses[s.last.status]),
			s.last.took.Round(time.Millisecond))
	}
	return text
}

// lastTurn is how the last turn of the chat ended.
type lastTurn struct {
	status terminal.Status
	took   time.Duration
}

// readDuringTurn reads from the person while a turn runs: an answer, or a message for the agent.
// Ctrl-C and /stop stop the turn, and /quit also leaves the chat.
func (s *chatSession) readDuringTurn(ctx context.Context, in cli.Input) (string, error) {
	text, err := in.Read(ctx)
	command := chatCommand(text)
	switch {
	case errors.Is(err, cli.ErrInterrupted) || command == "stop":
	case command == "quit":
		s.mu.Lock()
		s.quits = true
		s.mu.Unlock()
	default:
		return text, err
	}
	s.stopTurn()
	return "", io.EOF
}

// inputWithNext is the person's input. Texts that they have written during a turn, and that are for
// the next one, come first.
type inputWithNext struct {
	cli.Input
	mu   sync.Mutex
	next []string
}

func (i *inputWithNext) add(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = append(i.next, text)
}

// Read returns the next message.
func (i *inputWithNext) Read(ctx context.Context) (string, error) {
	i.mu.Lock()
	if len(i.next) > 0 {
		defer i.mu.Unlock()
		text := i.next[0]
		i.next = i.next[1:]
		return text, nil
	}
	i.mu.Unlock()
	return i.Input.Read(ctx)
}
