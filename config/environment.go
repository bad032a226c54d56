package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

const (
	prefix    = "NANOBOT_"
	separator = "__"
	// delim joins keys inside koanf. An environment variable cannot contain it, and keys of the
	// file are never split, so that a provider called my.service stays one.
	delim = "\x00"
)

// variable is one environment variable that sets a key.
type variable struct {
	name  string
	path  []string
	value any // of the type that the key wants, else the string as it is
}

// environment is what the environment says about the configuration.
type environment struct {
	root      place
	variables map[string]variable
	environ   []string
	mistakes  Mistakes
}

// readEnvironment sorts out which variables set which keys below root.
func readEnvironment(root place, environ []string) *environment {
	e := &environment{root: root, variables: map[string]variable{}, environ: environ}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !strings.HasPrefix(name, prefix) || reserved(name) {
			continue
		}
		path, typ, hint := root.resolve(name, value)
		if path == nil {
			e.mistakes = append(e.mistakes, Mistake{Variable: name, Text: "unknown setting", Hint: hint})
			continue
		}
		e.add(variable{name, path, parseValue(typ, value)})
	}
	return e
}

// add refuses a second variable for the same key: NANOBOT_LOG__LEVEL and NANOBOT_log__level.
func (e *environment) add(v variable) {
	for name, other := range e.variables {
		if name != v.name && slices.Equal(other.path, v.path) {
			e.mistakes = append(e.mistakes, Mistake{Variable: v.name, Key: e.root.dotted(v.path), Text: "is also set by " + name})
			return
		}
	}
	e.variables[v.name] = v
}

// describesService reports whether Kubernetes or Docker describe a service called nanobot to the
// containers beside it.
func describesService(name string) bool {
	return strings.HasPrefix(name, "NANOBOT_SERVICE_") || name == "NANOBOT_PORT" || strings.HasPrefix(name, "NANOBOT_PORT_")
}

// resolve, of the root, finds the key that NANOBOT_TERMINAL__TIMEOUT names. Our keys match in any
// case, the user's own (below env and providers) exactly as written. No path: there is no such key,
// and the hint says which variable may have been meant.
func (p place) resolve(name, value string) (path []string, typ reflect.Type, hint string) {
	root := p
	for rest := strings.TrimPrefix(name, prefix); ; {
		if p.typ.Kind() == reflect.Map && !p.section() {
			key, field := splitMapKey(p, rest, value)
			path = append(path, key)
			if p, _ = p.child(key); field == "" {
				return path, p.typ, ""
			}
			rest = field
		}
		segment, more, nested := strings.Cut(rest, separator)
		key := matchKey(p, segment)
		if key == "" {
			return nil, nil, p.suggestVariable(name, root, segment)
		}
		path = append(path, key)
		p, _ = p.child(key)
		if !nested {
			return path, p.typ, ""
		}
		rest = more
	}
}

// splitMapKey splits what follows PROVIDERS__, MCPSERVERS__ or AGENTS__ into a name and a key. The
// name of a provider may contain the separator itself, so the key is what stands last; without one
// the whole is the name of an object.
func splitMapKey(p place, rest, value string) (key, field string) {
	if p.typ == agentsType {
		return splitAgent(rest)
	}
	elem, _ := p.child("")
	if !elem.section() {
		return rest, ""
	}
	i := strings.LastIndex(rest, separator)
	if above := strings.LastIndex(rest[:max(i, 0)], separator); above >= 0 && hasUserKeys(elem, rest[above+len(separator):i]) {
		return rest[:above], rest[above+len(separator):]
	}
	if i < 0 || matchKey(elem, rest[i+len(separator):]) == "" && strings.HasPrefix(strings.TrimSpace(value), "{") {
		return rest, ""
	}
	return rest[:i], rest[i+len(separator):]
}

// hasUserKeys reports whether a segment names a key of p below which the user chooses the keys,
// such as the env of an MCP server.
func hasUserKeys(p place, segment string) bool {
	key := matchKey(p, segment)
	child, found := p.child(key)
	return key != "" && found && child.typ.Kind() == reflect.Map
}

func matchKey(p place, segment string) string {
	if !p.section() {
		return ""
	}
	for _, key := range p.keys() {
		if strings.EqualFold(key, segment) {
			return key
		}
	}
	return ""
}

// parseValue reads a variable as its key's type wants it. What does not fit stays a string, and the
// schema says what would be right.
func parseValue(t reflect.Type, s string) any {
	trimmed := strings.TrimSpace(s)
	switch {
	case t == reflect.TypeFor[Reveal]():
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
		if d := parse(place{}, "", []byte(s)); d.root != nil && d.root.members != nil && d.mistakes == nil {
			return d.root.any()
		}
	}
	return s
}

// parseList reads a JSON list, or one separated by commas.
func parseList(s string) any {
	if strings.HasPrefix(strings.TrimSpace(s), "[") {
		if d := parse(place{}, "", []byte(s)); d.root != nil && d.mistakes == nil {
			return d.root.any()
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

// load lays the variables over what k holds. NANOBOT_TERMINAL__TIMEOUT wins over NANOBOT_TERMINAL,
// so they are laid by depth; koanf alone would do it in the order of a map.
func (e *environment) load(k *koanf.Koanf) error {
	depths := map[int]bool{}
	for _, v := range e.variables {
		depths[len(v.path)] = true
	}
	for _, depth := range slices.Sorted(maps.Keys(depths)) {
		layer := env.Provider(delim, env.Opt{
			Prefix:      prefix,
			EnvironFunc: func() []string { return e.environ },
			TransformFunc: func(name, _ string) (string, any) {
				v, ok := e.variables[name]
				if !ok || len(v.path) != depth {
					return "", nil
				}
				return strings.Join(v.path, delim), v.value
			},
		})
		if err := k.Load(layer, nil); err != nil {
			return err
		}
	}
	return nil
}

// origin returns the variable that set path and the value it gave it.
func (e *environment) origin(path []string) (v variable, value any, found bool) {
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

// below returns a variable that sets something below path.
func (e *environment) below(path []string) (v variable, found bool) {
	for _, candidate := range e.variables {
		if len(candidate.path) > len(path) && slices.Equal(candidate.path[:len(path)], path) && (!found || candidate.name < v.name) {
			v, found = candidate, true
		}
	}
	return v, found
}

// valueAt follows a path through maps and lists.
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
