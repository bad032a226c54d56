package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"nanobot/internal/nofollow"
	"nanobot/terminal"
	"nanobot/terminal/acp/login"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/process"
)

var (
	// errNotRestorable means that an agent cannot continue an earlier session.
	errNotRestorable = errors.New("the earlier conversation cannot be resumed")
	// errNotReady means that an agent does not respond while it starts.
	errNotReady = errors.New("the agent did not get ready in time")
)

// sessionParams returns the parameters of all methods that open a session.
func (a *agent) sessionParams(env terminal.ExecEnv) map[string]any {
	p := map[string]any{"cwd": env.Dir, "mcpServers": a.mcpServers(env)}
	var extra []string
	for _, root := range env.Roots {
		if !nofollow.Within(env.Dir, root) {
			extra = append(extra, root)
		}
	}
	if len(extra) > 0 && a.initResponse.Capabilities.Session.Extra {
		p["additionalDirectories"] = extra
	}
	return p
}

// createSession opens a new session.
func (a *agent) createSession(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeouts.StartTimeout, errNotReady)
	defer cancel()
	return a.login().Do(ctx, login.NeverStarted, func() error {
		var got struct {
			ID string `json:"sessionId"`
			choices
		}
		var bad error
		err := a.callOpen(ctx, "session/new", a.sessionParams(s.env), func(result json.RawMessage, err error) {
			if err != nil {
				return
			}
			if bad = rpc.DecodeLenient(result, &got); bad == nil && got.ID == "" {
				bad = &rpc.Error{Code: rpc.CodeInternal, Message: "the agent answered session/new without a session id"}
			}
			s.setChoices(got.choices, &view.Cost{}) // nothing yet
			s.setID(got.ID)
		})
		if err == nil {
			err = bad
		}
		return err
	})
}

// restoreSession continues an earlier session, by session/resume if the agent can, else by
// session/load, whose replay is hidden. It returns errNotRestorable if the agent cannot, and
// errNotReady if it does not respond.
func (a *agent) restoreSession(ctx context.Context, s *session, id string) error {
	within := a.timeouts.RestoreTimeout
	if end, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(end)/2) // the other half is for a new session
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNotReady)
	defer cancel()
	err := errNotRestorable
	ways := []struct {
		method string
		can    capability
	}{{"session/resume", a.initResponse.Capabilities.Session.Resume}, {"session/load", a.initResponse.Capabilities.Load}}
	for _, way := range ways {
		if !way.can {
			continue
		}
		err = a.login().Do(ctx, login.NeverStarted, func() error { return a.reopenSession(ctx, s, way.method, id) })
		var refused *rpc.Error
		if !errors.As(err, &refused) {
			return err
		}
		a.Log("info", way.method+": "+refused.Error())
		err = errNotRestorable
	}
	return err
}

func (a *agent) reopenSession(ctx context.Context, s *session, method, id string) error {
	params := a.sessionParams(s.env)
	params["sessionId"] = id
	s.startReplay(id)
	resumed := method == "session/resume"
	err := a.callOpen(ctx, method, params, func(result json.RawMessage, err error) {
		if err != nil {
			s.startReplay("")
			return
		}
		var got choices
		_ = rpc.DecodeLenient(result, &got) // an agent without modes and options may return null
		s.setChoices(got, nil)
		if resumed {
			s.endReplay()
		}
	})
	if err != nil || resumed {
		return err
	}
	if err := s.waitForQuiet(ctx); err != nil {
		return err
	}
	s.endReplay()
	return nil
}

// waitForQuiet waits until the agent has replayed an earlier session.
func (s *session) waitForQuiet(ctx context.Context) error {
	quietPeriod := s.agent.timeouts.QuietPeriod
	limit, stop := process.After(s.agent.timeouts.ReplayLimit)
	defer stop()
	for last := time.Now(); ; {
		wait := quietPeriod - time.Since(last)
		if wait <= 0 {
			return nil
		}
		// An agent is not quiet because the machine stands still.
		over, stop := process.After(wait)
		select {
		case <-over:
		case <-limit:
			quietPeriod = 0 // the last round
		case <-ctx.Done():
		case <-s.agent.Disconnected:
		}
		stop()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.agent.IsGone():
			return rpc.ErrGone
		}
		s.mu.Lock()
		if s.lastUpdate.After(last) {
			last = s.lastUpdate
		}
		s.mu.Unlock()
	}
}

// callOpen calls a method that opens a session. An agent that does not respond is not used again.
func (a *agent) callOpen(ctx context.Context, method string, params any,
	onResponse func(json.RawMessage, error),
) error {
	_, hung, err := a.Call(ctx, 0, method, params, onResponse)
	a.unusable = a.unusable || hung
	return err
}

// closeSession tells the agent that a session is no longer needed.
func (a *agent) closeSession(ctx context.Context, s *session) {
	s.endBackground()
	s.access.Table.Close()
	if !a.initResponse.Capabilities.Session.Close || s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	if _, _, err := a.Call(ctx, 0, "session/close", map[string]string{"sessionId": s.id}, nil); err != nil {
		a.Log("debug", "session/close: "+err.Error()) // the session ends with the agent at the latest
	}
}

// setChoices stores the choices of the response that opened the session, and its cost; nil: it is
// unknown. They override earlier updates.
func (s *session) setChoices(got choices, cost *view.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.details.set(got)
	s.details.cost = cmp.Or(cost, s.details.cost)
}

// startReplay sets the ID and hides updates until endReplay, because they repeat earlier turns.
func (s *session) startReplay(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.replaying = id, id != ""
}

func (s *session) endReplay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaying = false
}
