package acp

import (
	"cmp"
	"encoding/json"
	"slices"
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

// choices are the settings of a session as an agent reports them, in three forms.
type choices struct {
	Modes *struct {
		Current   string                      `json:"currentModeId"`
		Available []struct{ ID, Name string } `json:"availableModes"`
	} `json:"modes"`
	Options []configOption `json:"configOptions"`
	Models  *struct {      // of agents that predate config options
		Current   string `json:"currentModelId"`
		Available []struct {
			ID   string `json:"modelId"`
			Name string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
}

type configOption struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Category string          `json:"category"`
	Type     string          `json:"type"`
	Current  json.RawMessage `json:"currentValue"`
	Values   []configValue   `json:"options"`
}

// configValue is a value of an option or a group of values.
type configValue struct {
	Value   string        `json:"value"`
	Name    string        `json:"name"`
	Options []configValue `json:"options"`
}

// choice returns a config option as a choice.
func (o configOption) choice() *choice {
	c := &choice{
		method: setConfigOption, id: o.ID, name: cmp.Or(strings.TrimSpace(o.Name), o.ID), category: o.Category,
		boolean: o.Type == "boolean", current: rpc.PlainText(o.Current),
	}
	if c.boolean {
		c.options, c.current = []form.Option{form.NewOption("", valueOn), form.NewOption("", valueOff)}, valueOff
		if string(o.Current) == "true" {
			c.current = valueOn
		}
		return c
	}
	for _, v := range o.Values {
		for _, inner := range v.Options {
			c.options = append(c.options, form.NewOption(inner.Name, inner.Value))
		}
		if len(v.Options) == 0 {
			c.options = append(c.options, form.NewOption(v.Name, v.Value))
		}
	}
	return c
}

// sessionChoices are the settings that a session has. The mode and the model in forms of their own
// are nil if the agent has none.
type sessionChoices struct {
	mode, model *choice
	options     []*choice // in the order of the agent
}

// set replaces the settings that an agent reports in a response.
func (a *sessionChoices) set(got choices) {
	if m := got.Modes; m != nil {
		a.mode = &choice{method: setMode, id: modeChoice, category: modeChoice, current: m.Current}
		for _, o := range m.Available {
			a.mode.options = append(a.mode.options, form.NewOption(o.Name, o.ID))
		}
	}
	if m := got.Models; m != nil {
		a.model = &choice{method: setModel, id: modelChoice, category: modelChoice, current: m.Current}
		for _, o := range m.Available {
			a.model.options = append(a.model.options, form.NewOption(o.Name, o.ID))
		}
	}
	if got.Options != nil {
		a.options = nil
		for _, o := range got.Options {
			a.options = append(a.options, o.choice())
		}
	}
}

// find returns the mode or the model, in any of the three forms that agents use; nil if there is
// none.
func (a *sessionChoices) find(what string) *choice {
	for _, byID := range []bool{false, true} { // the category may be missing
		for _, c := range a.options {
			if !c.boolean && len(c.options) > 0 &&
				(c.category == what || byID && c.category == "" && strings.EqualFold(c.id, what)) {
				return c
			}
		}
	}
	own := map[string]*choice{modeChoice: a.mode, modelChoice: a.model}[what]
	if own == nil || len(own.options) == 0 {
		return nil
	}
	return own
}

// all returns everything that people can choose: the mode and the model of agents that have them in
// a form of their own, and the agent's options in its order.
func (a *sessionChoices) all() (all []*choice) {
	for _, what := range []string{modeChoice, modelChoice} {
		if c := a.find(what); c != nil && c.method != setConfigOption {
			all = append(all, c)
		}
	}
	for _, c := range a.options {
		if c.id != "" && len(c.options) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// findStored returns the setting that a stored one is about; nil: the agent has not reported it.
func (a *sessionChoices) findStored(method, id string) *choice {
	all := a.all()
	if i := slices.IndexFunc(all, func(c *choice) bool { return c.method == method && c.id == id }); i >= 0 {
		return all[i]
	}
	if method == setConfigOption {
		return nil
	}
	return a.find(id) // the agent may have changed to another form
}

// setValue stores the value of a setting.
func (a *sessionChoices) setValue(method, id, value string) {
	for _, c := range append([]*choice{a.mode, a.model}, a.options...) {
		if c != nil && c.method == method && c.id == id {
			c.current = value
		}
	}
}

// copyOf returns a setting that later updates do not change.
func copyOf(c *choice) *choice {
	if c == nil {
		return nil
	}
	copied := *c
	return &copied
}

// choice returns the mode or the model; nil if there is none.
func (s *session) choice(what string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copyOf(s.details.find(what))
}

// settings returns everything that people can choose.
func (s *session) settings() (all []*choice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.details.all() {
		all = append(all, copyOf(c))
	}
	return all
}

// settingOf returns the setting that a stored one is about; nil: the agent has not reported it.
func (s *session) settingOf(method, id string) *choice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copyOf(s.details.findStored(method, id))
}

// recordChoice stores the value that the agent has accepted. The agent's response may say that
// other options have changed with it.
func (s *session) recordChoice(c *choice, value string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got choices
	_ = rpc.DecodeLenient(result, &got) // many agents return an empty result
	if c.method == setConfigOption && got.Options != nil {
		s.details.set(choices{Options: got.Options})
		return
	}
	s.details.setValue(c.method, c.id, value)
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
