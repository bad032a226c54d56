package config

import (
	"errors"
	"fmt"
	"reflect"
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
			m.Value = s.describeValue(f.Path, value, "", hide)
		}
		return m
	}
	if n := s.doc.find(f.Path); n != nil {
		offset := n.valueOffset
		if f.AboutKey {
			offset = n.keyOffset
		} else {
			m.Value = s.describeValue(f.Path, n.goValue(), string(n.literal), hide)
		}
		m.File = s.doc.name
		m.Line, m.Column = s.doc.position(offset)
		return m
	}
	s.locateMissing(&m, f)
	return m
}

// describeValue formats the value at a path. A hidden string where a string is expected is left
// out, since its type says nothing.
func (s sources) describeValue(path []string, value any, literal string, hide bool) string {
	node, found := s.root.descend(path)
	if text, isText := value.(string); hide && isText && text != "" && found && node.typ.Kind() == reflect.String {
		return ""
	}
	return formatValue(value, literal, hide)
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

// Locate returns the mistakes that an error reports, with their positions, or nil. Problems in the
// error have paths relative to the section; anything else in it concerns the section as a whole.
func (c *Config) Locate(err error, section ...string) error {
	if all := c.collectMistakes(err, section); len(all) > 0 {
		return all.sorted()
	}
	return nil
}

// collectMistakes walks the tree of a joined error.
func (c *Config) collectMistakes(err error, section []string) (all Mistakes) {
	var located Mistakes
	var problem Problem
	joined, isJoined := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case isJoined:
		for _, one := range joined.Unwrap() {
			all = append(all, c.collectMistakes(one, section)...)
		}
	case errors.As(err, &located):
		return located
	case errors.As(err, &problem):
		return Mistakes{c.withPosition(below(section, []Problem{problem})[0])}
	case len(section) == 0:
		return Mistakes{{File: c.file, Text: err.Error()}}
	default:
		return Mistakes{c.withPosition(Problem{Path: section, Text: err.Error(), AboutKey: true})}
	}
	return all
}

// withPosition converts a problem to a mistake. A Config that was not loaded has no positions.
func (c *Config) withPosition(p Problem) Mistake {
	if c.locate == nil {
		return Mistake{Key: c.extensions.rootNode().formatPath(p.Path), Text: p.Text, Hint: p.Hint}
	}
	return c.locate(p)
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
