package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// authMethod is a way to sign in that an agent offers.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// authError says that an agent wants somebody to sign in, and how that goes.
type authError struct {
	said    string
	methods []authMethod
}

func (e *authError) Error() string {
	var s strings.Builder
	s.WriteString("the agent wants to be signed in: " + strings.TrimSpace(e.said))
	for _, m := range e.methods {
		fmt.Fprintf(&s, "\n• %s", m.Name)
		if m.Description != "" {
			s.WriteString(": " + m.Description)
		}
		fmt.Fprintf(&s, " (terminal.acp.authMethod %q)", m.ID)
	}
	return s.String()
}

// signedIn does what needs the agent to be signed in. When the agent says that it is not, it is
// signed in by the configured method and asked once more, unless it has begun: what it did would be
// done twice.
func (a *agent) signedIn(ctx context.Context, begun func() bool, do func() error) error {
	err := do()
	if said, ok := a.wantsAuth(err, begun()); !ok {
		return err
	} else if !a.signsIn(err, begun()) {
		return &authError{said: said, methods: a.hello.Auth}
	}
	_, hung, err := a.call(ctx, 0, "authenticate", map[string]string{"methodId": a.cfg.AuthMethod}, nil)
	a.spoiled = a.spoiled || hung
	var refused *rpcError
	if errors.As(err, &refused) {
		return &authError{said: fmt.Sprintf("authMethod %q: %s", a.cfg.AuthMethod, refused.Message), methods: a.hello.Auth}
	}
	if err == nil {
		err = do()
	}
	if said, ok := a.wantsAuth(err, begun()); ok {
		return &authError{said: said, methods: a.hello.Auth}
	}
	return err
}

// never is said of what an agent cannot have begun without an answer.
func never() bool { return false }

// signsIn says whether the agent is signed in and asked once more after an error.
func (a *agent) signsIn(err error, begun bool) bool {
	_, ok := a.wantsAuth(err, begun)
	return ok && !begun && a.cfg.AuthMethod != ""
}

// wantsAuth says whether an error means that somebody has to sign in. Some agents use the code for
// errors of other kinds, so it has to say so, or to come from an agent that offers to sign in and
// has not begun.
func (a *agent) wantsAuth(err error, begun bool) (said string, ok bool) {
	var e *rpcError
	if !errors.As(err, &e) || e.Code != codeAuth {
		return "", false
	}
	says := strings.Contains(strings.ToLower(e.Message+string(e.Data)), "auth")
	return e.Message, says || len(a.hello.Auth) > 0 && !begun
}
