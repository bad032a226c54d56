package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"nanobot/terminal"
)

// choice is something of a session that can be chosen: its mode or its model.
type choice struct {
	options []option
	current string
	method  string
	params  map[string]any // of method, without the chosen value
	key     string         // of that value
}

// now is the name of what is chosen.
func (c *choice) now() string {
	for _, o := range c.options {
		if o.value == c.current {
			return o.name
		}
	}
	return c.current
}

// choice finds the mode or the model in whichever way the agent has written it; nil: there is none.
func (a *about) choice(what string) *choice {
	for _, byID := range []bool{false, true} { // the category may be missing
		for _, o := range a.Options {
			if o.Type != "boolean" && len(o.Values) > 0 && (o.Category == what || byID && o.Category == "" && strings.EqualFold(o.ID, what)) {
				return &choice{
					options: o.options(), current: plainText(o.Current),
					method: "session/set_config_option", params: map[string]any{"configId": o.ID}, key: "value",
				}
			}
		}
	}
	switch {
	case what == "mode" && a.Modes != nil && len(a.Modes.Available) > 0:
		c := &choice{current: a.Modes.Current, method: "session/set_mode", params: map[string]any{}, key: "modeId"}
		for _, m := range a.Modes.Available {
			c.options = append(c.options, asOption(m.Name, m.ID))
		}
		return c
	case what == "model" && a.Models != nil && len(a.Models.Available) > 0:
		c := &choice{current: a.Models.Current, method: "session/set_model", params: map[string]any{}, key: "modelId"}
		for _, m := range a.Models.Available {
			c.options = append(c.options, asOption(m.Name, m.ID))
		}
		return c
	}
	return nil
}

func asOption(name, value string) option {
	if name = strings.TrimSpace(name); name == "" {
		name = value
	}
	return option{name, value}
}

// options lists the values of an option, those in groups too.
func (o configOption) options() []option {
	var all []option
	for _, v := range o.Values {
		for _, inner := range v.Options {
			all = append(all, asOption(inner.Name, inner.Value))
		}
		if len(v.Options) == 0 {
			all = append(all, asOption(v.Name, v.Value))
		}
	}
	return all
}

func (s *session) choice(what string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about.choice(what)
}

// choose shows or changes the mode or the model.
func (x *turn) choose(ctx context.Context, what string, c *choice, wanted string) (said string, err error) {
	if c == nil {
		return fmt.Sprintf("This agent has no %s to choose.", what), nil
	}
	var o *option
	if wanted != "" {
		if o = find1(c.options, wanted); o == nil {
			return listed(fmt.Sprintf("There is no %s %q.", what, terminal.Shorten(wanted, 80)), "/"+what, c.options, c.current), nil
		}
		if what == modeChoice && len(x.cfg.Approvers) > 0 {
			if said, err = x.approveMode(ctx, o); said != "" || err != nil {
				return said, err
			}
		}
	} else if o, said, err = x.pick(ctx, "Which "+what+"?", "/"+what, c.options, c.current); o == nil || err != nil {
		return said, err
	}
	c.params["sessionId"], c.params[c.key] = x.s.id, o.value
	result, hung, err := x.a.call(ctx, x.Patience, c.method, c.params, nil)
	if x.a.spoiled = x.a.spoiled || hung; err != nil {
		return "", err
	}
	x.s.chose(c, o.value, result)
	return sentence(what) + ": " + o.name, nil
}

// modeChoice is the choice that may permit something: an agent has modes in which it does not ask.
const modeChoice = "mode"

// modeQuestion is the ID of a question about the mode. It is never the same as another: who allows
// a mode once has not allowed it again.
func modeQuestion() string { return "mode-" + rand.Text() }

// approveMode asks the approvers about another mode. It returns what the person is told if they do
// not agree.
func (x *turn) approveMode(ctx context.Context, o *option) (said string, err error) {
	const yes, no = "Yes", "No"
	answer, err := x.t.Ask(ctx, terminal.Question{
		ID: modeQuestion(), Text: "🔐 Change the mode to " + terminal.CodeSpan(terminal.OneLine(o.name, titleLength)) + "?", Options: []string{yes, no}, Timeout: x.askTimeout(), Approval: true,
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil || answer.Text != yes:
		return "The mode was not changed.", nil //nolint:nilerr // no answer is a no
	}
	return "", nil
}

// chose notes what the agent has agreed to.
func (s *session) chose(c *choice, value string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got state
	_ = decode(result, &got) // most answer nothing
	switch {
	case c.method == "session/set_mode":
		s.about.Modes.Current = value
	case c.method == "session/set_model":
		s.about.Models.Current = value
	case got.Options != nil:
		s.about.Options = got.Options
	}
}

func (x *turn) askTimeout() time.Duration { return time.Duration(x.set.AskTimeout) * time.Second }
