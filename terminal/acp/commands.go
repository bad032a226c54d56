package acp

import (
	"context"
	"errors"
	"strings"

	"nanobot/config"
	"nanobot/internal/role"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// runCommand runs the message if it is one of the gateway's commands; done reports whether it is.
// said is the reply to the person.
func (x *turn) runCommand(ctx context.Context) (said string, done bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(x.t.Envelope.Text), " ")
	rest = strings.TrimSpace(rest)
	if len(x.t.Envelope.Media) > 0 || strings.Contains(rest, "\n") {
		return "", false, nil
	}
	switch word {
	case sessionsCommand, configCommand, "/mode", "/model":
		r, err := x.t.Role(ctx)
		if err != nil || !role.May(r, role.Action(word), role.NoList) {
			return x.t.Words.Text(words.NotInRole, r), true, err
		}
	}
	switch word {
	case sessionsCommand:
		if !bool(x.a.initResponse.Capabilities.Session.List) && x.s.agentHasCommand("sessions") {
			return "", false, nil
		}
		said, err = x.runSessionsCommand(ctx, rest)
	case configCommand:
		all := x.s.settings()
		if len(all) == 0 && x.s.agentHasCommand("config") {
			return "", false, nil
		}
		said, err = x.runConfigCommand(ctx, all, rest)
	case "/mode", "/model":
		what := word[1:]
		c := x.s.choice(what)
		if c == nil && x.s.agentHasCommand(what) {
			return "", false, nil // the agent has a command of this name
		}
		said, err = x.runChoiceCommand(ctx, what, c, rest)
	default:
		return "", false, nil
	}
	return said, true, err
}

// agentHasCommand reports whether the agent itself has a command of this name.
func (s *session) agentHasCommand(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.details.commands {
		if c.Name == name {
			return true
		}
	}
	return false
}

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
	a := newAgent(child, *SettingsOf(p.cfg), defaultTimeouts, t.MaxLine, func(*agent) {})
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
