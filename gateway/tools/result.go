package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// The error codes of results with isError.
const (
	invalidArgument = "INVALID_ARGUMENT"
	invalidURI      = "INVALID_URI"
	notFound        = "NOT_FOUND"
	tooLarge        = "TOO_LARGE"
	rateLimited     = "RATE_LIMITED"
	cancelled       = "CANCELLED"
	internalError   = "INTERNAL"

	duplicateChain = "DUPLICATE_CHAIN"
	storeFailed    = "STORE_FAILED"
	runEnded       = "RUN_ENDED"
	undecided      = "UNDECIDED"
	notAllowed     = "NOT_ALLOWED"

	notSent      = "NOT_SENT"
	notAnswered  = "NOT_ANSWERED"
	notShown     = "NOT_SHOWN"
	notSearched  = "NOT_SEARCHED"
	notScheduled = "NOT_SCHEDULED"
)

// failure is a result with isError.
type failure struct {
	Code    string `json:"error"`
	Message string `json:"message,omitempty"`
	Items   []item `json:"items,omitempty"`
}

// item is a step of a runbook in the form of kairos_mint.
type item struct {
	Label string `json:"label"`
	URI   string `json:"uri"`
}

func (f *failure) Error() string { return f.Code + ": " + f.Message }

// toFailure converts an error to a failure, and reports whether the gateway or the store is at
// fault.
func toFailure(err error) (f *failure, fault bool) {
	switch {
	case errors.As(err, &f):
		return f, false
	case errors.Is(err, runbook.ErrNoRun):
		return &failure{Code: notFound, Message: toSentence(runbook.ErrNoRun)}, false
	case errors.Is(err, runbook.ErrEnded):
		return &failure{Code: runEnded, Message: toSentence(runbook.ErrEnded)}, false
	case errors.Is(err, runbook.ErrUnknownURI):
		return &failure{Code: notFound, Message: toSentence(runbook.ErrUnknownURI)}, false
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return &failure{Code: cancelled, Message: "The call was cancelled."}, false
	}
	return &failure{Code: internalError, Message: toSentence(err)}, true
}

// toSentence returns the text of an error with a capital letter and a full stop.
func toSentence(err error) string {
	text := err.Error()
	if text == "" {
		return ""
	}
	if b := text[0]; b >= 'a' && b <= 'z' {
		text = string(b-'a'+'A') + text[1:]
	}
	if text[len(text)-1] != '.' {
		text += "."
	}
	return text
}

// encodeResult returns a result whose JSON is both the text and the structured content.
func encodeResult(value any, isError bool) (*mcp.CallToolResult, error) {
	line, err := terminal.EncodeLine(value)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimRight(line, "\n")
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text),
		IsError: isError,
	}, nil
}
