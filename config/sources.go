package config

import (
	"fmt"
	"strconv"
)

// sources knows where each value came from: a file, which may be missing, and the environment over
// it.
type sources struct {
	root place
	doc  *document
	env  *environment
}

// locate turns a fault into a mistake that says where it is and what was found there.
func (s sources) locate(f fault) Mistake {
	m := Mistake{Key: s.root.dotted(f.path), Text: f.text, Hint: f.hint}
	hide := f.hideValue || s.root.hidden(f.path)
	if v, value, ok := s.env.origin(f.path); ok {
		m.Variable = v.name
		if !f.aboutKey {
			m.Value = show(value, "", hide)
		}
		return m
	}
	if n := s.doc.find(f.path); n != nil {
		offset := n.value
		if f.aboutKey {
			offset = n.key
		} else {
			m.Value = show(n.any(), string(n.literal), hide)
		}
		m.File = s.doc.name
		m.Line, m.Column = s.doc.position(offset)
		return m
	}
	s.setOrigin(&m, f)
	return m
}

// setOrigin finds where to point for a key that is set nowhere: at what makes it necessary, else at
// the section it is missing from.
func (s sources) setOrigin(m *Mistake, f fault) {
	path := f.cause
	if path == nil {
		path = f.path[:len(f.path)-1]
	}
	if v, _, ok := s.env.origin(path); ok {
		m.Variable = v.name
		return
	}
	if n := s.doc.find(path); n != nil {
		m.File = s.doc.name
		m.Line, m.Column = s.doc.position(n.value)
		return
	}
	if v, ok := s.env.below(path); ok {
		m.Variable = v.name
	}
}

// show writes a value as it may be seen. A hidden one is shown by its type alone.
func show(value any, literal string, hide bool) string {
	switch t := value.(type) {
	case nil:
		return "null"
	case string:
		if hide && t != "" {
			return "a string"
		}
		return strconv.Quote(shorten(t))
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
	return shorten(literal)
}
