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

// deepest bounds nesting: the parser recurses, and no setting is nested deeper than 5.
const deepest = 64

// document is a parsed config file: what it says, and where it says it.
type document struct {
	tree     place
	name     string // as the caller named it
	text     []byte
	root     *node
	mistakes Mistakes // what the schema cannot see: syntax, keys written twice, NULs
}

// node is one value of a document. A list element's key is its value.
type node struct {
	key, value int // byte offsets in the text
	literal    hujson.Literal
	members    map[string]*node // not nil: an object
	elements   []*node          // not nil: a list
}

// parse reads JSON with comments and trailing commas. tree says what may stand where; without a
// type mistakes name no keys. What is wrong with it is in mistakes, and root is nil when there is
// nothing to go on with.
func parse(tree place, name string, text []byte) *document {
	d := &document{tree: tree, name: name}
	if d.text = d.decode(text); d.text == nil {
		return d
	}
	opened, depth := brackets(d.text)
	if depth > deepest {
		d.complain(opened[min(deepest, len(opened)-1)], nil, Mistake{Text: fmt.Sprintf("nested more than %d deep", deepest)})
		return d
	}
	// The parser wants a line end after a line comment, and a file may end without one.
	value, err := hujson.Parse(append(d.text[:len(d.text):len(d.text)], '\n'))
	if err != nil {
		at, what := explain(d.text, err)
		if what == "" {
			d.mistakes = Mistakes{{File: d.name, Text: emptyFile}}
			return d
		}
		d.complain(at, nil, Mistake{Text: what})
		return d
	}
	d.root = d.build(value, nil)
	return d
}

const emptyFile = `is empty; run "nanobot init" to write one, or put {} in it`

// decode checks that the bytes are text, and takes off the byte order mark that some editors put
// first.
func (d *document) decode(text []byte) []byte {
	s := string(text)
	wrong := ""
	switch {
	case strings.HasPrefix(s, "\xff\xfe"), strings.HasPrefix(s, "\xfe\xff"):
		wrong = "must be UTF-8 text (this looks like UTF-16: save it again as UTF-8)"
	case strings.TrimSpace(strings.TrimPrefix(s, "\ufeff")) == "":
		wrong = emptyFile
	}
	if wrong != "" {
		d.mistakes = Mistakes{{File: d.name, Text: wrong}}
		return nil
	}
	d.text = []byte(strings.TrimPrefix(s, "\ufeff"))
	for i := 0; i < len(d.text); {
		r, size := utf8.DecodeRune(d.text[i:])
		if r == utf8.RuneError && size == 1 {
			d.complain(i, nil, Mistake{Text: fmt.Sprintf("must be UTF-8 text (the byte 0x%02x is not)", d.text[i])})
			return nil
		}
		if r == 0 {
			d.complain(i, nil, Mistake{Text: "must be text (there is a NUL byte here)"})
			return nil
		}
		i += size
	}
	return d.text
}

// build turns the parser's tree into nodes that can be looked up by key.
func (d *document) build(v hujson.Value, path []string) *node {
	n := &node{key: v.StartOffset, value: v.StartOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.members = make(map[string]*node, len(t.Members))
		for _, m := range t.Members {
			name := m.Name.Value.(hujson.Literal).String()
			at := join(path, name)
			if first, twice := n.members[name]; twice {
				line, _ := d.position(first.key)
				d.complain(m.Name.StartOffset, at, Mistake{Text: "duplicate key", Hint: fmt.Sprintf("first set on line %d", line)})
			}
			if strings.ContainsRune(name, 0) {
				d.complain(m.Name.StartOffset, at, Mistake{Text: "a key must not contain a NUL character"})
			}
			child := d.build(m.Value, at)
			child.key = m.Name.StartOffset
			n.members[name] = child
		}
	case *hujson.Array:
		n.elements = make([]*node, 0, len(t.Elements))
		for i, e := range t.Elements {
			n.elements = append(n.elements, d.build(e, join(path, strconv.Itoa(i))))
		}
	case hujson.Literal:
		n.literal = t
		if t.Kind() == '"' && strings.ContainsRune(t.String(), 0) {
			d.complain(v.StartOffset, path, Mistake{Text: "must not contain a NUL character"})
		}
	}
	return n
}

// find returns the value at path, or nil.
func (d *document) find(path []string) *node {
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

// complain records a mistake at a byte offset.
func (d *document) complain(offset int, path []string, m Mistake) {
	if m.File = d.name; d.tree.typ != nil {
		m.Key = d.tree.dotted(path)
	}
	m.Line, m.Column = d.position(offset)
	d.mistakes = append(d.mistakes, m)
}

// position counts lines and characters from 1.
func (d *document) position(offset int) (line, column int) {
	before := string(d.text[:min(offset, len(d.text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
}

// any returns the plain Go value of a node.
func (n *node) any() any {
	switch {
	case n.members != nil:
		m := make(map[string]any, len(n.members))
		for name, child := range n.members {
			m[name] = child.any()
		}
		return m
	case n.elements != nil:
		list := make([]any, len(n.elements))
		for i, e := range n.elements {
			list[i] = e.any()
		}
		return list
	}
	switch n.literal.Kind() {
	case '"':
		return n.literal.String()
	case 't', 'f':
		return n.literal.Bool()
	case '0':
		return number(string(n.literal))
	}
	return nil
}

// number reads a JSON number as an int64 or else as a float64. One too big for either becomes the
// biggest: the checker's arithmetic is exact and chokes on 1e999999999.
func number(literal string) any {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(literal, 64)
	if errors.Is(err, strconv.ErrRange) {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// literal reports whether a secret itself stands in the text below n, not only a reference to one.
func literal(n *node, p place) bool {
	if p.typ == reflect.TypeFor[Secret]() {
		s, _ := n.any().(string)
		kind, _ := Secret(s).reference()
		return s != "" && kind == ""
	}
	for key, member := range n.members {
		if child, known := p.child(key); known && literal(member, child) {
			return true
		}
	}
	for _, element := range n.elements {
		if child, known := p.child(""); known && literal(element, child) {
			return true
		}
	}
	return false
}

// join appends to a path without touching the array under it.
func join(path []string, keys ...string) []string {
	return append(path[:len(path):len(path)], keys...)
}
