package terminal

import (
	"context"
	"slices"

	"nanobot/internal/words"
)

// Request is one incoming message for the agent.
type Request struct {
	Channel, ChatID string
	Text            string
	Media           []string
	MessageID       string
	User            *User
	Words           words.Words // for the person
	ThreadID        string
	Group           bool
	ReplyTo         *Quote
	Forwarded       *Forwarded
	MediaNames      []string
	RunID           string
	Attempt         int
	ConversationID  string
	History         []HistoryEntry // oldest first
	// Ask puts the agent's questions to the person; nil: nobody answers.
	Ask Ask
	// Offer posts the pickers of the protocol; nil: people cannot choose.
	Offer Offer
	// SessionAccess is Turn.SessionAccess; nil: OwnSessions.
	SessionAccess func(ctx context.Context) (SessionAccess, error)
	// Injections has messages that the person sends while the agent runs; nil: none, and stdin is
	// closed after the envelope. A message stays in the channel until the agent reads, so a sender
	// must not block longer than the turn. Its files are granted by GrantFiles first.
	Injections <-chan Injection
	// Push, if not nil, sends a Message of the agent outside of turns. It may be called after the
	// turn.
	Push func(Frame) error
	// OnRefuseInjections, if not nil, is called if the agent accepts no injections.
	OnRefuseInjections func()
	// BoardHidden is Turn.BoardHidden.
	BoardHidden func() bool
	// AwaitPerson, if not nil, is called when the turn begins to wait for messages of the person
	// without running a process, and resume when the turn continues. See Turn.AwaitPerson.
	AwaitPerson func(ctx context.Context) (resume func(ctx context.Context) error)
	// PersonTexts, if not nil, returns the person's messages since the turn began, without answers
	// to questions.
	PersonTexts func() []string
	// OnCancel, if not nil, is called after the timeout or a stop. Frames may follow.
	OnCancel func()
	// RunName marks the agent's processes, and GatewayName persistent agents, so that KillRun and
	// KillPersistent find them after a crash. Without a name there is no mark.
	RunName, GatewayName string
	// Task names the part of the message in this request, if the agent gets a message in several
	// parts; "": the whole message.
	Task string
	// Token proves to the gateway which chat the agent's processes work for; "": none.
	Token string
	// Memory, if not nil, holds what is remembered of the chat from earlier turns.
	Memory Memory
	// OnClockStart, if not nil, is called with Turn.PauseTimeout when the timeout of the turn
	// starts.
	OnClockStart func(pause func() (resume func()))
	// OnAgentInfo, if not nil, is called with what the agent reports about itself.
	OnAgentInfo func(AgentInfo)
	// OnLog, if not nil, is called with each log frame, in addition to logging it.
	OnLog func(Frame)
	// OnExit, if not nil, is called when the last process of the turn has exited, if that is known
	// while output is still being emitted and no other process will follow.
	OnExit func()
	// OnLaunch, if not nil, is called for each process that works on the turn, before its output is
	// read.
	OnLaunch func(pid int)
}

// attachedFiles returns the files that the person sent or quoted.
func (r Request) attachedFiles() []string {
	if r.ReplyTo == nil {
		return r.Media
	}
	return slices.Concat(r.Media, r.ReplyTo.Media)
}
