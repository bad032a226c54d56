package acp

import (
	"context"

	"nanobot/config"
	"nanobot/terminal"
)

// signIn asks an agent for its sign-in methods. It opens no session.
type signIn struct {
	cfg     config.Terminal
	methods []terminal.SignInMethod
}

var _ terminal.SignIn = (*signIn)(nil)

func newSignIn(cfg config.Terminal) terminal.SignIn { return &signIn{cfg: cfg} }

// Methods returns the methods that the agent has reported in the turn.
func (p *signIn) Methods() []terminal.SignInMethod { return p.methods }

// Turn starts the agent, reads its methods and ends it.
func (p *signIn) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	child, err := t.LaunchPersistent(terminal.PersistentOptions{})
	if err != nil {
		return terminal.Outcome{}, err
	}
	a := newAgent(child, *SettingsOf(p.cfg), New(p.cfg).Timeouts, t.MaxLine, func(*agent) {})
	defer a.Close()
	a.setLogOutput(t.Emit)
	if err := a.initialize(ctx); err != nil {
		return terminal.Outcome{}, err
	}
	for _, m := range a.initResponse.Auth {
		if s := m.SignIn(p.cfg.Command); s.Command != "" || len(s.Variables) > 0 {
			p.methods = append(p.methods, s)
		}
	}
	return terminal.Outcome{Status: terminal.Done}, nil
}
