// Package acp talks with agents of the Agent Client Protocol, wire version 1: JSON-RPC over stdin
// and stdout, one kept agent a chat. It is the client: it owns the terminals, the files and the
// permissions, and shows what the agent does. It knows nothing of chat networks, queues or storage.
package acp

import (
	"context"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// Protocol talks with agents and keeps them from turn to turn. Its fields may be changed before the
// first turn.
type Protocol struct {
	Waits
	// Idle is how long an agent is kept after its last turn.
	Idle time.Duration

	cfg   config.Terminal
	set   *Settings // of cfg
	kept  pool
	agent string // what the command is remembered by
}

// Waits are how long an agent may take.
type Waits struct {
	// Patience is for one that was asked to stop what it does; then it is ended.
	Patience time.Duration
	// Begin is for saying hello, and for a new conversation.
	Begin time.Duration
	// Restore is for bringing an earlier conversation back; a new one takes its place then.
	Restore time.Duration
	// Quiet is how long it says nothing when it has said all of an earlier conversation again. Some
	// begin with that only when they have answered. Replay is how long that may go on.
	Quiet, Replay time.Duration
}

var (
	_ terminal.Protocol = (*Protocol)(nil)
	_ terminal.Keeper   = (*Protocol)(nil)
	_ terminal.Stopper  = (*Protocol)(nil)
	_ terminal.Releaser = (*Protocol)(nil)
)

// New returns a protocol that keeps no agent yet.
func New(cfg config.Terminal) *Protocol {
	set := SettingsOf(cfg)
	return &Protocol{
		Waits: Waits{
			Patience: 10 * time.Second, Begin: 2 * time.Minute, Restore: time.Minute,
			Quiet: 250 * time.Millisecond, Replay: 10 * time.Second,
		},
		Idle: time.Duration(set.Idle) * time.Second,
		cfg:  cfg, set: set, agent: fingerprint(cfg.Command), kept: pool{most: set.MaxKept, chats: map[string]*chat{}},
	}
}

// Turn carries a message to the chat's agent, which is started when there is none.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	x := &turn{Protocol: p, t: t}
	c, err := p.kept.acquire(ctx, t.Envelope.SessionKey, t.Envelope.User)
	if err != nil {
		return x.stopped(ctx, terminal.NewEnding(t.MaxOutput))
	}
	defer p.kept.release(c, p.Idle)
	x.chat = c
	out, err := x.run(ctx)
	x.finish()
	return out, err
}

// Stop ends the commands that a chat's agent has left running.
func (p *Protocol) Stop(chat string) (ended int) {
	if s := p.kept.session(chat); s != nil {
		return s.table.KillAll()
	}
	return 0
}

// Kept returns the agents that no turn uses.
func (p *Protocol) Kept() []terminal.KeptAgent { return p.kept.idle() }

// Release ends the agent of a chat that no turn uses.
func (p *Protocol) Release(chat string) { p.kept.end(chat) }

// Close ends the agents that are kept.
func (p *Protocol) Close() { p.kept.close() }
