package terminal

import (
	"slices"

	"nanobot/internal/words"
)

// Request is one incoming message for the agent.
type Request struct {
	// Envelope is the message. The runner sets Version, SessionKey, Workspace, UserDataDir and
	// Providers, and removes files that the agent is not told of.
	Envelope
	Words words.Words // for the person
	// RunName marks the agent's processes, and GatewayName persistent agents, so that KillRun and
	// KillPersistent of package process find them after a crash. Without a name there is no mark.
	RunName, GatewayName string
	// Task names the part of the message in this request, if the agent gets a message in several
	// parts; "": the whole message.
	Task string
	// Token proves to the gateway which chat the agent's processes work for; "": none.
	Token string
}

// attachedFiles returns the files that the person sent or quoted.
func (r Request) attachedFiles() []string {
	if r.ReplyTo == nil {
		return r.Media
	}
	return slices.Concat(r.Media, r.ReplyTo.Media)
}
