package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	generate "github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema returns the JSON Schema (draft 2020-12) of the config file, made from the Go types.
func Schema(parts Extensions) ([]byte, error) {
	s, err := parts.reflected()
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(b, '\n'), nil
}

func (p Extensions) reflected() (*generate.Schema, error) {
	r := generate.Reflector{Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(Config{})
	s.Title = "nanobot configuration"
	// The type of its own is only there to hide values.
	s.Properties.Set("agents", inline(s, "agents", "Agents"))
	if err := fill(s, s, p.Default()); err != nil {
		return nil, err
	}
	delete(s.Definitions, "Channels")
	channels, _ := s.Properties.Get("channels")
	s.Properties.Set("channels", &generate.Schema{
		Type: "object", Properties: generate.NewProperties(), AdditionalProperties: generate.FalseSchema, Description: channels.Description,
	})
	channels, _ = s.Properties.Get("channels")
	for _, ch := range p.Channels {
		if err := addSection(s, channels, section{"channels." + ch.Name, ch.Name, ch.Description, ch.New()}); err != nil {
			return nil, err
		}
	}
	return s, p.describeProtocols(s)
}

// inline returns what a property of the whole refers to, in the place of the reference.
func inline(s *generate.Schema, property, definition string) *generate.Schema {
	value := s.Definitions[definition]
	delete(s.Definitions, definition)
	reference, _ := s.Properties.Get(property)
	value.Description = reference.Description
	return value
}

// describeProtocols adds the sections of the protocols to that of the agent, and says which
// protocol can do what.
func (p Extensions) describeProtocols(s *generate.Schema) error {
	terminal := s.Definitions["Terminal"]
	var words []string
	for _, pr := range p.Protocols {
		words = append(words, pr.Description)
		if pr.New == nil {
			continue
		}
		if err := addSection(s, terminal, section{"terminal." + pr.Name, pr.Name, pr.SectionDescription, pr.New()}); err != nil {
			return err
		}
	}
	describe := func(section, key, more string) *generate.Schema {
		value, _ := s.Definitions[section].Properties.Get(key)
		value.Description += more
		return value
	}
	protocol := describe("Terminal", "protocol", "How the agent is talked with: "+orList(words)+".")
	protocol.Enum = p.protocolNames(func(Protocol) bool { return true })
	describe("Terminal", "interactive", needsProtocol(p.protocolNames(func(p Protocol) bool { return p.SupportsQuestions })))
	describe("Terminal", "mcpServers", needsProtocol(p.protocolNames(func(p Protocol) bool { return p.SupportsMCP })))
	describe("Gateway", "whileRunning", needsProtocol(p.protocolNames(func(p Protocol) bool { return p.SupportsInject }), "inject"))
	return nil
}

// needsProtocol names the protocols that a value needs, or the whole setting.
func needsProtocol(names []any, value ...string) string {
	if len(names) == 0 {
		return ""
	}
	subject := strings.Join(append(value, "needs"), " ")
	return fmt.Sprintf(" %s%s terminal.protocol to be %s.", strings.ToUpper(subject[:1]), subject[1:], alternatives(names))
}

// orList joins words as in a sentence.
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + ", or " + words[last]
}

// section is what the schema needs to know of a section.
type section struct {
	definition, name, description string
	defaults                      Settings
}

// addSection adds a section that a channel or a protocol describes to the section around it.
func addSection(whole, around *generate.Schema, add section) error {
	// Without references, because types of different packages may have the same name.
	r := generate.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(add.defaults)
	s.Version = ""
	if err := fill(whole, s, add.defaults); err != nil {
		return err
	}
	whole.Definitions[add.definition] = s
	around.Properties.Set(add.name, &generate.Schema{Ref: definitions + add.definition, Description: add.description})
	return nil
}

// definitions is what a reference to a definition begins with.
const definitions = "#/$defs/"

// fill puts the defaults of a section into its schema, and those of the sections in it into theirs.
func fill(whole, section *generate.Schema, defaults any) error {
	b, err := json.Marshal(defaults)
	if err != nil {
		return fmt.Errorf("write defaults: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(b, &values); err != nil {
		return fmt.Errorf("read defaults: %w", err)
	}
	fillValues(whole, section, values)
	return nil
}

func fillValues(whole, section *generate.Schema, defaults map[string]any) {
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		value, ok := defaults[p.Key]
		if !ok {
			continue
		}
		below, isSection := value.(map[string]any)
		switch name, referred := strings.CutPrefix(p.Value.Ref, definitions); {
		case referred && isSection:
			fillValues(whole, whole.Definitions[name], below)
		case isSection && p.Value.Properties != nil && p.Value.Properties.Len() > 0:
			fillValues(whole, p.Value, below)
		default:
			p.Value.Default = value
		}
	}
}

// compiled returns the schema ready for checking. It costs more than everything else here, so it is
// done when a file is loaded and not before.
func (p Extensions) compiled() (*validate.Schema, error) {
	s, err := p.reflected()
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
