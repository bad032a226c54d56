package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	generate "github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema returns the JSON Schema (draft 2020-12) of the config file, made from the Go types.
func Schema() ([]byte, error) {
	s, err := reflected()
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(b, '\n'), nil
}

func reflected() (*generate.Schema, error) {
	r := generate.Reflector{Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(Config{})
	s.Title = "nanobot configuration"
	b, err := json.Marshal(Default())
	if err != nil {
		return nil, fmt.Errorf("write defaults: %w", err)
	}
	var defaults map[string]any
	if err := json.Unmarshal(b, &defaults); err != nil {
		return nil, fmt.Errorf("read defaults: %w", err)
	}
	fill(s, s, defaults)
	return s, nil
}

// fill puts the defaults of a section into its schema, and those of the sections in it into theirs.
func fill(whole, section *generate.Schema, defaults map[string]any) {
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		value, ok := defaults[p.Key]
		if !ok {
			continue
		}
		below, isSection := value.(map[string]any)
		if name, referred := bytes.CutPrefix([]byte(p.Value.Ref), []byte("#/$defs/")); referred && isSection {
			fill(whole, whole.Definitions[string(name)], below)
			continue
		}
		p.Value.Default = value
	}
}

// compiled returns the schema ready for checking. It costs more than everything else here, so it is
// done when a file is loaded and not before.
func compiled() (*validate.Schema, error) {
	s, err := reflected()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	doc, err := validate.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	// Under this address the compiler does not check the schema against the schema of schemas,
	// which takes half the time; a test does that once.
	const url = "https://json-schema.org/nanobot.json"
	c := validate.NewCompiler()
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	ready, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return ready, nil
}
