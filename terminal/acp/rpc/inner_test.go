package rpc_test

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/acp/rpc"
)

func TestTheMessageInsideJSONReplacesIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"out of luck":     "out of luck",
		`{"message":"a"}`: "a",
		`API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`: "prompt is too long",
		`{"error":{"message":"{\"error\":{\"message\":\"quota\"}}"}}`:                                             "quota",
		`[{"error":{"code":429,"message":"slow down"}}]`:                                                          "slow down",
		`{"errors":[{"message":"first"},{"message":"second"}]}`:                                                   "first",
		`{"errors":["first"]}`:                "first",
		`Request failed: {"status":500}`:      "Request failed",
		`{"status":500}`:                      "",
		`Bad answer: {"error":{"message":"cu`: "Bad answer",
		"use {} or {name} here":               "use {} or {name} here",
		`{"message":" ","error":"real"}`:      "real",
	} {
		wanttest.Equal(t, text, rpc.InnerMessage(text), want)
	}
}
