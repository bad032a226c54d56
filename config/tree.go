package config

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// place is one spot in the struct tree, as seen from the outside.
type place struct {
	typ        reflect.Type
	secret     bool        // nothing from here on may be shown
	extensions *Extensions // the sections of channels and protocols
}

var (
	channelsType  = reflect.TypeFor[Channels]()
	protocolsType = reflect.TypeFor[Protocols]()
	agentsType    = reflect.TypeFor[Agents]()
)

// root is the whole tree.
func (p Extensions) root() place { return place{typ: reflect.TypeFor[Config](), extensions: &p} }

// section reports whether the place has keys of ours below it, rather than a value or the user's
// keys.
func (p place) section() bool {
	return p.typ == channelsType || p.typ.Kind() == reflect.Struct && p.typ != reflect.TypeFor[Reveal]()
}

// keys lists what may stand in a section.
func (p place) keys() []string {
	var names []string
	if p.typ == channelsType {
		for _, ch := range p.extensions.Channels {
			names = append(names, ch.Name)
		}
		return names
	}
	for i := range p.typ.NumField() {
		f := p.typ.Field(i)
		if f.Type == protocolsType {
			for _, pr := range p.extensions.Protocols {
				if pr.New != nil {
					names = append(names, pr.Name)
				}
			}
		}
		if name := jsonName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// part returns the place of the section that a channel or a protocol describes.
func (p place) part(key string) (place, bool) {
	if p.typ == channelsType {
		for _, ch := range p.extensions.Channels {
			if ch.Name == key {
				return place{reflect.TypeOf(ch.New()), p.secret, p.extensions}.settled(), true
			}
		}
		return place{}, false
	}
	if pr := p.extensions.protocol(key); pr.New != nil {
		return place{reflect.TypeOf(pr.New()), p.secret, p.extensions}.settled(), true
	}
	return place{}, false
}

// child returns the place below a key or an index; not found: there is no such place.
func (p place) child(key string) (place, bool) {
	switch kind := p.typ.Kind(); {
	case p.typ == channelsType:
		return p.part(key)
	case kind == reflect.Map, kind == reflect.Slice:
		return place{p.typ.Elem(), p.secret, p.extensions}.settled(), true
	case kind == reflect.Struct:
		for i := range p.typ.NumField() {
			f := p.typ.Field(i)
			if below, found := p.part(key); f.Type == protocolsType && found {
				return below, true
			}
			if p.section() && jsonName(f) == key {
				return place{f.Type, p.secret || f.Tag.Get("secret") == "all", p.extensions}.settled(), true
			}
		}
		// The list form of Reveal.
		return place{reflect.TypeFor[string](), p.secret, p.extensions}, !p.section()
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

// at follows a path from p, which is the root in every call.
func (p place) at(path []string) (below place, found bool) {
	for _, key := range path {
		if p, found = p.child(key); !found {
			return p, false
		}
	}
	return p, true
}

// hidden reports whether a value at path must not be shown. What stands in the place of a section
// is hidden too: a string there is most likely the token.
func (p place) hidden(path []string) bool {
	p, found := p.at(path)
	return !found || p.secret || p.section() || p.typ.Kind() == reflect.Map
}

func jsonName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// secrets calls f for every Secret below v, with its path. The values can be set; one in a map is a
// copy, which is put back if f has changed it.
func secrets(v reflect.Value, path []string, f func(path []string, s reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		f(path, v)
	case v.Kind() == reflect.Interface, v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			secrets(v.Elem(), path, f)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Type == protocolsType { // their sections stand beside the other keys
				secrets(v.Field(i), path, f)
			}
			if name := jsonName(v.Type().Field(i)); name != "" {
				secrets(v.Field(i), join(path, name), f)
			}
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if s, isSecret := v.MapIndex(key).Interface().(Secret); isSecret {
				after := s
				f(join(path, key.String()), reflect.ValueOf(&after).Elem())
				if after != s {
					v.SetMapIndex(key, reflect.ValueOf(after))
				}
				continue
			}
			secrets(v.MapIndex(key), join(path, key.String()), f)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			secrets(v.Index(i), join(path, strconv.Itoa(i)), f)
		}
	}
}

// dotted writes a path from the root for people: terminal.env."my.key", channels.NAME.allowFrom[0].
func (p place) dotted(path []string) string {
	var b strings.Builder
	for i, key := range path {
		parent, found := p.at(path[:i])
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
