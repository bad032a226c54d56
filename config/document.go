package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxNesting bounds the depth of a file, because the parser is recursive. Valid settings are at
// most 5 levels deep.
const maxNesting = 64

// document is a parsed config file with the positions of its values.
type document struct {
	types    typeNode
	name     string // path of the file as the caller wrote it
	text     []byte
	root     *valueNode
	mistakes Mistakes // mistakes that the schema cannot detect: syntax errors, duplicate keys, NUL
}

// valueNode is one value of a document. For an element of a list both offsets are the same.
type valueNode struct {
	keyOffset, valueOffset int // byte offsets in the text
	literal                hujson.Literal
	members                map[string]*valueNode // nil unless the value is an object
	elements               []*valueNode          // nil unless the value is a list
}

// parseDocument parses JSON with comments and trailing commas. Mistakes name the key if types is
// not empty. If the text cannot be parsed, root is nil and mistakes has the reason.
func parseDocument(types typeNode, name string, text []byte) *document {
	d := &document{types: types, name: name}
	if d.text = d.decodeText(text); d.text == nil {
		return d
	}
	opened, depth := unclosedBrackets(d.text)
	if depth > maxNesting {
		d.addMistake(opened[min(maxNesting, len(opened)-1)], nil,
			Mistake{Text: fmt.Sprintf("is nested more than %d levels deep", maxNesting)})
		return d
	}
	// hujson requires a newline after a line comment, even at the end of the file.
	value, err := hujson.Parse(append(d.text[:len(d.text):len(d.text)], '\n'))
	if err != nil {
		at, what := explainSyntaxError(d.name, d.text, err)
		if what == "" {
			d.mistakes = Mistakes{{File: d.name, Text: emptyFileText}}
			return d
		}
		d.addMistake(at, nil, Mistake{Text: what})
		return d
	}
	d.root = d.buildNode(value, nil)
	return d
}

const emptyFileText = `is empty; run "nanobot init" to write one, or put {} in it`

// decodeText checks that the bytes are UTF-8 text and removes a byte order mark.
func (d *document) decodeText(text []byte) []byte {
	s := string(text)
	wrong := ""
	switch {
	case strings.HasPrefix(s, "\xff\xfe"), strings.HasPrefix(s, "\xfe\xff"):
		wrong = "must be UTF-8 text (this looks like UTF-16: save it again as UTF-8)"
	case strings.TrimSpace(strings.TrimPrefix(s, "\ufeff")) == "":
		wrong = emptyFileText
	}
	if wrong != "" {
		d.mistakes = Mistakes{{File: d.name, Text: wrong}}
		return nil
	}
	d.text = []byte(strings.TrimPrefix(s, "\ufeff"))
	for i := 0; i < len(d.text); {
		r, size := utf8.DecodeRune(d.text[i:])
		if r == utf8.RuneError && size == 1 {
			d.addMistake(i, nil, Mistake{Text: fmt.Sprintf("must be UTF-8 text (the byte 0x%02x is not)", d.text[i])})
			return nil
		}
		if r == 0 {
			d.addMistake(i, nil, Mistake{Text: "must be text (there is a NUL byte here)"})
			return nil
		}
		i += size
	}
	return d.text
}

// buildNode converts hujson's syntax tree to nodes that can be looked up by key.
func (d *document) buildNode(v hujson.Value, path []string) *valueNode {
	n := &valueNode{keyOffset: v.StartOffset, valueOffset: v.StartOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.members = make(map[string]*valueNode, len(t.Members))
		for _, m := range t.Members {
			name := m.Name.Value.(hujson.Literal).String()
			at := joinPath(path, name)
			if first, twice := n.members[name]; twice {
				line, _ := d.position(first.keyOffset)
				d.addMistake(m.Name.StartOffset, at,
					Mistake{Text: "duplicate key", Hint: fmt.Sprintf("first set on line %d", line)})
			}
			if strings.ContainsRune(name, 0) {
				d.addMistake(m.Name.StartOffset, at, Mistake{Text: "a key must not contain a NUL character"})
			}
			child := d.buildNode(m.Value, at)
			child.keyOffset = m.Name.StartOffset
			n.members[name] = child
		}
	case *hujson.Array:
		n.elements = make([]*valueNode, 0, len(t.Elements))
		for i, e := range t.Elements {
			n.elements = append(n.elements, d.buildNode(e, joinPath(path, strconv.Itoa(i))))
		}
	case hujson.Literal:
		n.literal = t
		if t.Kind() == '"' && strings.ContainsRune(t.String(), 0) {
			d.addMistake(v.StartOffset, path, Mistake{Text: "must not contain a NUL character"})
		}
	}
	return n
}

// find returns the node at path, or nil.
func (d *document) find(path []string) *valueNode {
	if d == nil {
		return nil
	}
	n := d.root
	for _, key := range path {
		if n == nil {
			return nil
		}
		if n.members != nil {
			n = n.members[key]
			continue
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(n.elements) {
			return nil
		}
		n = n.elements[i]
	}
	return n
}

// addMistake records a mistake at a byte offset.
func (d *document) addMistake(offset int, path []string, m Mistake) {
	if m.File = d.name; d.types.typ != nil {
		m.Key = d.types.formatPath(path)
	}
	m.Line, m.Column = d.position(offset)
	d.mistakes = append(d.mistakes, m)
}

// position converts a byte offset to a line and a column in characters, both counted from 1.
func (d *document) position(offset int) (line, column int) {
	before := string(d.text[:min(offset, len(d.text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
}

// goValue converts a node to plain Go values, as encoding/json would.
func (n *valueNode) goValue() any {
	switch {
	case n.members != nil:
		m := make(map[string]any, len(n.members))
		for name, child := range n.members {
			m[name] = child.goValue()
		}
		return m
	case n.elements != nil:
		list := make([]any, len(n.elements))
		for i, e := range n.elements {
			list[i] = e.goValue()
		}
		return list
	}
	switch n.literal.Kind() {
	case '"':
		return n.literal.String()
	case 't', 'f':
		return n.literal.Bool()
	case '0':
		return parseNumber(string(n.literal))
	}
	return nil
}

// parseNumber converts a JSON number to int64, or else to float64. Numbers out of range become the
// largest float64.
func parseNumber(literal string) any {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(literal, 64)
	if errors.Is(err, strconv.ErrRange) {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// containsLiteralSecret reports whether a secret below n is written out, not only referred to.
func containsLiteralSecret(n *valueNode, p typeNode) bool {
	if p.typ == reflect.TypeFor[Secret]() {
		s, _ := n.goValue().(string)
		kind, _ := Secret(s).reference()
		return s != "" && kind == ""
	}
	for key, member := range n.members {
		if child, known := p.child(key); known && containsLiteralSecret(member, child) {
			return true
		}
	}
	for _, element := range n.elements {
		if child, known := p.child("0"); known && containsLiteralSecret(element, child) {
			return true
		}
	}
	return false
}

// joinPath returns a new path and never modifies the array of the old one.
func joinPath(path []string, keys ...string) []string {
	return append(path[:len(path):len(path)], keys...)
}
