package config

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/invopop/jsonschema"
)

// Reveal lists the chats that see stderr, exit codes and other internals: all, none, or those in
// Chats.
type Reveal struct {
	All   bool
	Chats []string
}

// To reports whether a chat, given by its ID and its key (channel:chat_id), sees internals.
func (r Reveal) To(id, key string) bool {
	return r.All || slices.Contains(r.Chats, id) || slices.Contains(r.Chats, key)
}

// UnmarshalJSON decodes true, false or a list of chat IDs.
func (r *Reveal) UnmarshalJSON(b []byte) error {
	*r = Reveal{}
	if json.Unmarshal(b, &r.All) == nil || json.Unmarshal(b, &r.Chats) == nil {
		return nil
	}
	return errors.New("must be true, false or a list of chat IDs")
}

// MarshalJSON encodes the same three forms.
func (r Reveal) MarshalJSON() ([]byte, error) {
	if len(r.Chats) > 0 {
		return json.Marshal(r.Chats)
	}
	return json.Marshal(r.All)
}

// JSONSchema describes the same three forms.
func (Reveal) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "boolean"},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	}}
}
