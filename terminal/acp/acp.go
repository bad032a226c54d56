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
	// Kept has the chats' agents.
	Kept *terminal.Pool[*agent]

	cfg   config.Terminal
	set   *Settings // of cfg
	agent string    // what the command is remembered by
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
	_ terminal.Protocol           = (*Protocol)(nil)
	_ terminal.PersistentProtocol = (*Protocol)(nil)
	_ terminal.CommandStopper     = (*Protocol)(nil)
)

// New returns a protocol that keeps no agent yet.
func New(cfg config.Terminal) *Protocol {
	set := SettingsOf(cfg)
	return &Protocol{
		Waits: Waits{
			Patience: 10 * time.Second, Begin: 2 * time.Minute, Restore: time.Minute,
			Quiet: 250 * time.Millisecond, Replay: 10 * time.Second,
		},
		Kept: &terminal.Pool[*agent]{IdleTime: time.Duration(set.Idle) * time.Second, MaxProcesses: set.MaxKept},
		cfg:  cfg, set: set, agent: fingerprint(cfg.Command),
	}
}

// Turn carries a message to the chat's agent, which is started when there is none.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	x := &turn{Protocol: p, t: t}
	var err error
	if x.kept, err = p.Kept.Acquire(ctx, t.Envelope.SessionKey, t.Envelope.User); err != nil {
		return x.stopped(ctx, terminal.NewFinalResponse(t.MaxOutput))
	}
	defer x.kept.Release()
	out, err := x.run(ctx)
	x.finish()
	return out, err
}

// Stop ends the commands that a chat's agent has left running.
func (p *Protocol) StopCommands(chat string) (ended int) {
	for key, a := range p.Kept.All() {
		if s := a.current(); s != nil && key == chat {
			ended += s.table.KillAll()
		}
	}
	return ended
}

// hasSession reports whether the agent of another chat has a session of this id.
func (p *Protocol) hasSession(id, otherThan string) bool {
	for chat, a := range p.Kept.All() {
		if s := a.current(); s != nil && chat != otherThan && s.is(id) {
			return true
		}
	}
	return false
}

// Pool returns the pool of the chats' agents.
func (p *Protocol) Pool() terminal.ProcessPool { return p.Kept }
