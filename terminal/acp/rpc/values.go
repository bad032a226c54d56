package rpc

import "encoding/json"

// Optional is a field that may be missing. A value that is missing, null or of another type is not
// set: one malformed field is no reason to drop the message.
type Optional[T any] struct {
	V  T
	OK bool
}

// UnmarshalJSON never fails.
func (m *Optional[T]) UnmarshalJSON(b []byte) error {
	*m = Optional[T]{}
	if string(b) == "null" {
		return nil
	}
	if m.OK = json.Unmarshal(b, &m.V) == nil; !m.OK {
		var none T
		m.V = none
	}
	return nil
}

// Block is a content block of the protocol, in either direction.
type Block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // of a picture or a sound, in base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Size     *int64    `json:"size,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is a file embedded in a block: either Text or Blob is set.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"` // base64
}
