package config

import (
	"reflect"
	"strconv"
	"strings"
)

// place is one spot in the struct tree, as seen from the outside.
type place struct {
	typ    reflect.Type
	secret bool // nothing from here on may be shown
}

// root is the whole tree.
func root() place { return place{typ: reflect.TypeFor[Config]()} }

// section reports whether the place has keys of ours below it, rather than a value or the user's
// keys.
func (p place) section() bool {
	return p.typ.Kind() == reflect.Struct && p.typ != reflect.TypeFor[Reveal]()
}

// keys lists what may stand in a section.
func (p place) keys() []string {
	var names []string
	for i := range p.typ.NumField() {
		if name := jsonName(p.typ.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// child returns the place below a key or an index; not found: there is no such place.
func (p place) child(key string) (place, bool) {
	switch p.typ.Kind() {
	case reflect.Map, reflect.Slice:
		return place{p.typ.Elem(), p.secret}.settled(), true
	case reflect.Struct:
		for i := range p.typ.NumField() {
			if f := p.typ.Field(i); p.section() && jsonName(f) == key {
				return place{f.Type, p.secret || f.Tag.Get("secret") == "all"}.settled(), true
			}
		}
		// The list form of Reveal.
		return place{reflect.TypeFor[string](), p.secret}, !p.section()
	default:
		return place{}, false
	}
}

func (p place) settled() place {
	if p.typ.Kind() == reflect.Pointer {
		p.typ = p.typ.Elem()
	}
	p.secret = p.secret || p.typ == reflect.TypeFor[Secret]()
	return p
}

// at follows a path from the root.
func at(path []string) (p place, found bool) {
	p = root()
	for _, key := range path {
		if p, found = p.child(key); !found {
			return p, false
		}
	}
	return p, true
}

// hidden reports whether a value at path must not be shown. What stands in the place of a section
// is hidden too: "telegram": "123:abc" is most likely the token.
func hidden(path []string) bool {
	p, found := at(path)
	return !found || p.secret || p.section() || p.typ.Kind() == reflect.Map
}

func jsonName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// secrets calls f for every Secret below v, with its path. The values can be set.
func secrets(v reflect.Value, path []string, f func(path []string, s reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		f(path, v)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name := jsonName(v.Type().Field(i)); name != "" {
				secrets(v.Field(i), join(path, name), f)
			}
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			secrets(v.MapIndex(key), join(path, key.String()), f)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			secrets(v.Index(i), join(path, strconv.Itoa(i)), f)
		}
	}
}

// dotted writes a path for people: terminal.env."my.key", channels.telegram.allowFrom[0].
func dotted(path []string) string {
	var b strings.Builder
	for i, key := range path {
		parent, found := at(path[:i])
		if _, err := strconv.Atoi(key); err == nil && found && listed(parent) {
			b.WriteString("[" + key + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quoted(key))
	}
	return b.String()
}

// quoted puts quotes around a key that would be misread without them.
func quoted(key string) string {
	// What follows a = in the name of a variable may be its value.
	if name, value, cut := strings.Cut(key, "="); cut && value != "" {
		key = name + "=…"
	}
	for i, r := range key {
		letter := r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return strconv.Quote(shorten(key))
		}
	}
	if key == "" {
		return `""`
	}
	return shorten(key)
}

func listed(p place) bool {
	return p.typ.Kind() == reflect.Slice || p.typ == reflect.TypeFor[Reveal]()
}

// shorten keeps a line readable whatever somebody pasted into it.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
