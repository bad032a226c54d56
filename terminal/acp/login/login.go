// Package login signs agents in, and tells people how to do it. It knows nothing of sessions and
// turns.
package login

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/terminal/acp/rpc"
)

// RequiredError means that somebody has to sign in. It lists the methods that the agent offers.
type RequiredError struct {
	message string
	methods []Method
}

func (e *RequiredError) Error() string {
	return "the agent requires signing in: " + strings.TrimSpace(e.message)
}

// Login is how one agent is signed in.
type Login struct {
	Methods []Method // that the agent offers
	Method  string   // the ID of the configured one; "": none
	// Authenticate calls the agent's method authenticate.
	Authenticate func(ctx context.Context, method string) error
}

// Do calls do. If the agent requires authentication, it is signed in by the configured method and
// do is called once more, unless started reports that the agent has begun to work: its work would
// be repeated.
func (l Login) Do(ctx context.Context, started func() bool, do func() error) error {
	err := do()
	if l.ShouldRepeat(err, started()) {
		err = l.Authenticate(ctx, l.Method)
		var refused *rpc.Error
		if errors.As(err, &refused) {
			return &RequiredError{message: fmt.Sprintf("authMethod %q: %s", l.Method, refused.Message), methods: l.Methods}
		}
		if err == nil {
			err = do()
		}
	}
	if said, ok := l.isRequired(err, started()); ok {
		return &RequiredError{message: said, methods: l.Methods}
	}
	return err
}

// NeverStarted is for calls that do no work before their response.
func NeverStarted() bool { return false }

// ShouldRepeat reports whether to sign in and repeat the call after err.
func (l Login) ShouldRepeat(err error, started bool) bool {
	_, ok := l.isRequired(err, started)
	return ok && !started && l.Method != "" && !l.needsPerson()
}

// needsPerson reports whether a person has to act for the configured method, so that it must not be
// passed to authenticate.
func (l Login) needsPerson() bool {
	return slices.ContainsFunc(l.Methods, func(m Method) bool { return m.ID == l.Method && m.kind() != byAgent })
}

// isRequired reports whether err means that somebody has to sign in. Some agents use the code for
// other errors too, so the message must mention it, or the agent must offer methods and not have
// started to work.
func (l Login) isRequired(err error, started bool) (said string, ok bool) {
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != rpc.CodeAuth {
		return "", false
	}
	says := strings.Contains(strings.ToLower(e.Message+string(e.Data)), "auth")
	return e.Message, says || len(l.Methods) > 0 && !started
}
