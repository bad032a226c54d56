package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Codes of JSON-RPC errors, as the Agent Client Protocol uses them.
const (
	codeInvalidParams = -32602
	codeNoMethod      = -32601
	codeInternal      = -32603
	codeCancelled     = -32800
	codeBusy          = -32000 // what servers call an error of their own
	codeAuth          = -32000 // from an agent: sign in first
	codeNotFound      = -32002
	codeRefused       = -32003 // the person or the configuration does not allow it
)

// rpcError is an error that one side tells the other.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// packet is any line of the protocol: a request has an id and a method, a notification a method, a
// response an id. An id is kept as the agent wrote it, because it may be of any type and null is
// one.
type packet struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// parse reads a line. What is no message of the protocol is noise.
func parse(line []byte) (p packet, ok bool) {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return p, false
	}
	if json.Unmarshal(line, &p) != nil {
		return p, false
	}
	// Some leave the result out of an answer that has nothing to say.
	return p, p.Method != "" || p.ID != nil && (p.Result != nil || p.Error != nil || p.Version == "2.0")
}

// failure returns the error of a response, however it is written, or nil.
func (p packet) failure() error {
	if p.Error == nil || string(p.Error) == "null" {
		return nil
	}
	e := &rpcError{}
	if json.Unmarshal(p.Error, e) != nil || e.Code == 0 && e.Message == "" {
		e = &rpcError{Code: codeInternal, Message: plainText(p.Error)}
	}
	return e
}

// plainText returns a JSON string's text, or any other value as it is written.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// decode reads an answer. A field of another type than it should have is left out, because the rest
// is still good.
func decode(raw json.RawMessage, v any) error {
	err := json.Unmarshal(raw, v)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) && odd.Field != "" {
		return nil
	}
	return err
}
