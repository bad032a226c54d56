package terminal

import "strings"

// Owner names the agent and the chat that a process works for, as process.Supervisor.OwnerOf tells
// it.
type Owner struct {
	Agent           string
	Channel, ChatID string
}

// String returns the owner as one text, which ParseOwner reads.
func (o Owner) String() string { return o.Agent + " " + o.Channel + ":" + o.ChatID }

// ParseOwner reads what String has made. It reports false for any other text. Neither the name of
// an agent nor that of a channel has a space or a colon.
func ParseOwner(text string) (o Owner, ok bool) {
	agent, chat, ok := strings.Cut(text, " ")
	channel, id, colon := strings.Cut(chat, ":")
	return Owner{Agent: agent, Channel: channel, ChatID: id}, ok && colon
}
