package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

// choice is a setting of a session: its mode or its model.
type choice struct {
	options []option
	current string
	method  string
	params  map[string]any // parameters of method without the chosen value
	key     string         // the parameter of the chosen value
}

// currentName returns the name of the current value.
func (c *choice) currentName() string {
	for _, o := range c.options {
		if o.value == c.current {
			return o.name
		}
	}
	return c.current
}

// choice returns the mode or the model, in any of the three forms that agents use; nil if there is
// none.
func (a *sessionDetails) choice(what string) *choice {
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
			c.options = append(c.options, newOption(m.Name, m.ID))
		}
		return c
	case what == "model" && a.Models != nil && len(a.Models.Available) > 0:
		c := &choice{current: a.Models.Current, method: "session/set_model", params: map[string]any{}, key: "modelId"}
		for _, m := range a.Models.Available {
			c.options = append(c.options, newOption(m.Name, m.ID))
		}
		return c
	}
	return nil
}

func newOption(name, value string) option {
	if name = strings.TrimSpace(name); name == "" {
		name = value
	}
	return option{name, value}
}

// options returns the values of an option, including those in groups.
func (o configOption) options() []option {
	var all []option
	for _, v := range o.Values {
		for _, inner := range v.Options {
			all = append(all, newOption(inner.Name, inner.Value))
		}
		if len(v.Options) == 0 {
			all = append(all, newOption(v.Name, v.Value))
		}
	}
	return all
}

func (s *session) choice(what string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.details.choice(what)
}

// runChoiceCommand shows or changes the mode or the model.
func (x *turn) runChoiceCommand(ctx context.Context, what string, c *choice, wanted string) (said string, err error) {
	if c == nil {
		return fmt.Sprintf("This agent has no %s to choose.", what), nil
	}
	p := optionPicker{question: "Which " + what + "?", command: "/" + what, options: c.options, current: c.current, approval: what == modeChoice}
	if wanted == "" {
		return x.offer(ctx, p)
	}
	o := findOption(c.options, wanted)
	if o == nil {
		return p.render(fmt.Sprintf("There is no %s %q.", what, terminal.Shorten(wanted, 80))), nil
	}
	if what == modeChoice && !x.isApprover() {
		if said, err = x.approveMode(ctx, o); said != "" || err != nil {
			return said, err
		}
	}
	c.params["sessionId"], c.params[c.key] = x.s.id, o.value
	result, hung, err := x.a.call(ctx, x.StopTimeout, c.method, c.params, nil)
	if x.a.unusable = x.a.unusable || hung; err != nil {
		return "", err
	}
	x.s.recordChoice(c, o.value, result)
	return capitalize(what) + ": " + o.name, nil
}

// modeChoice needs approval: agents have modes in which they ask for no permission.
const modeChoice = "mode"

// isApprover reports whether the message is in the own words of a person who may approve, so that
// nobody needs to be asked.
func (x *turn) isApprover() bool {
	e := x.t.Envelope
	return len(x.cfg.Approvers) == 0 || e.User != nil && e.Forwarded == nil && slices.Contains(x.cfg.Approvers, e.Channel+":"+e.User.ID)
}

// approveMode asks the approvers about a change of the mode. It returns the reply to the person if
// they do not agree.
func (x *turn) approveMode(ctx context.Context, o *option) (said string, err error) {
	const yes, no = "Yes", "No"
	answer, err := x.t.Ask(ctx, terminal.Question{
		// A unique ID, so that a stored answer to an earlier question cannot approve another change.
		ID: "mode-" + rand.Text(), Text: "🔐 Change the mode to " + terminal.CodeSpan(terminal.OneLine(o.name, titleLength)) + "?", Options: []string{yes, no}, Timeout: x.askTimeout(), Approval: true,
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil || answer.Text != yes:
		return "The mode was not changed.", nil //nolint:nilerr // no answer is a no
	}
	return "", nil
}

// recordChoice stores the value that the agent has accepted.
func (s *session) recordChoice(c *choice, value string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got choices
	_ = decodeLenient(result, &got) // most agents return an empty result
	switch {
	case c.method == "session/set_mode":
		s.details.Modes.Current = value
	case c.method == "session/set_model":
		s.details.Models.Current = value
	case got.Options != nil:
		s.details.Options = got.Options
	}
}

func (x *turn) askTimeout() time.Duration { return time.Duration(x.settings.AskTimeout) * time.Second }
