package config

import (
	"fmt"
	"strconv"
)

// sources are the file, which may be nil, and the environment, which overrides it. They know which
// of the two set a value.
type sources struct {
	root typeNode
	doc  *document
	env  *environment
}

// locate converts a problem to a mistake with its position and the value found there.
func (s sources) locate(f Problem) Mistake {
	m := Mistake{Key: s.root.formatPath(f.Path), Text: f.Text, Hint: f.Hint}
	hide := f.HideValue || s.root.hidesValue(f.Path)
	if v, value, ok := s.env.findSetter(f.Path); ok {
		m.Variable = v.name
		if !f.AboutKey {
			m.Value = formatValue(value, "", hide)
		}
		return m
	}
	if n := s.doc.find(f.Path); n != nil {
		offset := n.valueOffset
		if f.AboutKey {
			offset = n.keyOffset
		} else {
			m.Value = formatValue(n.goValue(), string(n.literal), hide)
		}
		m.File = s.doc.name
		m.Line, m.Column = s.doc.position(offset)
		return m
	}
	s.locateMissing(&m, f)
	return m
}

// locateMissing sets the position for a key that is not set: that of the key that requires it, or
// of the section that lacks it.
func (s sources) locateMissing(m *Mistake, f Problem) {
	path := f.Cause
	if path == nil {
		path = f.Path[:len(f.Path)-1]
	}
	if v, _, ok := s.env.findSetter(path); ok {
		m.Variable = v.name
		return
	}
	if n := s.doc.find(path); n != nil {
		m.File = s.doc.name
		m.Line, m.Column = s.doc.position(n.valueOffset)
		return
	}
	if v, ok := s.env.findBelow(path); ok {
		m.Variable = v.name
	}
}

// formatValue formats a value for a mistake. Hidden values are described by their type only.
func formatValue(value any, literal string, hide bool) string {
	switch t := value.(type) {
	case nil:
		return "null"
	case string:
		if hide && t != "" {
			return "a string"
		}
		return strconv.Quote(truncate(t))
	case []any:
		if len(t) == 0 {
			return "an empty list"
		}
		return "a list"
	case map[string]any:
		return "an object"
	case bool:
		if hide {
			return "a boolean"
		}
		return strconv.FormatBool(t)
	}
	if hide {
		return "a number"
	}
	if literal == "" {
		literal = fmt.Sprint(value)
	}
	return truncate(literal)
}
