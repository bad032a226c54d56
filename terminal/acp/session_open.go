package acp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"nanobot/terminal"
)

var (
	// errLost says that an agent cannot go on with an earlier session.
	errLost = errors.New("the earlier conversation cannot be resumed")
	// errSilent says that an agent that begins does not answer.
	errSilent = errors.New("the agent did not get ready in time")
)

// where are the parameters of whatever opens a session.
func (a *agent) where(place terminal.ExecEnv) map[string]any {
	p := map[string]any{"cwd": place.Dir, "mcpServers": a.mcpServers(place)}
	var extra []string
	for _, root := range place.Roots {
		if rel, err := filepath.Rel(place.Dir, root); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			extra = append(extra, root)
		}
	}
	if len(extra) > 0 && a.hello.Can.Session.Extra {
		p["additionalDirectories"] = extra
	}
	return p
}

// create opens a new session.
func (a *agent) create(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.waits.Begin, errSilent)
	defer cancel()
	return a.signedIn(ctx, never, func() error {
		var got struct {
			ID string `json:"sessionId"`
			state
		}
		var bad error
		err := a.open(ctx, "session/new", a.where(s.place), func(result json.RawMessage, err error) {
			if err != nil {
				return
			}
			if bad = decode(result, &got); bad == nil && got.ID == "" {
				bad = &rpcError{Code: codeInternal, Message: "the agent answered session/new without a session id"}
			}
			s.holds(got.state)
			s.named(got.ID)
		})
		if err == nil {
			err = bad
		}
		return err
	})
}

// restore goes on with an earlier session: without its past if the agent can, else with a past that
// is not shown. It returns errLost when the agent cannot, and errSilent when it does not answer.
func (a *agent) restore(ctx context.Context, s *session, id string) error {
	within := a.waits.Restore
	if end, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(end)/2) // the rest is for a new one
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSilent)
	defer cancel()
	err := errLost
	ways := []struct {
		method string
		can    able
	}{{"session/resume", a.hello.Can.Session.Resume}, {"session/load", a.hello.Can.Load}}
	for _, way := range ways {
		if !way.can {
			continue
		}
		err = a.signedIn(ctx, never, func() error { return a.bring(ctx, s, way.method, id) })
		var refused *rpcError
		if !errors.As(err, &refused) {
			return err
		}
		a.log("info", way.method+": "+refused.Error())
		err = errLost
	}
	return err
}

func (a *agent) bring(ctx context.Context, s *session, method, id string) error {
	params := a.where(s.place)
	params["sessionId"] = id
	s.replay(id)
	resumed := method == "session/resume"
	err := a.open(ctx, method, params, func(result json.RawMessage, err error) {
		if err != nil {
			s.replay("")
			return
		}
		var got state
		_ = decode(result, &got) // an agent without modes and options may answer null
		s.holds(got)
		if resumed {
			s.replayed()
		}
	})
	if err != nil || resumed {
		return err
	}
	if err := s.untilQuiet(ctx); err != nil {
		return err
	}
	s.replayed()
	return nil
}

// untilQuiet waits until the agent has said all of an earlier session again.
func (s *session) untilQuiet(ctx context.Context) error {
	began, waits := time.Now(), s.agent.waits
	last := began
	for {
		end := last.Add(waits.Quiet)
		if most := began.Add(waits.Replay); end.After(most) {
			end = most
		}
		wait := time.Until(end)
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.agent.disconnected:
		}
		timer.Stop()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case s.agent.isGone():
			return errGone
		}
		s.mu.Lock()
		if s.heard.After(last) {
			last = s.heard
		}
		s.mu.Unlock()
	}
}

// open calls a method that opens a session. An agent that does not answer when the turn ends is not
// kept.
func (a *agent) open(ctx context.Context, method string, params any, hook func(json.RawMessage, error)) error {
	_, hung, err := a.call(ctx, 0, method, params, hook)
	a.spoiled = a.spoiled || hung
	return err
}

// leave tells the agent that a session is not needed any more.
func (a *agent) leave(ctx context.Context, s *session) {
	s.table.Close()
	if !a.hello.Can.Session.Close || s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mercy)
	defer cancel()
	if _, _, err := a.call(ctx, 0, "session/close", map[string]string{"sessionId": s.id}, nil); err != nil {
		a.log("debug", "session/close: "+err.Error()) // it goes with the agent
	}
}

// holds takes what can be chosen in the session. What an update said before the answer is newer
// only where the answer is silent.
func (s *session) holds(st state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Modes != nil {
		s.about.Modes = st.Modes
	}
	if st.Options != nil {
		s.about.Options = st.Options
	}
	if st.Models != nil {
		s.about.Models = st.Models
	}
}

// replay hides what comes until replayed, since it was said in earlier turns.
func (s *session) replay(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.hidden = id, id != ""
}

func (s *session) replayed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = false
}
