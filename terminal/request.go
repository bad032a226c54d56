package terminal

import (
	"slices"
	"strings"

	"nanobot/internal/words"
)

// Request is one incoming message for the agent.
type Request struct {
	// Envelope is the message. The runner sets Version, SessionKey, Workspace, UserDataDir and
	// Providers, removes files that the agent is not told of, and splits Channel, which is network
	// or network.ACCOUNT, into Channel and Account.
	Envelope
	// Place is where the agent works on the message.
	Place Place
	Words words.Words // for the person
	// RunName marks the agent's processes, and GatewayName persistent agents, so that KillRun and
	// KillPersistent of package process find them after a crash. Without a name there is no mark.
	RunName, GatewayName string
	// Task names the part of the message in this request, if the agent gets a message in several
	// parts; "": the whole message.
	Task string
	// FittingSize is the size of a terminal that fits the person's screen, such as 80x24; "":
	// unknown.
	FittingSize string
	// Token proves to the gateway which chat the agent's processes work for; "": none.
	Token string
}

// chatKey names the chat as Envelope.SessionKey does.
func (r Request) chatKey() string { return r.Channel + ":" + r.ChatID }

// attachedFiles returns the files that the person sent or quoted.
func (r Request) attachedFiles() []string {
	if r.ReplyTo == nil {
		return r.Media
	}
	return slices.Concat(r.Media, r.ReplyTo.Media)
}

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
