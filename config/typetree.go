package config

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// typeNode is a node in the tree of Go types that defines the configuration: the type of one key's
// value.
type typeNode struct {
	typ        reflect.Type
	secret     bool        // values of this type and below are secret
	unit       string      // of a number: seconds, milliseconds, days, bytes or MiB; "": none
	extensions *Extensions // defines the sections of channels and protocols
	accounts   bool        // the section of a channel, which may be a list of such sections
}

var (
	channelsType  = reflect.TypeFor[Channels]()
	protocolsType = reflect.TypeFor[Protocols]()
	agentsType    = reflect.TypeFor[Agents]()
)

// rootNode returns the root of the tree.
func (e Extensions) rootNode() typeNode {
	return typeNode{typ: reflect.TypeFor[Config](), extensions: &e}
}

// isSection reports whether the keys of the node are fixed, in contrast to a value or a map whose
// keys users choose.
func (n typeNode) isSection() bool {
	return n.typ == channelsType || n.typ.Kind() == reflect.Struct && n.typ != reflect.TypeFor[Selection]()
}

// knownKeys returns the keys of a section.
func (n typeNode) knownKeys() []string {
	if n.typ == channelsType {
		var names []string
		for _, ch := range n.extensions.Channels {
			names = append(names, ch.Name)
		}
		return names
	}
	var names []string
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		if f.Type == protocolsType {
			for _, pr := range n.extensions.Protocols {
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

// extensionSection returns the node of a section that a channel or a protocol defines.
func (n typeNode) extensionSection(key string) (typeNode, bool) {
	if n.typ == channelsType {
		for _, ch := range n.extensions.Channels {
			if ch.Name == key {
				below := typeNode{typ: reflect.TypeOf(ch.New()), secret: n.secret, extensions: n.extensions}.normalized()
				_, below.accounts = ch.New().(Account)
				return below, true
			}
		}
		return typeNode{}, false
	}
	if pr := n.extensions.protocol(key); pr.New != nil {
		return typeNode{typ: reflect.TypeOf(pr.New()), secret: n.secret, extensions: n.extensions}.normalized(), true
	}
	return typeNode{}, false
}

// child returns the node below a key or a list index, or false if there is none.
func (n typeNode) child(key string) (typeNode, bool) {
	switch kind := n.typ.Kind(); {
	case n.accounts && isIndex(key):
		n.accounts = false
		return n, true
	case n.typ == channelsType:
		return n.extensionSection(key)
	case kind == reflect.Map, kind == reflect.Slice:
		return typeNode{typ: n.typ.Elem(), secret: n.secret, extensions: n.extensions}.normalized(), true
	case kind == reflect.Struct:
		for i := range n.typ.NumField() {
			f := n.typ.Field(i)
			if below, found := n.extensionSection(key); f.Type == protocolsType && found {
				return below, true
			}
			if n.isSection() && jsonName(f) == key {
				secret := n.secret || f.Tag.Get("secret") == "all"
				return typeNode{typ: f.Type, secret: secret, unit: f.Tag.Get("unit"), extensions: n.extensions}.normalized(), true
			}
		}
		// An element of the list form of Selection.
		return typeNode{typ: reflect.TypeFor[string](), secret: n.secret, extensions: n.extensions}, !n.isSection()
	default:
		return typeNode{}, false
	}
}

// normalized dereferences a pointer type and marks the type Secret as secret.
func (n typeNode) normalized() typeNode {
	if n.typ.Kind() == reflect.Pointer {
		n.typ = n.typ.Elem()
	}
	n.secret = n.secret || n.typ == reflect.TypeFor[Secret]()
	return n
}

// descend follows a path down from p.
func (n typeNode) descend(path []string) (below typeNode, found bool) {
	for _, key := range path {
		if n, found = n.child(key); !found {
			return n, false
		}
	}
	return n, true
}

// hidesValue reports whether a value at path must not be printed. A string in place of a section is
// hidden too, because it is probably a token.
func (n typeNode) hidesValue(path []string) bool {
	n, found := n.descend(path)
	return !found || n.secret || n.isSection() || n.typ.Kind() == reflect.Map
}

func jsonName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// walkSecrets calls f with every Secret below v and its path. f may set the value; a value in a map
// is a copy, which is written back if f changed it.
func walkSecrets(v reflect.Value, path []string, f func(path []string, s reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		f(path, v)
	case v.Kind() == reflect.Interface, v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			walkSecrets(v.Elem(), path, f)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Type == protocolsType { // their keys are siblings of the other keys
				walkSecrets(v.Field(i), path, f)
			}
			if name := jsonName(v.Type().Field(i)); name != "" {
				walkSecrets(v.Field(i), joinPath(path, name), f)
			}
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if s, isSecret := v.MapIndex(key).Interface().(Secret); isSecret {
				after := s
				f(joinPath(path, key.String()), reflect.ValueOf(&after).Elem())
				if after != s {
					v.SetMapIndex(key, reflect.ValueOf(after))
				}
				continue
			}
			walkSecrets(v.MapIndex(key), joinPath(path, key.String()), f)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			walkSecrets(v.Index(i), joinPath(path, strconv.Itoa(i)), f)
		}
	}
}

// secretsIn returns every Secret below a section.
func secretsIn(section any) (all []Secret) {
	walkSecrets(reflect.ValueOf(section), nil,
		func(_ []string, v reflect.Value) { all = append(all, v.Interface().(Secret)) })
	return all
}

// formatPath formats a path from the root for people: terminal.env."my.key",
// channels.NAME.allowFrom[0].
func (n typeNode) formatPath(path []string) string {
	var b strings.Builder
	for i, key := range path {
		parent, found := n.descend(path[:i])
		if isIndex(key) && found && (parent.accounts || isList(parent)) {
			b.WriteString("[" + key + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quoteKey(key))
	}
	return b.String()
}

// quoteKey puts a key in quotes if it contains unusual characters.
func quoteKey(key string) string {
	// Somebody may have written NAME=value as the name of a variable, so the value is not shown.
	if name, value, cut := strings.Cut(key, "="); cut && value != "" {
		key = name + "=…"
	}
	for i, r := range key {
		letter := r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return strconv.Quote(truncate(key))
		}
	}
	if key == "" {
		return `""`
	}
	return truncate(key)
}

// isIndex reports whether a key of a path is the index of an element of a list.
func isIndex(key string) bool { _, err := strconv.Atoi(key); return err == nil }

func isList(p typeNode) bool {
	return p.typ.Kind() == reflect.Slice || p.typ == reflect.TypeFor[Selection]()
}

// truncate shortens a long text, so that a mistake stays readable.
func truncate(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
