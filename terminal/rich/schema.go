package rich

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/invopop/jsonschema"

	"nanobot/terminal"
)

// framesOfTypes are the keys of each type of frame. Required ones are in required.
var framesOfTypes = map[terminal.Kind]struct{ required, optional []string }{
	terminal.Message:  {nil, []string{"text", "media", "silent", "buttons"}},
	terminal.Progress: {[]string{"text"}, nil},
	terminal.Error:    {[]string{"text"}, []string{"code"}},
	terminal.Log:      {[]string{"text"}, []string{"level"}},
	deltaKind:         {[]string{"text"}, nil},
	askKind:           {[]string{"text"}, []string{"id", "options", "secret"}},
	usageKind:         {nil, []string{"input_tokens", "output_tokens", "cost", "model"}},
}

// schema returns the JSON Schema of a line that an agent reads or prints: definitions of the
// envelope, of the other lines on its stdin, and of each frame.
func schema() ([]byte, error) {
	root := &jsonschema.Schema{
		Version: jsonschema.Version, Title: Name,
		Definitions: jsonschema.Definitions{},
	}
	add := func(name string, s *jsonschema.Schema) *jsonschema.Schema {
		s.Version, s.AdditionalProperties = "", nil // unknown keys are ignored
		root.Definitions[name] = s
		return &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	reflector := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true}
	reflector.AllowAdditionalProperties = true
	input := []*jsonschema.Schema{
		add("envelope", reflector.Reflect(terminal.Envelope{})),
		add("answer", withType(reflector.Reflect(answer{}), "answer")),
		add("inject", withType(reflector.Reflect(injection{}), "inject")),
	}
	all := reflector.Reflect(parsedFrame{})
	var frames []*jsonschema.Schema
	for _, name := range terminal.FrameTypes() {
		keys := framesOfTypes[terminal.Kind(name)]
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
		s.Required = append([]string{"type"}, keys.required...)
		for _, key := range slices.Concat(s.Required, keys.optional) {
			value, ok := all.Properties.Get(key)
			if !ok {
				return nil, fmt.Errorf("frame %s: no type has the key %s", name, key)
			}
			s.Properties.Set(key, value)
		}
		frames = append(frames, add(name, withType(s, name)))
	}
	root.AnyOf = []*jsonschema.Schema{
		add("input", &jsonschema.Schema{AnyOf: input}),
		add("frame", &jsonschema.Schema{AnyOf: frames}),
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return b, nil
}

// withType limits the type of a line to one name.
func withType(s *jsonschema.Schema, name string) *jsonschema.Schema {
	s.Properties.Set("type", &jsonschema.Schema{Const: name})
	return s
}
