package acp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

// chosenSetting is a value that a person has chosen for a session. Agents forget it when their
// process ends, so it is stored with the session and set again.
type chosenSetting struct {
	Method  string `json:"method"` // that sets it
	ID      string `json:"id"`
	Boolean bool   `json:"boolean,omitempty"`
	Value   string `json:"value"`
	// Name and ValueName are the names that the agent had for them.
	Name      string `json:"name,omitempty"`
	ValueName string `json:"value_name,omitempty"`
}

func newChosenSetting(c *choice, value string) chosenSetting {
	return chosenSetting{
		Method: c.method, ID: c.id, Boolean: c.boolean, Value: value, Name: c.name,
		ValueName: c.valueName(value),
	}
}

// choice returns the choice with which a setting is set if the agent has not reported it.
func (m chosenSetting) choice() *choice {
	return &choice{method: m.Method, id: m.ID, name: m.Name, boolean: m.Boolean}
}

// describe returns the names of the setting and its value for people.
func (m chosenSetting) describe(w words.Words) string {
	c := m.choice()
	value := m.ValueName
	if c.boolean || value == "" {
		value = valueText(w, c, m.Value)
	}
	return settingName(w, c) + ": " + value
}

// errValueNotSet means that an agent has accepted a value and then reported another one.
var errValueNotSet = errors.New("the agent uses another value")

// setValue sets a value in the agent. An error is as for rpc.Conn.Call.
func (s *session) setValue(ctx context.Context, c *choice, value string) error {
	a := s.agent
	result, hung, err := a.Call(ctx, a.timeouts.StopTimeout, c.method, c.params(s.id, value), nil)
	if a.unusable = a.unusable || hung; err != nil {
		return err
	}
	s.recordChoice(c, value, result)
	return nil
}

// chooseValue sets a value that a person has chosen, and remembers it.
func (x *turn) chooseValue(ctx context.Context, c *choice, value string) error {
	if err := x.s.setValue(ctx, c, value); err != nil {
		return err
	}
	same := func(m chosenSetting) bool { return m.Method == c.method && m.ID == c.id }
	x.s.unrestored = slices.DeleteFunc(x.s.unrestored, same)
	x.s.chosen = append(slices.DeleteFunc(slices.Clone(x.s.chosen), same), newChosenSetting(c, value))
	return x.storeState(ctx, x.s)
}

// state returns what is remembered of the session.
func (s *session) state() sessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sessionState{s.chosen, s.details.counted}
}

// setState sets what is remembered of a restored session.
func (s *session) setState(state sessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chosen, s.details.counted = state.Chosen, state.Cost
}

// storeState stores the cost of a session and the values of the settings that people have chosen in
// it. The agent may have changed those since, for example when the person has approved its plan. A
// value that needs approval is then forgotten, because nanobot must never set one that nobody has
// chosen.
func (x *turn) storeState(ctx context.Context, s *session) error {
	var all []chosenSetting
	for _, m := range s.chosen {
		now := s.settingOf(m.Method, m.ID)
		switch {
		case now == nil || now.current == "" || now.current == m.Value || s.isUnrestored(m, now.current):
			all = append(all, m)
		case !now.needsApproval():
			all = append(all, newChosenSetting(now, now.current))
		}
	}
	s.chosen = all
	return x.memory.storePast(ctx, s.id, s.state())
}

// restoreChosen sets the chosen values in a session that was just opened, and reports those that
// the agent refuses. An error means that the agent has ended or the turn has.
func (x *turn) restoreChosen(ctx context.Context, s *session) error {
	limited, cancel := context.WithTimeoutCause(ctx, x.RestoreTimeout, errNotReady)
	defer cancel()
	refused := map[int]error{}
	// A value may depend on another one, such as an effort that only some models have, so what the
	// first round has not achieved is tried once more.
	for range 2 {
		progress := false
		clear(refused)
		for i, m := range s.chosen {
			done, err := s.restoreSetting(limited, m)
			progress = progress || done
			if err != nil && ctx.Err() != nil || errors.Is(err, rpc.ErrGone) {
				return err
			}
			refused[i] = err
		}
		if !progress {
			break
		}
	}
	for i, m := range s.chosen {
		if err := refused[i]; err != nil {
			x.notices = append(x.notices, x.refusalText(m, err))
			s.addUnrestored(m)
		}
	}
	return nil
}

// addUnrestored records the value that the session has instead of a chosen one.
func (s *session) addUnrestored(m chosenSetting) {
	if now := s.settingOf(m.Method, m.ID); now != nil {
		m.Value = now.current
		s.unrestored = append(s.unrestored, m)
	}
}

// isUnrestored reports whether a setting has a value only because the chosen one could not be set.
// The choice then stays, so that it is tried again in the next process.
func (s *session) isUnrestored(m chosenSetting, value string) bool {
	m.Value = value
	return slices.Contains(s.unrestored, m)
}

// restoreSetting sets a chosen value unless the session has it already. done reports that it was
// set.
func (s *session) restoreSetting(ctx context.Context, m chosenSetting) (done bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c := s.settingOf(m.Method, m.ID)
	if c == nil {
		c = m.choice()
	} else if c.current == m.Value {
		return false, nil
	}
	if err := s.setAgain(ctx, c, m.Value); err != nil {
		return false, err
	}
	if now := s.settingOf(m.Method, m.ID); now != nil && now.current != m.Value {
		return true, errValueNotSet
	}
	return true, nil
}

// setAgain sets a value that may be set already although the agent reports another one: after a
// resume Kimi Code reports the default mode, but is in the earlier one and refuses to enter it once
// more. Setting the reported value first makes such an agent change.
func (s *session) setAgain(ctx context.Context, c *choice, value string) error {
	reported := c.current
	err := s.setValue(ctx, c, value)
	var refused *rpc.Error
	if !errors.As(err, &refused) || reported == "" || s.setValue(ctx, c, reported) != nil {
		return err
	}
	return s.setValue(ctx, c, value)
}

// refusalText says that a chosen value could not be set again.
func (x *turn) refusalText(m chosenSetting, err error) string {
	what := terminal.OneLine(m.describe(x.t.Words), steps.TitleLength)
	var said *rpc.Error
	switch {
	case errors.As(err, &said):
		return x.t.Words.Text(words.SettingRefused, what,
			terminal.OneLine(strings.TrimRight(rpc.InnerMessage(said.Message), "."), steps.TitleLength))
	case errors.Is(err, errNotReady):
		return x.t.Words.Text(words.SettingUnanswered, what)
	}
	return x.t.Words.Text(words.SettingNotKept, what)
}

// continueSession sets in a restored session what was chosen in it before.
func (x *turn) continueSession(ctx context.Context, s *session) error {
	state, err := x.memory.loadState(ctx, s.id)
	if err != nil {
		return err
	}
	s.setState(state)
	if err := x.memory.addSession(ctx, s.id, state); err != nil {
		return err
	}
	return x.restoreChosen(ctx, s)
}
