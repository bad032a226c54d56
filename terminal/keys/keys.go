// Package keys puts a terminal screen into a chat. In the protocol keys an agent sees the screen
// and answers with keystrokes; in the protocol screen a person does, without an agent. The terminal
// of a chat outlives its turns. The package knows nothing of chat networks, queues or storage.
package keys

import (
	"context"

	"nanobot/config"
	"nanobot/terminal"
)

// Protocol talks with agents that see a terminal and answer with keystrokes.
type Protocol struct {
	*terminals
}

var (
	_ terminal.Protocol           = (*Protocol)(nil)
	_ terminal.PersistentProtocol = (*Protocol)(nil)
	_ terminal.Controller         = (*Protocol)(nil)
	_ terminal.Restarter          = (*Protocol)(nil)
	_ terminal.CommandStopper     = (*Protocol)(nil)
)

// New returns a protocol that has no terminal yet.
func New(cfg config.Terminal) *Protocol { return &Protocol{newTerminals(cfg)} }

// Turn has the agent work on a message, on the terminal of the chat.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return p.onTerminal(ctx, t, []string{p.set.Shell}, func(s *session, opened bool) (terminal.Outcome, error) {
		if opened {
			s.awaitPrompt(ctx)
		}
		x := &turn{t: t, set: p.set, s: s}
		return x.run(ctx)
	})
}

// terminals keeps one terminal for each chat. Both protocols have it.
type terminals struct {
	set  *Settings
	kept *terminal.Pool[*session]
	logs chatLogs
}

func newTerminals(cfg config.Terminal) *terminals {
	set := SettingsOf(cfg)
	return &terminals{set: set, kept: &terminal.Pool[*session]{IdleTime: set.idle(), MaxProcesses: set.MaxKept}}
}

// Pool returns the pool of the chats' terminals.
func (p *terminals) Pool() terminal.ProcessPool { return pool{p.kept, p} }

// pool is the pool of terminals, which ends the log of a chat with its terminal.
type pool struct {
	*terminal.Pool[*session]
	terminals *terminals
}

// End ends the terminal of a chat, unless a turn uses it.
func (p pool) End(chat string) {
	p.Pool.End(chat)
	p.terminals.logs.forget(chat)
}

// StartAfresh ends the terminal of a chat and its log. A turn that uses the terminal ends first.
func (p *terminals) StartAfresh(chat string) {
	if s := p.find(chat); s != nil {
		s.expire()
	}
	p.Pool().End(chat)
}

// Stop interrupts the program that runs in the terminal of a chat between turns, unless that is the
// shell itself.
func (p *terminals) StopCommands(chat string) (ended int) {
	s := p.find(chat)
	if s == nil {
		return 0
	}
	if job, err := s.agent.ForegroundJob(); err != nil || job == s.agent.Pid() {
		return 0
	}
	s.interrupt()
	return 1
}

// onTerminal runs a turn on the terminal of its chat, which is opened if there is none. args is the
// program to open it with; nil: the agent's command.
func (p *terminals) onTerminal(ctx context.Context, t terminal.Turn, args []string, run func(s *session, opened bool) (terminal.Outcome, error)) (terminal.Outcome, error) {
	kept, err := p.kept.Acquire(ctx, t.Envelope.SessionKey, t.Envelope.User)
	if err != nil {
		return t.EmitStopped(ctx)
	}
	defer kept.Release()
	s, opened, err := p.session(t, kept, args)
	if err != nil {
		return terminal.Outcome{}, err
	}
	s.setTurn(true)
	defer s.setTurn(false)
	return run(s, opened)
}

// session returns the terminal of the chat.
func (p *terminals) session(t terminal.Turn, kept *terminal.PoolEntry[*session], args []string) (_ *session, opened bool, err error) {
	if s, ok := kept.Process(); ok && s.Reusable() {
		t.AttachProcess(s.agent.Pid())
		return s, false, nil
	} else if ok {
		s.Close()
		kept.RemoveProcess()
	}
	chat := t.Envelope.SessionKey
	log := p.logs.use(chat)
	s, err := open(openOptions{
		keep: t.LaunchPersistent, args: args, env: t.ExecEnv.Env, size: p.set.size(), idle: p.set.idle(), log: log,
		died: func(s *session) {
			p.kept.ReportDeath(chat, s)
			p.logs.end(chat, log)
		},
	})
	if err != nil {
		p.logs.end(chat, log)
		return nil, false, err
	}
	kept.SetProcess(s)
	return s, true, nil
}

// find returns the terminal of a chat whose program runs, or nil.
func (p *terminals) find(chat string) *session {
	s, ok := p.kept.Find(chat)
	if !ok || s.isDead() {
		return nil
	}
	return s
}
