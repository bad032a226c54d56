package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/v2"
)

const (
	variablePrefix    = "NANOBOT_"
	variableSeparator = "__"
	// koanfDelimiter joins paths inside koanf. Environment variables and valid keys cannot contain
	// NUL, so a provider called my.service stays one key.
	koanfDelimiter = "\x00"
)

// variable is an environment variable that sets a config key.
type variable struct {
	name  string
	path  []string
	value any // converted to the type of the key, or the string if that failed
}

// environment has the variables that set config keys.
type environment struct {
	root      typeNode
	variables map[string]variable
	mistakes  Mistakes
}

// readEnvironment finds the key that each variable with the prefix NANOBOT_ sets.
func readEnvironment(root typeNode, environ []string) *environment {
	e := &environment{root: root, variables: map[string]variable{}}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !strings.HasPrefix(name, variablePrefix) || isReservedVariable(name) {
			continue
		}
		path, typ, hint := root.resolveVariable(name, value)
		if path == nil {
			text := "unknown setting"
			if hint == "" {
				text += "; nanobot takes every variable that begins with " + variablePrefix + " for a key of the config"
			}
			e.mistakes = append(e.mistakes, Mistake{Variable: name, Text: text, Hint: hint})
			continue
		}
		e.addVariable(variable{name, path, parseValue(typ, value)})
	}
	return e
}

// addVariable records a variable. It reports a mistake if another spelling of the name, such as
// NANOBOT_log__level, sets the same key.
func (e *environment) addVariable(v variable) {
	for name, other := range e.variables {
		if name != v.name && slices.Equal(other.path, v.path) {
			e.mistakes = append(e.mistakes, Mistake{Variable: v.name, Key: e.root.formatPath(v.path), Text: "is also set by " +
				name})
			return
		}
	}
	e.variables[v.name] = v
}

// isServiceVariable reports variables that Kubernetes and Docker set in containers if a service is
// called nanobot.
func isServiceVariable(name string) bool {
	return strings.HasPrefix(name, "NANOBOT_SERVICE_") || name == "NANOBOT_PORT" ||
		strings.HasPrefix(name, "NANOBOT_PORT_")
}

// resolveVariable, called on the root, finds the key that a variable such as
// NANOBOT_TERMINAL__TIMEOUT sets. Known keys match in any case; names that users choose, such as
// those below env and providers, match exactly. If there is no such key, path is nil and hint may
// suggest another variable.
func (n typeNode) resolveVariable(name, value string) (path []string, typ reflect.Type, hint string) {
	root := n
	for rest := strings.TrimPrefix(name, variablePrefix); ; {
		if n.typ.Kind() == reflect.Map && !n.isSection() {
			key, field := splitMapKey(n, rest, value)
			path = append(path, key)
			if n, _ = n.child(key); field == "" {
				return path, n.typ, ""
			}
			rest = field
		}
		segment, more, nested := strings.Cut(rest, variableSeparator)
		key := matchKey(n, segment)
		if key == "" {
			return nil, nil, n.suggestVariable(name, root, segment)
		}
		path = append(path, key)
		n, _ = n.child(key)
		if !nested {
			return path, n.typ, ""
		}
		rest = more
	}
}

// splitMapKey splits the part of a variable's name after PROVIDERS__, MCPSERVERS__ or AGENTS__ into
// the name that the user chose and a key. A provider's name may contain the separator, so the key
// is the last segment. Without a key, the value is a whole object.
func splitMapKey(p typeNode, rest, value string) (key, field string) {
	if p.typ == agentsType {
		return splitAgentVariable(rest)
	}
	elem, _ := p.child("")
	if !elem.isSection() {
		return rest, ""
	}
	i := strings.LastIndex(rest, variableSeparator)
	if above := strings.LastIndex(rest[:max(i, 0)], variableSeparator); above >= 0 &&
		hasUserKeys(elem, rest[above+len(variableSeparator):i]) {
		return rest[:above], rest[above+len(variableSeparator):]
	}
	if i < 0 || matchKey(elem, rest[i+len(variableSeparator):]) == "" && strings.HasPrefix(strings.TrimSpace(value), "{") {
		return rest, ""
	}
	return rest[:i], rest[i+len(variableSeparator):]
}

