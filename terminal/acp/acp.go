// Package acp is a client of the Agent Client Protocol, wire version 1: JSON-RPC over stdin and
// stdout, with one persistent agent process per chat. As the client, it provides terminals, files
// and permissions, and shows the agent's work in the chat. It knows nothing of chat networks,
// queues or storage.
package acp

import (
	"context"
	"sync/atomic"
	"time"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/warm"
)

// Protocol runs turns with persistent agents. Its exported fields may be changed before the first
// turn.
type Protocol struct {
	Timeouts
	// Agents is the pool of the chats' agent processes.
	Agents *warm.Pool[*agent]

	cfg         config.Terminal
	settings    *Settings // the section of cfg for this protocol
	commandHash string    // identifies the agent's command in stored sessions
	lastInit    atomic.Pointer[initializeResponse]
}

// maxBackground is how long after its last turn an agent with work in the background is spared.
const maxBackground = 24 * time.Hour

// Timeouts limits how long an agent may take.
type Timeouts struct {
	// StopTimeout is the time to end a cancelled prompt. After it the agent is killed.
	StopTimeout time.Duration
	// CommandGrace is the time in which the agent may end its commands after a cancelled prompt,
	// before people are told that they still run.
	CommandGrace time.Duration
	// StartTimeout is the time for initialize, and again for a new session.
	StartTimeout time.Duration
	// RestoreTimeout is the time to restore an earlier session. After it a new session is created.
	RestoreTimeout time.Duration
	// QuietPeriod without an update ends the replay of an earlier session, because some agents
	// start to replay only after their response. ReplayLimit is the longest replay.
	QuietPeriod, ReplayLimit time.Duration
	// PushDelay is how long a text between turns waits for its continuation before it is sent.
	PushDelay time.Duration
	// ToolCallTime is how long after its last update a tool call without an end counts as running,
	// because some agents never report the end of a call.
	ToolCallTime time.Duration
}

var defaultTimeouts = Timeouts{
	StopTimeout: 10 * time.Second, CommandGrace: 500 * time.Millisecond, StartTimeout: 2 * time.Minute,
	RestoreTimeout: time.Minute, QuietPeriod: 250 * time.Millisecond, ReplayLimit: 10 * time.Second,
	PushDelay: time.Second, ToolCallTime: time.Hour,
}

var (
	_ terminal.Protocol           = (*Protocol)(nil)
	_ terminal.PersistentProtocol = (*Protocol)(nil)
	_ terminal.CommandStopper     = (*Protocol)(nil)
	_ terminal.LeftCommandEnder   = (*Protocol)(nil)
)

// New returns a protocol without any agent processes.
func New(o terminal.OpenOptions) *Protocol {
	cfg, set := o.Config, SettingsOf(o.Config)
	p := &Protocol{
		Timeouts: defaultTimeouts,
		Agents:   &warm.Pool[*agent]{IdleTime: time.Duration(set.Idle) * time.Second, Room: set.room(o)},
		cfg:      cfg, settings: set, commandHash: hashCommand(cfg.Command),
	}
	p.Agents.MaxInUse, p.Agents.OnLimit = maxBackground, (*agent).announceEnd
	return p
}

// Turn sends a message to the chat's agent and starts the agent if it does not run.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	x := &turn{Protocol: p, t: t, memory: sessionMemory{t.Memory(), p.commandHash, t.ExecEnv().Place}}
	var err error
	if x.entry, err = p.Agents.Acquire(ctx, t.Envelope.SessionKey, t.Envelope.PersonID()); err != nil {
		return x.endStopped(ctx, terminal.NewFinalResponse(t.MaxOutput))
	}
	defer x.entry.Release()
	out, err := x.run(ctx)
	x.detachAgent(ctx)
	out.Unread = x.unread
	return out, err
}

// isOpenInAnotherChat reports whether the agent of another chat has the session with this ID open.
func (p *Protocol) isOpenInAnotherChat(id, otherThan string) bool {
	for chat, a := range p.Agents.All() {
		if s := a.currentSession(); s != nil && chat != otherThan && s.hasID(id) {
			return true
		}
	}
	return false
}

// Pool returns the pool of the chats' agents.
func (p *Protocol) Pool() terminal.ProcessPool { return p.Agents }
