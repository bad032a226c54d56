package acp

import (
	"context"
	"errors"

	"nanobot/config"
	"nanobot/terminal"
)

// signIn asks an agent for its sign-in methods, or signs it out. It opens no session.
type signIn struct {
	cfg     config.Terminal
	out     bool // to sign out
	methods []terminal.SignInMethod
}

var _ terminal.SignIn = (*signIn)(nil)

func newSignIn(cfg config.Terminal) terminal.SignIn { return &signIn{cfg: cfg} }

// Methods returns the methods that the agent has reported in the turn.
func (p *signIn) Methods() []terminal.SignInMethod { return p.methods }

// SignOut is described in terminal.SignIn.
func (p *signIn) SignOut() { p.out = true }

// Turn starts the agent, reads its methods or signs it out, and ends it.
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
	if p.out {
		if !a.initResponse.Capabilities.Auth.Logout {
			return terminal.Outcome{}, errors.New("the agent cannot sign out; sign out as its manual says")
		}
		_, _, err := a.Call(ctx, a.timeouts.StartTimeout, "logout", struct{}{}, nil)
		return terminal.Outcome{Status: terminal.Done}, err
	}
	for _, m := range a.initResponse.Auth {
		if s := m.SignIn(p.cfg.Command); s.Command != "" || len(s.Variables) > 0 {
			p.methods = append(p.methods, s)
		}
	}
	return terminal.Outcome{Status: terminal.Done}, nil
}
