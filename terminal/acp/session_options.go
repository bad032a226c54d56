package acp

import (
	"encoding/json"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
)

// The methods that set a value of a session, in the three forms that agents use.
const (
	setConfigOption = "session/set_config_option"
	setMode         = "session/set_mode"
	setModel        = "session/set_model"
)

// The categories of options that have a command of their own.
const (
	modeChoice  = "mode"
	modelChoice = "model"
)

// The values of a boolean option, as people write them.
const valueOn, valueOff = "on", "off"

// choice is a setting of a session: its mode, its model or another option of the agent.
type choice struct {
	method   string
	id       string // of a config option; mode or model in the other forms
	name     string // as the agent names it; "": in the other forms
	category string
	boolean  bool
	options  []form.Option
	current  string
}

// currentName returns the name of the current value.
func (c *choice) currentName() string { return c.valueName(c.current) }

// valueName returns the name of a value.
func (c *choice) valueName(value string) string {
	for _, o := range c.options {
		if o.Value == value {
			return o.Name
		}
	}
	return value
}

// params returns the parameters of the method that sets a value.
func (c *choice) params(session, value string) map[string]any {
	p := map[string]any{"sessionId": session}
	switch {
	case c.method == setMode:
		p["modeId"] = value
	case c.method == setModel:
		p["modelId"] = value
	case c.boolean:
		p["configId"], p["type"], p["value"] = c.id, "boolean", value == valueOn
	default:
		p["configId"], p["value"] = c.id, value
	}
	return p
}

// choice returns the mode or the model, in any of the three forms that agents use; nil if there is
// none.
func (a *sessionDetails) choice(what string) *choice {
	for _, byID := range []bool{false, true} { // the category may be missing
		for _, o := range a.Options {
			if o.Type != "boolean" && len(o.Values) > 0 && (o.Category == what || byID && o.Category == "" && strings.EqualFold(o.ID, what)) {
				return o.choice()
			}
		}
	}
	switch {
	case what == modeChoice && a.Modes != nil && len(a.Modes.Available) > 0:
		c := &choice{method: setMode, id: what, category: what, current: a.Modes.Current}
		for _, m := range a.Modes.Available {
			c.options = append(c.options, form.NewOption(m.Name, m.ID))
		}
		return c
	case what == modelChoice && a.Models != nil && len(a.Models.Available) > 0:
		c := &choice{method: setModel, id: what, category: what, current: a.Models.Current}
		for _, m := range a.Models.Available {
			c.options = append(c.options, form.NewOption(m.Name, m.ID))
		}
		return c
	}
	return nil
}

// settings returns everything that people can choose: the agent's options in its order, and the
// mode and the model of agents that have them in another form.
func (a *sessionDetails) settings() []*choice {
	var all []*choice
	for _, what := range []string{modeChoice, modelChoice} {
		if c := a.choice(what); c != nil && c.method != setConfigOption {
			all = append(all, c)
		}
	}
	for _, o := range a.Options {
		if o.ID != "" && (o.Type == "boolean" || len(o.Values) > 0) {
			all = append(all, o.choice())
		}
	}
	return all
}

// settingOf returns the setting that a stored one is about; nil: the agent has not reported it.
func (a *sessionDetails) settingOf(method, id string) *choice {
	for _, c := range a.settings() {
		if c.method == method && c.id == id {
			return c
		}
	}
	if method == setConfigOption {
		return nil
	}
	return a.choice(id) // the agent may have changed to another form
}

// choice returns a config option as a choice.
func (o configOption) choice() *choice {
	c := &choice{method: setConfigOption, id: o.ID, name: strings.TrimSpace(o.Name), category: o.Category, boolean: o.Type == "boolean"}
	if c.name == "" {
		c.name = o.ID
	}
	if !c.boolean {
		c.options, c.current = o.options(), rpc.PlainText(o.Current)
		return c
	}
	c.options, c.current = []form.Option{form.NewOption("", valueOn), form.NewOption("", valueOff)}, valueOff
	if string(o.Current) == "true" {
		c.current = valueOn
	}
	return c
}

// options returns the values of an option, including those in groups.
func (o configOption) options() []form.Option {
	var all []form.Option
	for _, v := range o.Values {
		for _, inner := range v.Options {
			all = append(all, form.NewOption(inner.Name, inner.Value))
		}
		if len(v.Options) == 0 {
			all = append(all, form.NewOption(v.Name, v.Value))
		}
	}
	return all
}

func (s *session) choice(what string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.details.choice(what)
}

func (s *session) settings() []*choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.details.settings()
}

// settingOf returns the setting that a stored one is about; nil: the agent has not reported it.
func (s *session) settingOf(method, id string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.details.settingOf(method, id)
}

// recordChoice stores the value that the agent has accepted. The agent's response may say that
// other options have changed with it.
func (s *session) recordChoice(c *choice, value string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got choices
	_ = rpc.DecodeLenient(result, &got) // many agents return an empty result
	switch {
	case c.method == setMode && s.details.Modes != nil:
		s.details.Modes.Current = value
	case c.method == setModel && s.details.Models != nil:
		s.details.Models.Current = value
	case c.method == setConfigOption && got.Options != nil:
		s.details.Options = got.Options
	case c.method == setConfigOption:
		s.details.setOption(c, value)
	}
}

// setOption stores the value of a config option.
func (a *sessionDetails) setOption(c *choice, value string) {
	for i := range a.Options {
		if a.Options[i].ID != c.id {
			continue
		}
		if c.boolean {
			a.Options[i].Current = json.RawMessage("false")
			if value == valueOn {
				a.Options[i].Current = json.RawMessage("true")
			}
			return
		}
		a.Options[i].Current, _ = json.Marshal(value) // a string can always be encoded
	}
}

// settingName returns the name of a setting for people.
func settingName(w words.Words, c *choice) string {
	switch {
	case c.name != "":
		return c.name
	case c.method == setMode:
		return w.Text(words.SettingMode)
	}
	return w.Text(words.SettingModel)
}

// valueText returns the name of a value for people.
func valueText(w words.Words, c *choice, value string) string {
	switch {
	case c.boolean && value == valueOn:
		return w.Text(words.SettingOn)
	case c.boolean:
		return w.Text(words.SettingOff)
	}
	return c.valueName(value)
}
