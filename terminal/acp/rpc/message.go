package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Codes of JSON-RPC errors, as the Agent Client Protocol uses them.
const (
	CodeInvalidParams = -32602
	CodeNoMethod      = -32601
	CodeInternal      = -32603
	CodeCancelled     = -32800
	CodeBusy          = -32000 // a server-defined error
	CodeAuth          = -32000 // from an agent: authentication required
	CodeNotFound      = -32002
	CodeRefused       = -32003 // refused by the person or the configuration
)

// Error is a JSON-RPC error in either direction.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// InvalidParams returns an error about the parameters of a request.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// Refused returns an error about a call that is not allowed.
func Refused(format string, args ...any) *Error {
	e := InvalidParams(format, args...)
	e.Code, e.Message = CodeRefused, "refused: "+e.Message
	return e
}

// message is any line of the protocol: a request has an ID and a method, a notification only a
// method, a response only an ID. IDs are kept as the agent wrote them, because they may be of any
// type, including null.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// parseMessage parses a line. ok is false for lines that are not messages, such as log output.
func parseMessage(line []byte) (p message, ok bool) {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return p, false
	}
	if json.Unmarshal(line, &p) != nil {
		return p, false
	}
	// Some agents omit an empty result.
	return p, p.Method != "" || p.ID != nil && (p.Result != nil || p.Error != nil || p.Version == "2.0")
}

// responseError returns the error of a response, in whatever form, or nil.
func (p message) responseError() error {
	if p.Error == nil || string(p.Error) == "null" {
		return nil
	}
	e := &Error{}
	if json.Unmarshal(p.Error, e) != nil || e.Code == 0 && e.Message == "" {
		e = &Error{Code: CodeInternal, Message: PlainText(p.Error)}
	}
	return e
}

// PlainText returns the text of a JSON string, or any other JSON value unchanged.
func PlainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// DecodeLenient decodes a result and ignores fields of the wrong type, because the others are still
// useful.
func DecodeLenient(raw json.RawMessage, v any) error {
	err := json.Unmarshal(raw, v)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) && odd.Field != "" {
		return nil
	}
	return err
}
