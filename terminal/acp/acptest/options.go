package acptest

import "slices"

// resetOptions sets the options that a session begins with.
func (s *session) resetOptions() {
	s.Mode, s.Model, s.Effort, s.Thinking = "code", "small", "low", false
}

// setOption sets an option of a session. The flag -refuse names one that is refused. Only the large
// model has the effort high, and a change of the model resets the effort.
func (a *agent) setOption(s *session, id string, value any) (any, error) {
	text, _ := value.(string)
	on, isBool := value.(bool)
	switch {
	case id == a.refused:
		return nil, &Problem{-32602, id + " is not available today."}
	case id == "mode" && a.misreports && text == s.Mode:
		return nil, &Problem{-32603, "already in this mode"}
	case id == "mode" && slices.Contains([]string{"code", "plan"}, text):
		s.Mode = text
	case id == "model" && slices.Contains([]string{"small", "large"}, text):
		s.Model, s.Effort = text, "low"
	case id == "effort" && (text == "low" || text == "high" && s.Model == "large"):
		s.Effort = text
	case id == "thinking" && isBool:
		s.Thinking = on
	default:
		return nil, &Problem{-32602, "invalid value"}
	}
	a.saveSession(s)
	return fields{}, nil
}

func (a *agent) configOptions(s *session) []any {
	all := []any{selectOption("model", "Model", s.Model, "small", "Small", "large", "Large")}
	if !a.allOptions {
		return all
	}
	effort := selectOption("thought_level", "Reasoning effort", s.Effort, "low", "Low", "high", "High")
	effort["id"] = "effort"
	return append(all, effort, fields{"id": "thinking", "name": "Extended thinking", "type": "boolean", "currentValue": s.Thinking})
}

// selectOption returns an option with its values and their names.
func selectOption(category, name, current string, values ...string) fields {
	var all []any
	for pair := range slices.Chunk(values, 2) {
		all = append(all, fields{"value": pair[0], "name": pair[1]})
	}
	return fields{"id": category, "name": name, "category": category, "type": "select", "currentValue": current, "options": all}
}
