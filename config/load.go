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

// maxFileSize bounds the config file; a typical one has a few kilobytes.
const maxFileSize = 1 << 20

// Load reads the configuration: the defaults, overridden by the file at path, overridden by the
// NANOBOT_ variables of environ. An empty path means that there is no file. Every error is of type
// Mistakes and lists all mistakes.
func Load(path string, environ []string, extensions Extensions) (*Config, error) {
	root := extensions.rootNode()
	src := sources{root: root, env: readEnvironment(root, environ)}
	var mistakes Mistakes
	k := koanf.New(koanfDelimiter)
	if path != "" {
		src.doc = readFile(root, path, k)
		mistakes = src.doc.mistakes
		if src.doc.root == nil {
			return nil, append(mistakes, src.env.mistakes...).sorted()
		}
	}
	if err := src.env.applyTo(k); err != nil {
		return nil, Mistakes{{File: path, Text: "cannot be combined with the environment"}}
	}
	mistakes = append(mistakes, src.env.mistakes...)
	merged := k.Raw()
	problems, err := src.checkSchema(merged)
	if err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	c, err := extensions.decodeConfig(merged, problems)
	if err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	for _, f := range problems {
		mistakes = append(mistakes, f.Mistake)
	}
	for _, f := range checkCombinations(c) {
		if !hasProblemAt(f.Path, problems) && (f.Cause == nil || !hasProblemAt(f.Cause, problems)) {
			mistakes = append(mistakes, src.locate(f))
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes.sorted()
	}
	if err := c.resolvePaths(path, environ); err != nil {
		return nil, Mistakes{{File: path, Text: err.Error()}}
	}
	for _, f := range c.checkPlaces() {
		mistakes = append(mistakes, src.locate(f))
	}
	if len(mistakes) > 0 {
		return nil, mistakes.sorted()
	}
	c.locate = src.locate
	c.containsSecrets = src.doc != nil && containsLiteralSecret(src.doc.root, root)
	return c, nil
}

// readFile loads the file into k. The returned document has the mistakes.
func readFile(types typeNode, path string, k *koanf.Koanf) *document {
	if wrong := explainUnreadable(path); wrong != "" {
		return &document{mistakes: Mistakes{{File: path, Text: wrong}}}
	}
	p := &documentParser{types: types, name: path}
	err := k.Load(file.Provider(path), p)
	if p.doc == nil {
		return &document{mistakes: Mistakes{{File: path, Text: "cannot be read: " + errorWithoutPath(err)}}}
	}
	return p.doc
}

// explainUnreadable checks the file without reading it, and returns why it cannot be a config file,
// or "".
func explainUnreadable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return `no such file; run "nanobot init" to write one`
	case err != nil:
		return "cannot be read: " + errorWithoutPath(err)
	case info.IsDir():
		return "is a folder; name the file in it, such as " + filepath.Join(path, "config.json")
	case !info.Mode().IsRegular():
		return "is not a regular file"
	case info.Size() > maxFileSize:
		return fmt.Sprintf("is too big for a config file (%d bytes; the limit is %d)", info.Size(), maxFileSize)
	}
	return ""
}

