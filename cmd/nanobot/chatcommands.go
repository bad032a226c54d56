package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/terminal"
)

// chatCommands are the commands of `nanobot chat` itself.
var chatCommands = []terminal.Command{
	{Name: "help", Help: "list the commands"},
	{Name: "new", Help: "start a new conversation"},
	{Name: "status", Help: "show what this chat talks to"},
	{Name: "stop", Help: "stop the agent when it asks you something; Ctrl-C stops it at any time"},
	{Name: "quit", Help: "leave the chat, as Ctrl-D does"},
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
		text = "This is a new conversation. The agent does not see the earlier messages."
	case "status":
		text = s.statusText(in.Chat)
	case "stop":
		text = "Nothing is running."
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

func (s *chatSession) helpText() string {
	var b strings.Builder
	for _, c := range chatCommands {
		fmt.Fprintf(&b, "/%s: %s\n", c.Name, c.Help)
	}
	if own := s.gateway.Controls(); len(own) > 0 {
		b.WriteString("\nThe agent's own commands:\n")
		for _, c := range own {
			fmt.Fprintf(&b, "/%s: %s\n", c.Name, c.Help)
		}
		b.WriteString("\n")
	}
	return b.String() + "Everything else goes to the agent."
}

func (s *chatSession) statusText(chat channels.Chat) string {
	lines := []string{
		"Agent: " + terminal.CodeSpan(firstLine(s.cfg.Terminal.Command)) + " (" + s.cfg.Terminal.Protocol + ")",
		"Workspace: " + terminal.CodeSpan(s.cfg.Workspace),
		"Config: " + terminal.CodeSpan(cmp.Or(s.cfg.File(), "none")),
		"Chat: " + terminal.CodeSpan(chat.String()),
	}
	if s.last.status != "" {
		lines = append(lines, fmt.Sprintf("Last turn: %s, %s", s.last.status, s.last.took.Round(time.Millisecond)))
	}
	return strings.Join(lines, "\n")
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
