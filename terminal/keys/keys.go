// Package keys shows a terminal screen in a chat. In the protocol keys an agent reads the screen
// and answers with keystrokes; in the protocol screen a person does so, without an agent. The
// terminal of a chat outlives its turns. The package knows nothing of chat networks, queues or
// storage.
package keys

import (
	"context"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/warm"
)

// Protocol runs agents that read a terminal screen and answer with keystrokes.
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

// New returns a protocol without any terminals.
func New(cfg config.Terminal) *Protocol { return &Protocol{newTerminals(cfg, agentSize)} }

// Turn lets the agent work on a message in the terminal of the chat.
func (p *Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return p.withTerminal(ctx, t, p.settings.shellArgs(), func(s *session, opened bool) (terminal.Outcome, error) {
		if opened {
			s.awaitPrompt(ctx)
		}
		x := &turn{t: t, settings: p.settings, s: s}
		return x.run(ctx)
	})
}

// terminals has one terminal per chat. Both protocols use it.
type terminals struct {
	settings *Settings
	size     process.Size // of terminals
	// resizable says that the people of a chat can change the size: no agent relies on it.
	resizable bool
	pool      *warm.Pool[*session]
	logs      chatLogs
}

func newTerminals(cfg config.Terminal, size process.Size) *terminals {
	set := SettingsOf(cfg)
	return &terminals{
		settings: set, size: set.size(size), resizable: size == personSize,
		pool: &warm.Pool[*session]{IdleTime: set.idle(), Room: warm.Room{
			MaxProcesses: set.MaxKept, Keys: map[warm.Limit]string{warm.CountLimit: "keys.maxKept"},
		}},
	}
}

// Pool returns the pool of the chats' terminals.
func (p *terminals) Pool() terminal.ProcessPool { return chatPool{p.pool, p} }

// chatPool is the pool of terminals. It removes the log of a chat together with its terminal.
type chatPool struct {
	*warm.Pool[*session]
	terminals *terminals
}

// End ends the terminal of a chat, unless a turn uses it.
func (p chatPool) End(chat string) {
	p.Pool.End(chat)
	p.terminals.logs.remove(chat)
}

// EndSession ends the terminal of a chat and removes its log. A turn that uses the terminal ends
// first.
func (p *terminals) EndSession(chat string) {
	if s := p.find(chat); s != nil {
		s.expire()
	}
	p.Pool().End(chat)
}

// StopCommands interrupts the program in the terminal of a chat between turns, unless it is the
// shell itself.
func (p *terminals) StopCommands(chat string) (ended int, told bool) {
	s := p.find(chat)
	if s == nil {
		return 0, false
	}
	if job, err := s.agent.ForegroundJob(); err != nil || job == s.agent.Pid() {
		return 0, false
	}
	s.interrupt()
	return 1, false
}

// withTerminal runs a turn in the terminal of its chat, which is opened if necessary. args is the
// program of a new terminal; nil means the agent's command.
func (p *terminals) withTerminal(ctx context.Context, t terminal.Turn, args []string,
	run func(s *session, opened bool) (terminal.Outcome, error),
) (terminal.Outcome, error) {
	entry, err := p.pool.Acquire(ctx, t.Envelope.SessionKey, t.Envelope.PersonID())
	if err != nil {
		return t.EmitStopped(ctx)
	}
	defer entry.Release()
	s, opened, err := p.session(ctx, t, entry, args)
	if err != nil {
		return terminal.Outcome{}, err
	}
	s.setInTurn(true)
	defer s.setInTurn(false)
	return run(s, opened)
}

// session returns the terminal of the chat and opens it if necessary.
func (p *terminals) session(ctx context.Context, t terminal.Turn, entry *warm.Entry[*session], args []string) (
	_ *session, opened bool, err error,
) {
	size, known := p.sizeFor(ctx, t)
	if s, ok := entry.Process(); ok && s.Reusable() {
		if known {
			s.resize(size)
		}
		t.Report(terminal.Launched(s.agent.Pid()))
		return s, false, nil
	} else if ok {
		s.Close()
		entry.RemoveProcess()
	}
	chat := t.Envelope.SessionKey
	log := p.logs.openLog(chat)
	s, err := openSession(openOptions{
		launch: t.LaunchPersistent, args: args, env: t.ExecEnv().Env, size: size, sized: p.resizable,
		idle: p.settings.idle(), log: log,
		onExit: func(s *session) {
			p.pool.ReportDeath(chat, s)
			p.logs.closeLog(chat, log)
		},
	})
	if err != nil {
		p.logs.closeLog(chat, log)
		return nil, false, err
	}
	entry.SetProcess(s)
	return s, true, nil
}

// find returns the running terminal of a chat, or nil.
func (p *terminals) find(chat string) *session {
	s, ok := p.pool.Find(chat)
	if !ok || s.isDead() {
		return nil
	}
	return s
}