// hasUserKeys reports whether a segment is a key of p whose own keys users choose, such as the env
// of an MCP server.
func hasUserKeys(p typeNode, segment string) bool {
	key := matchKey(p, segment)
	child, found := p.child(key)
	return key != "" && found && child.typ.Kind() == reflect.Map
}

func matchKey(p typeNode, segment string) string {
	if !p.isSection() {
		return ""
	}
	for _, key := range p.knownKeys() {
		if strings.EqualFold(key, segment) {
			return key
		}
	}
	return ""
}

// parseValue converts the value of a variable to the type of its key. A value that cannot be
// converted stays a string, and the schema check reports it.
func parseValue(t reflect.Type, s string) any {
	trimmed := strings.TrimSpace(s)
	switch {
	case t == reflect.TypeFor[Selection]():
		if b, err := strconv.ParseBool(trimmed); err == nil {
			return b
		}
		return parseList(s)
	case t.Kind() == reflect.Bool:
		if b, err := strconv.ParseBool(trimmed); err == nil {
			return b
		}
	case t.Kind() == reflect.Int:
		if i, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return i
		}
	case t.Kind() == reflect.Slice:
		return parseList(s)
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		if d := parseDocument(typeNode{}, "", []byte(s)); d.root != nil && d.mistakes == nil &&
			(d.root.members != nil || d.root.elements != nil) {
			return d.root.goValue()
		}
	}
	return s
}

// parseList parses a JSON list, or a list separated by commas.
func parseList(s string) any {
	if strings.HasPrefix(strings.TrimSpace(s), "[") {
		if d := parseDocument(typeNode{}, "", []byte(s)); d.root != nil && d.mistakes == nil {
			return d.root.goValue()
		}
		return s
	}
	list := []any{}
	for entry := range strings.SplitSeq(s, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// applyTo merges the variables into k. NANOBOT_TERMINAL__TIMEOUT overrides NANOBOT_TERMINAL, so
// shorter paths are merged first.
func (e *environment) applyTo(k *koanf.Koanf) error {
	byDepth := func(a, b variable) int { return cmp.Compare(len(a.path), len(b.path)) }
	for _, v := range slices.SortedFunc(maps.Values(e.variables), byDepth) {
		if list := e.accountsAbove(k, v.path); list != nil {
			delete(e.variables, v.name)
			e.mistakes = append(e.mistakes, Mistake{
				Variable: v.name, Text: fmt.Sprintf("%s is a list of accounts; write %s in it, or set the whole list in %s",
					e.root.formatPath(list), v.path[len(list)],
					variablePrefix+strings.ToUpper(strings.Join(list, variableSeparator))),
			})
			continue
		}
		if err := k.Set(strings.Join(v.path, koanfDelimiter), v.value); err != nil {
			return err
		}
	}
	return nil
}

// accountsAbove returns the path of the list of accounts that is above path, or nil.
func (e *environment) accountsAbove(k *koanf.Koanf, path []string) []string {
	for i := range path {
		at, _ := e.root.descend(path[:i])
		if _, isList := k.Get(strings.Join(path[:i], koanfDelimiter)).([]any); isList && at.accounts {
			return path[:i]
		}
	}
	return nil
}

// findSetter returns the variable that sets the value at path, and that value.
func (e *environment) findSetter(path []string) (v variable, value any, found bool) {
	for _, candidate := range e.variables {
		if len(candidate.path) > len(path) || !slices.Equal(candidate.path, path[:len(candidate.path)]) {
			continue
		}
		if found && len(candidate.path) <= len(v.path) {
			continue
		}
		if got, ok := valueAt(candidate.value, path[len(candidate.path):]); ok {
			v, value, found = candidate, got, true
		}
	}
	return v, value, found
}

// findBelow returns a variable that sets a value below path.
func (e *environment) findBelow(path []string) (v variable, found bool) {
	for _, candidate := range e.variables {
		if len(candidate.path) > len(path) && slices.Equal(candidate.path[:len(path)], path) &&
			(!found || candidate.name < v.name) {
			v, found = candidate, true
		}
	}
	return v, found
}

// valueAt returns the value at a path through maps and lists.
func valueAt(value any, path []string) (any, bool) {
	for _, key := range path {
		switch t := value.(type) {
		case map[string]any:
			child, ok := t[key]
			if !ok {
				return nil, false
			}
			value = child
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			value = t[i]
		default:
			return nil, false
		}
	}
	return value, true
}
