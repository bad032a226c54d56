package config

import (
	"encoding/json"
	"fmt"
	"strings"

	generate "github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema (draft 2020-12) of the config file, generated from the Go types.
func Schema(extensions Extensions) ([]byte, error) {
	s, err := extensions.generateSchema()
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(b, '\n'), nil
}

func (e Extensions) generateSchema() (*generate.Schema, error) {
	r := generate.Reflector{Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(Config{})
	s.Title = "nanobot configuration"
	// Agents is a named type only because it has a Format method; its schema is inlined.
	s.Properties.Set("agents", inlineDefinition(s, "agents", "Agents"))
	if err := setDefaults(s, s, e.Default()); err != nil {
		return nil, err
	}
	delete(s.Definitions, "Channels")
	channels, _ := s.Properties.Get("channels")
	s.Properties.Set("channels", &generate.Schema{
		Type: "object", Properties: generate.NewProperties(), AdditionalProperties: generate.FalseSchema,
		Description: channels.Description,
	})
	channels, _ = s.Properties.Get("channels")
	for _, ch := range e.Channels {
		if err := addSection(s, channels, sectionSchema{
			"channels." + ch.Name, ch.Name, ch.Description,
			ch.New(),
		}); err != nil {
			return nil, err
		}
		if _, ok := ch.New().(Account); ok {
			one := &generate.Schema{Ref: definitionPrefix + "channels." + ch.Name}
			channels.Properties.Set(ch.Name, &generate.Schema{
				Description: ch.Description,
				OneOf:       []*generate.Schema{one, {Type: "array", Items: one, MinItems: new(uint64(1))}},
			})
		}
	}
	return s, e.describeProtocols(s)
}

// inlineDefinition removes a definition from the schema and returns it as the value of the property
// that refers to it.
func inlineDefinition(s *generate.Schema, property, definition string) *generate.Schema {
	value := s.Definitions[definition]
	delete(s.Definitions, definition)
	reference, _ := s.Properties.Get(property)
	value.Description = reference.Description
	return value
}

// describeProtocols adds the protocols' sections to the definition of Terminal, and adds the names
// of the protocols that support a setting to its description.
func (e Extensions) describeProtocols(s *generate.Schema) error {
	terminal := s.Definitions["Terminal"]
	var words []string
	for _, pr := range e.Protocols {
		words = append(words, pr.Description)
		if pr.New == nil {
			continue
		}
		if err := addSection(s, terminal, sectionSchema{
			"terminal." + pr.Name, pr.Name, pr.SectionDescription,
			pr.New(),
		}); err != nil {
			return err
		}
	}
	describe := func(section, key, more string) *generate.Schema {
		value, _ := s.Definitions[section].Properties.Get(key)
		value.Description += more
		return value
	}
	protocol := describe("Terminal", "protocol", "How nanobot and the agent talk: "+joinWithOr(words)+".")
	protocol.Enum = e.protocolNames(func(Protocol) bool { return true })
	describe("Terminal", "timeout", e.timeoutDefaults())
	describe("Terminal", "interactive",
		protocolRequirement(e.protocolNames(func(e Protocol) bool { return e.SupportsQuestions })))
	describe("Terminal", "mcpServers",
		protocolRequirement(e.protocolNames(func(e Protocol) bool { return e.SupportsMCP })))
	describe("Terminal", "protect",
		protocolRequirement(e.protocolNames(func(e Protocol) bool { return e.SupportsProtect })))
	describe("Gateway", "whileRunning",
		protocolRequirement(e.protocolNames(func(e Protocol) bool { return e.SupportsInject }), "inject"))
	return nil
}

// timeoutDefaults returns sentences about the protocols that have a default timeout of their own.
func (e Extensions) timeoutDefaults() string {
	var all strings.Builder
	for _, pr := range e.Protocols {
		if pr.DefaultTimeout > 0 {
			fmt.Fprintf(&all, " Default with protocol %s: %d.", pr.Name, pr.DefaultTimeout)
		}
	}
	return all.String()
}

// protocolRequirement returns a sentence that names the protocols which a setting, or one value of
// it, needs.
func protocolRequirement(names []any, value ...string) string {
	if len(names) == 0 {
		return ""
	}
	subject := strings.Join(append(value, "needs"), " ")
	return fmt.Sprintf(" %s%s protocol %s.", strings.ToUpper(subject[:1]), subject[1:], quotedAlternatives(names))
}

// joinWithOr joins words to a list with "or", as in a sentence.
func joinWithOr(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + ", or " + words[last]
}

// sectionSchema is a section of a channel or a protocol.
type sectionSchema struct {
	definition, name, description string
	defaults                      Settings
}

// addSection adds a section to the definitions of the schema and a reference to it to its parent.
func addSection(whole, around *generate.Schema, add sectionSchema) error {
	// Without references, because types of different packages may have the same name.
	r := generate.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(add.defaults)
	s.Version = ""
	if err := setDefaults(whole, s, add.defaults); err != nil {
		return err
	}
	whole.Definitions[add.definition] = s
	around.Properties.Set(add.name, &generate.Schema{Ref: definitionPrefix + add.definition, Description: add.description})
	return nil
}

// definitionPrefix starts every reference to a definition.
const definitionPrefix = "#/$defs/"

// setDefaults writes the defaults of a section and of its subsections into the schema.
func setDefaults(whole, section *generate.Schema, defaults any) error {
	b, err := json.Marshal(defaults)
	if err != nil {
		return fmt.Errorf("write defaults: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(b, &values); err != nil {
		return fmt.Errorf("read defaults: %w", err)
	}
	setDefaultValues(whole, section, values)
	return nil
}

func setDefaultValues(whole, section *generate.Schema, defaults map[string]any) {
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		value, ok := defaults[p.Key]
		if !ok {
			continue
		}
		below, isSection := value.(map[string]any)
		switch name, referred := strings.CutPrefix(p.Value.Ref, definitionPrefix); {
		case referred && isSection:
			setDefaultValues(whole, whole.Definitions[name], below)
		case isSection && p.Value.Properties != nil && p.Value.Properties.Len() > 0:
			setDefaultValues(whole, p.Value, below)
		default:
			p.Value.Default = value
		}
	}
}
