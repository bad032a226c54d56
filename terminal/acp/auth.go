package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/terminal/acp/rpc"
)

// authError means that somebody has to sign in. It lists the methods that the agent offers.
type authError struct {
	message string
	methods []authMethod
}

func (e *authError) Error() string {
	return "the agent requires signing in: " + strings.TrimSpace(e.message)
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
	_, hung, err := a.Call(ctx, 0, "authenticate", map[string]string{"methodId": a.cfg.AuthMethod}, nil)
	a.unusable = a.unusable || hung
	var refused *rpc.Error
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
	return ok && !started && a.cfg.AuthMethod != "" && !a.needsPerson(a.cfg.AuthMethod)
}

// needsPerson reports whether a person has to act for a sign-in method, so that it must not be
// passed to authenticate.
func (a *agent) needsPerson(id string) bool {
	i := slices.IndexFunc(a.initResponse.Auth, func(m authMethod) bool { return m.ID == id })
	return i >= 0 && a.initResponse.Auth[i].kind() != signInByAgent
}

// isAuthError reports whether err means that somebody has to sign in. Some agents use the code for
// other errors too, so the message must mention it, or the agent must offer methods and not have
// started to work.
func (a *agent) isAuthError(err error, started bool) (said string, ok bool) {
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != rpc.CodeAuth {
		return "", false
	}
	says := strings.Contains(strings.ToLower(e.Message+string(e.Data)), "auth")
	return e.Message, says || len(a.initResponse.Auth) > 0 && !started
}
