package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// maxFile bounds the config file; a real one has a few kilobytes.
const maxFile = 1 << 20

// Load reads the configuration: the defaults, the file at path over them, and the NANOBOT_
// variables of environ over that. Without a path there is no file. parts are the sections of
// channels and protocols. Every error is Mistakes and names all of them.
func Load(path string, environ []string, parts Extensions) (*Config, error) {
	root := parts.root()
	src := sources{root: root, env: readEnvironment(root, environ)}
	mistakes := src.env.mistakes
	k := koanf.New(delim)
	if path != "" {
		src.doc = read(root, path, k)
		mistakes = append(mistakes, src.doc.mistakes...)
		if src.doc.root == nil {
			return nil, mistakes.sorted()
		}
	}
	if err := src.env.load(k); err != nil {
		return nil, Mistakes{{File: path, Text: "cannot be combined with the environment"}}
	}
	merged := k.Raw()
	faults, err := src.check(merged)
	if err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	c, err := parts.decode(merged, faults)
	if err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	for _, f := range faults {
		mistakes = append(mistakes, f.Mistake)
	}
	for _, f := range checkCombinations(c) {
		if !hasFault(f.path, faults) && (f.cause == nil || !hasFault(f.cause, faults)) {
			mistakes = append(mistakes, src.locate(f))
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes.sorted()
	}
	if err := c.resolvePaths(path, environ); err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	c.literals = src.doc != nil && literal(src.doc.root, root)
	return c, nil
}

// read loads the file into k. What is wrong with it is in the document.
func read(tree place, path string, k *koanf.Koanf) *document {
	if wrong := unreadable(path); wrong != "" {
		return &document{mistakes: Mistakes{{File: path, Text: wrong}}}
	}
	p := &parser{tree: tree, name: path}
	err := k.Load(file.Provider(path), p)
	if p.doc == nil {
		return &document{mistakes: Mistakes{{File: path, Text: "cannot be read: " + reason(err)}}}
	}
	return p.doc
}

// unreadable says why the file cannot be a configuration, before all of it is read.
func unreadable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return `no such file; run "nanobot init" to write one`
	case err != nil:
		return "cannot be read: " + reason(err)
	case info.IsDir():
		return "is a folder; name the file in it, such as " + filepath.Join(path, "config.json")
	case !info.Mode().IsRegular():
		return "is not a regular file"
	case info.Size() > maxFile:
		return fmt.Sprintf("is too big for a configuration (%d bytes, at most %d)", info.Size(), maxFile)
	}
	return ""
}

// reason is the error without the path, which is already in front of it.
func reason(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// parser is a koanf.Parser that keeps the document with its positions.
type parser struct {
	tree place
	name string
	doc  *document
}

// Unmarshal parses the file. A file that is no object leaves only mistakes.
func (p *parser) Unmarshal(b []byte) (map[string]any, error) {
	p.doc = parse(p.tree, p.name, b)
	if p.doc.root == nil {
		return nil, p.doc.mistakes
	}
	m, ok := p.doc.root.any().(map[string]any)
	if !ok {
		p.doc.complain(p.doc.root.value, nil, Mistake{Text: "must be an object", Value: show(p.doc.root.any(), "", true)})
		p.doc.root = nil
		return nil, p.doc.mistakes
	}
	return m, nil
}

// Marshal is never called: nothing here writes a config file.
func (p *parser) Marshal(map[string]any) ([]byte, error) { return nil, errors.ErrUnsupported }

// located is a fault with the mistake it makes.
type located struct {
	fault
	Mistake
}

// check finds what has the wrong shape. The file is checked on its own, so that what is wrong in it
// is seen even where the environment covers it; a missing key may come from either, so that is
// looked for in both together.
func (s sources) check(merged map[string]any) ([]located, error) {
	schema, err := s.root.extensions.compiled()
	if err != nil {
		return nil, err
	}
	var all []located
	if s.doc != nil {
		alone := sources{root: s.root, doc: s.doc, env: &environment{}}
		for _, f := range s.root.shape(schema, s.doc.root.any()) {
			if !f.missing {
				all = append(all, located{f, alone.locate(f)})
			}
		}
	}
	for _, f := range s.root.shape(schema, merged) {
		if m := s.locate(f); f.missing || m.Variable != "" {
			all = append(all, located{f, m})
		}
	}
	return all, nil
}

// hasFault reports whether the value at path, or one around it, has the wrong shape, so that
// nothing more can be said about it.
func hasFault(path []string, faults []located) bool {
	for _, f := range faults {
		if len(f.path) <= len(path) && reflect.DeepEqual(f.path, path[:len(f.path)]) {
			return true
		}
	}
	return false
}

// decode lays the values over the defaults, without those that have the wrong shape: what the
// others say can still be checked.
func (p Extensions) decode(merged map[string]any, faults []located) (*Config, error) {
	for _, f := range faults {
		prune(merged, f.path)
	}
	c := p.Default()
	channels, _ := merged["channels"].(map[string]any)
	terminal, _ := merged["terminal"].(map[string]any)
	// The decoder's own words may quote a value, and it can only fail where the schema and the
	// types differ.
	wrong := errors.New("cannot be decoded although it has the right shape")
	for name, value := range c.Channels {
		if decodeSection(channels, name, value) != nil {
			return nil, wrong
		}
	}
	for name, value := range c.Terminal.Protocols {
		if decodeSection(terminal, name, value) != nil {
			return nil, wrong
		}
	}
	if p.decodeAgents(merged, &c) != nil {
		return nil, wrong
	}
	if channels != nil {
		merged["channels"] = map[string]any{} // of which nothing is left
	}
	if decodeInto(merged, &c) != nil {
		return nil, wrong
	}
	p.setDefaultCommand(&c.Terminal)
	return &c, nil
}

// decodeSection takes the section with this name out of those around it and lays it over its
// defaults.
func decodeSection(around map[string]any, name string, value Settings) error {
	section, found := around[name]
	if !found {
		return nil
	}
	delete(around, name)
	return decodeInto(section, value)
}

func decodeInto(from, to any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: to, TagName: "json", ErrorUnused: true,
		MatchName:  func(key, field string) bool { return key == field },
		DecodeHook: decodeReveal,
	})
	if err != nil {
		return fmt.Errorf("prepare decoding: %w", err)
	}
	return d.Decode(from)
}

// prune takes out a value; in a list it leaves a hole, so that the others keep their places.
func prune(value any, path []string) {
	if len(path) == 0 {
		return
	}
	parent, _ := valueAt(value, path[:len(path)-1])
	switch t := parent.(type) {
	case map[string]any:
		delete(t, path[len(path)-1])
	case []any:
		if i, err := strconv.Atoi(path[len(path)-1]); err == nil && i >= 0 && i < len(t) {
			t[i] = ""
		}
	}
}

// decodeReveal lets the decoder read the three forms of Reveal.
func decodeReveal(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[Reveal]() {
		return data, nil
	}
	b, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("read revealErrors: %w", err)
	}
	var r Reveal
	return r, json.Unmarshal(b, &r)
}

// FileContainsSecrets reports whether the file that the configuration was loaded from has secrets in it,
// and not only where they are.
func (c *Config) FileContainsSecrets() bool { return c.literals }
