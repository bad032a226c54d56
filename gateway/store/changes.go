package store

import (
	"context"

	"nanobot/channels"
)

// ChangeRequest is a change of an earlier message, for ChangeMessage.
type ChangeRequest struct {
	// In has the chat and the ID of the earlier message; In.Change says what happened to it.
	In channels.Incoming
	// Agent is the agent that answers the new content; "": the one that the message was accepted
	// for.
	Agent  string
	Cursor string // as in ReceiveRequest
	// Refused says that only the cursor and the parts of the change are processed.
	Refused bool
	// Withdraw ends a pending message as Dead, because its new content cannot have a turn.
	Withdraw bool
	// Injected says that the running turn may have read the message although it is pending.
	Injected bool
	// Answers are stored in the outbox in the same transaction, depending on the effect.
	Answers map[Effect][]channels.Outgoing
}

// Effect says what ChangeMessage did.
type Effect int

// The effects.
const (
	// NoEffect: the message is unknown or was answered without a turn, or its content is the same.
	NoEffect Effect = iota
	// Replaced: the content of a message without a turn was replaced.
	Replaced
	// Withdrawn: a pending message has become Dead.
	Withdrawn
	// StoredForRerun: the message runs or had a turn. The new content is stored as another inbound
	// message, which is Done and has no turn until Restart.
	StoredForRerun
)

// ChangeResult is the result of ChangeMessage.
type ChangeResult struct {
	Effect Effect
	// Inbound is the changed, withdrawn or new inbound message.
	Inbound Inbound
}

// Changes change messages that were received before.
type Changes interface {
	// ChangeMessage applies an edit or a deletion. The same change again has no effect. A change
	// and Claim are atomic: a turn has either the new content, or the result is StoredForRerun.
	ChangeMessage(ctx context.Context, a ChangeRequest) (ChangeResult, error)
	// Message returns the inbound message with the newest content of a message of the network.
	Message(ctx context.Context, chat channels.Chat, id string) (Inbound, bool, error)
}