// errorWithoutPath returns the text of the error without the path, which the mistake already names.
func errorWithoutPath(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// documentParser is a koanf.Parser that also keeps the document with its positions.
type documentParser struct {
	types typeNode
	name  string
	doc   *document
}

// Unmarshal parses the file. If the file is not an object, it returns the mistakes.
func (p *documentParser) Unmarshal(b []byte) (map[string]any, error) {
	p.doc = parseDocument(p.types, p.name, b)
	if p.doc.root == nil {
		return nil, p.doc.mistakes
	}
	m, ok := p.doc.root.goValue().(map[string]any)
	if !ok {
		p.doc.addMistake(p.doc.root.valueOffset, nil,
			Mistake{Text: "must be an object", Value: formatValue(p.doc.root.goValue(), "", true)})
		p.doc.root = nil
		return nil, p.doc.mistakes
	}
	return m, nil
}

// Marshal is required by koanf.Parser and never called.
func (p *documentParser) Marshal(map[string]any) ([]byte, error) { return nil, errors.ErrUnsupported }

// locatedProblem is a problem together with the mistake that reports it.
type locatedProblem struct {
	Problem
	Mistake
}

// checkSchema checks the file and the environment against the schema. The file is checked by itself
// first, so that its mistakes are reported even if the environment overrides them. Missing keys are
// only looked for in the merged values, because either source may set them.
func (s sources) checkSchema(merged map[string]any) ([]locatedProblem, error) {
	values := []any{merged}
	if s.doc != nil {
		values = append(values, s.doc.root.goValue())
	}
	schema, err := s.root.extensions.generateSchema()
	if err != nil {
		return nil, err
	}
	var all []locatedProblem
	if s.doc != nil {
		alone := sources{root: s.root, doc: s.doc, env: &environment{}}
		for _, f := range s.root.checkSchema(schema, values[1]) {
			if !f.missing {
				all = append(all, locatedProblem{f, alone.locate(f)})
			}
		}
	}
	for _, f := range s.root.checkSchema(schema, merged) {
		if m := s.locate(f); f.missing || m.Variable != "" {
			all = append(all, locatedProblem{f, m})
		}
	}
	return all, nil
}

// hasProblemAt reports whether the value at path, or an object around it, violates the schema.
// Further checks of such a value are skipped.
func hasProblemAt(path []string, problems []locatedProblem) bool {
	for _, f := range problems {
		if len(f.Path) <= len(path) && reflect.DeepEqual(f.Path, path[:len(f.Path)]) {
			return true
		}
	}
	return false
}

// decodeConfig decodes the values on top of the defaults. Values that violate the schema are left
// out, so that checkCombinations can still check all others.
func (e Extensions) decodeConfig(merged map[string]any, problems []locatedProblem) (*Config, error) {
	for _, f := range problems {
		removeValue(merged, f.Path)
	}
	c := e.Default()
	terminal, _ := merged["terminal"].(map[string]any)
	// The decoder's error may quote a secret value. It can only fail if the schema and the Go types
	// differ.
	errMismatch := errors.New("cannot be decoded although it matches the schema")
	for name, value := range c.Terminal.Protocols {
		if decodeSection(terminal, name, value) != nil {
			return nil, errMismatch
		}
	}
	if e.decodeChannels(merged, &c) != nil || e.decodeAgents(merged, &c) != nil {
		return nil, errMismatch
	}
	c.Terminal.Timeout = e.defaultTimeout(terminal["protocol"])
	if decodeInto(merged, &c) != nil {
		return nil, errMismatch
	}
	e.setDefaultCommand(&c.Terminal)
	return &c, nil
}

// decodeSection removes the section with this name from its parent and decodes it into value.
func decodeSection(parent map[string]any, name string, value Settings) error {
	section, found := parent[name]
	if !found {
		return nil
	}
	delete(parent, name)
	return decodeInto(section, value)
}

func decodeInto(from, to any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: to, TagName: "json", ErrorUnused: true,
		MatchName:  func(key, field string) bool { return key == field },
		DecodeHook: decodeForms,
	})
	if err != nil {
		return fmt.Errorf("prepare decoding: %w", err)
	}
	return d.Decode(from)
}

// removeValue deletes the value at path. In a list it leaves an empty string, so that the indexes
// of the other elements stay the same.
func removeValue(value any, path []string) {
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

// decodeForms is a mapstructure hook that decodes the forms of Selection and Values.
func decodeForms(_, to reflect.Type, data any) (any, error) {
	switch text, isText := data.(string); {
	case isText && to == reflect.TypeFor[Values]():
		return Values{text}, nil
	case isText && to == reflect.TypeFor[Route](): // removeValue has replaced a wrong rule by ""
		return map[string]any{}, nil
	case to != reflect.TypeFor[Selection]():
		return data, nil
	}
	b, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("read a selection: %w", err)
	}
	var s Selection
	return s, json.Unmarshal(b, &s)
}

// FileContainsSecrets reports whether the config file contains literal secrets, not only
// references.
func (c *Config) FileContainsSecrets() bool { return c.containsSecrets }
