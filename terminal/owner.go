package terminal

import "strings"

// Owner is the agent and the chat that a process works for, as process.Supervisor.OwnerOf returns
// it.
type Owner struct {
	Agent           string
	Channel, ChatID string
}

// String returns the owner in the form that ParseOwner reads.
func (o Owner) String() string { return o.Agent + " " + o.Channel + ":" + o.ChatID }

// ParseOwner parses the result of String. It reports false for any other text. Names of agents and
// channels contain neither a space nor a colon.
func ParseOwner(text string) (o Owner, ok bool) {
	agent, chat, ok := strings.Cut(text, " ")
	channel, id, colon := strings.Cut(chat, ":")
	return Owner{Agent: agent, Channel: channel, ChatID: id}, ok && colon
}
