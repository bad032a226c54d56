package acp

import (
	"context"
	"strings"
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
