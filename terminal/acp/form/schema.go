package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

// formSchema is the JSON schema of a form. Its fields have the order of the schema.
type formSchema struct{ Fields []formField }

// formField is a field of a form.
type formField struct {
	name     string
	required bool
	// note is the name of the field for an answer that is none of the options; "": there is none.
	note string
	fieldSchema
}

// fieldSchema is the JSON schema of a field.
type fieldSchema struct {
	Type        string               `json:"type"`
	Title       rpc.Optional[string] `json:"title"`
	Description rpc.Optional[string] `json:"description"`
	Default     json.RawMessage      `json:"default"`
	Enum        []string             `json:"enum"`
	OneOf       []enumOption         `json:"oneOf"`

	MinLength *int                 `json:"minLength"`
	MaxLength *int                 `json:"maxLength"`
	Pattern   rpc.Optional[string] `json:"pattern"`
	Format    rpc.Optional[string] `json:"format"`

	Minimum *json.Number `json:"minimum"`
	Maximum *json.Number `json:"maximum"`

	MinItems int  `json:"minItems"`
	MaxItems *int `json:"maxItems"`
	Items    struct {
		Enum  []string     `json:"enum"`
		AnyOf []enumOption `json:"anyOf"`
	} `json:"items"`
}

// enumOption is a value of a field with the title that people see.
type enumOption struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// maxFields and maxFieldOptions limit what a person is asked.
const maxFields, maxFieldOptions = 50, 1000

// UnmarshalJSON reads the schema of a form with its fields in their order.
func (f *formSchema) UnmarshalJSON(raw []byte) error {
	var form struct {
		Required   []string        `json:"required"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return err
	}
	if len(form.Properties) == 0 || string(form.Properties) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("properties must be an object: %w", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		field := formField{name: fmt.Sprint(name)}
		if err := d.Decode(&field.fieldSchema); err != nil {
			return fmt.Errorf("property %s: %w", field.name, err)
		}
		field.required = slices.Contains(form.Required, field.name)
		if f.Fields = append(f.Fields, field); len(f.Fields) > maxFields || len(field.options()) > maxFieldOptions {
			return fmt.Errorf("a form may have %d fields, and a field %d options", maxFields, maxFieldOptions)
		}
	}
	return nil
}

// options returns the values to choose from; none: the field is not an enum.
func (f *fieldSchema) options() []Option {
	all := slices.Concat(f.OneOf, f.Items.AnyOf)
	for _, value := range slices.Concat(f.Enum, f.Items.Enum) {
		all = append(all, enumOption{Const: value})
	}
	options := make([]Option, 0, len(all))
	for _, o := range all {
		options = append(options, NewOption(terminal.OneLine(o.Title, steps.TitleLength), o.Const))
	}
	return options
}

// askForm asks for the fields of a form, one after the other.
func (e asker) askForm(ctx context.Context, request elicitation) (response, error) {
	var fields []formField
	for _, f := range request.Form.Fields {
		switch {
		case len(fields) > 0 && fields[len(fields)-1].isNote(f):
			fields[len(fields)-1].note = f.name
		case f.isAskable():
			fields = append(fields, f)
		case f.required:
			return response{}, errNotAskable
		}
	}
	head := terminal.Shorten(strings.TrimSpace(terminal.Clean(request.Message)), maxElicitMessage)
	if len(fields) == 0 {
		return e.confirm(ctx, head)
	}
	content := map[string]any{}
	for i, f := range fields {
		q := fieldQuestion{asker: e, formField: f, head: head}
		if len(fields) > 1 {
			q.number = e.text(words.FieldNumber, i+1, len(fields))
		}
		value, err := q.askField(ctx)
		if errors.Is(err, errFormCancelled) {
			return Cancelled, nil
		}
		if err != nil {
			return response{}, err
		}
		switch value := value.(type) {
		case nil:
		case ownAnswer:
			content[f.note] = string(value)
			if f.required {
				content[f.name] = otherAnswer
			}
		default:
			content[f.name] = value
		}
		head = terminal.Shorten(head, maxRepeated) // minutes may lie between two questions
	}
	return response{Action: actionAccept, Content: &content}, nil
}

// otherAnswer is the option of Codex which says that the answer is in the field for notes.
const otherAnswer = "None of the above"

// isNote reports whether another field is only for an answer to this one that is none of the
// options. Claude Code and Codex have such a field behind each choice, and it is not worth a
// question of its own. A required field needs an option for such an answer.
func (f *formField) isNote(other formField) bool {
	if f.note != "" || other.Type != "string" || other.required || len(other.options()) > 0 || other.isSecret() {
		return false
	}
	if other.name != f.name+"_custom" && other.name != f.name+"_note" {
		return false
	}
	options := f.options()
	if f.required { // a list is no single option
		return f.Type == "string" && slices.ContainsFunc(options, func(o Option) bool { return o.Value == otherAnswer })
	}
	return len(options) > 0
}

// confirm asks about a form without fields.
func (e asker) confirm(ctx context.Context, message string) (response, error) {
	yes, err := e.askEither(ctx, message, words.ButtonYes, words.ButtonNo)
	if err != nil || !yes {
		return response{Action: actionDecline}, err
	}
	return response{Action: actionAccept, Content: &map[string]any{}}, nil
}

// isSecret reports whether the person writes a password. ACP does not name this format, but JSON
// Schema lets an agent use it.
func (f *formField) isSecret() bool {
	return f.Type == "string" && f.Format.V == "password" && len(f.options()) == 0
}

// isAskable reports whether the type of the field is known.
func (f *formField) isAskable() bool {
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		return len(f.options()) > 0
	}
	return false
}
