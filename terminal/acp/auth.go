package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// authMethod is a sign-in method that an agent offers.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// authError means that somebody has to sign in. It lists the methods that the agent offers.
type authError struct {
	message string
	methods []authMethod
}

func (e *authError) Error() string {
	var s strings.Builder
	s.WriteString("the agent requires signing in: " + strings.TrimSpace(e.message))
	for _, m := range e.methods {
		fmt.Fprintf(&s, "\n• %s", m.Name)
		if m.Description != "" {
			s.WriteString(": " + m.Description)
		}
		fmt.Fprintf(&s, " (terminal.acp.authMethod %q)", m.ID)
	}
	return s.String()
}

// withSignIn calls do. If the agent requires authentication, it is signed in by the configured
// method and do is called once more, unless started reports that the agent has begun to work: its
// work would be repeated.
func (a *agent) withSignIn(ctx context.Context, started func() bool, do func() error) error {
	err := do()
	if said, ok := a.isAuthError(err, started()); !ok {
		return err
	} else if !a.shouldSignIn(err, started()) {
		return &authError{message: said, methods: a.initResponse.Auth}
	}
	_, hung, err := a.call(ctx, 0, "authenticate", map[string]string{"methodId": a.cfg.AuthMethod}, nil)
	a.unusable = a.unusable || hung
	var refused *rpcError
	if errors.As(err, &refused) {
		return &authError{message: fmt.Sprintf("authMethod %q: %s", a.cfg.AuthMethod, refused.Message), methods: a.initResponse.Auth}
	}
	if err == nil {
		err = do()
	}
	if said, ok := a.isAuthError(err, started()); ok {
		return &authError{message: said, methods: a.initResponse.Auth}
	}
	return err
}

// neverStarted is for calls that do no work before their response.
func neverStarted() bool { return false }

// shouldSignIn reports whether to sign in and repeat the call after err.
func (a *agent) shouldSignIn(err error, started bool) bool {
	_, ok := a.isAuthError(err, started)
	return ok && !started && a.cfg.AuthMethod != ""
}

// isAuthError reports whether err means that somebody has to sign in. Some agents use the code for
// other errors too, so the message must mention it, or the agent must offer methods and not have
// started to work.
func (a *agent) isAuthError(err error, started bool) (said string, ok bool) {
	var e *rpcError
	if !errors.As(err, &e) || e.Code != codeAuth {
		return "", false
	}
	says := strings.Contains(strings.ToLower(e.Message+string(e.Data)), "auth")
	return e.Message, says || len(a.initResponse.Auth) > 0 && !started
}
