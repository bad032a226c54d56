package rpc_test

import (
	"strings"
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

func TestTheSearchForAMessageIsLimited(t *testing.T) {
	deep := strings.Repeat(`{"error":`, 2000) + `{"message":"deep"}` + strings.Repeat("}", 2000)
	wanttest.Equal(t, "objects in objects:", rpc.InnerMessage("Failed: "+deep), "Failed")
	wanttest.Equal(t, "braces:", rpc.InnerMessage("Failed "+strings.Repeat("{", 1<<20)), "Failed "+strings.Repeat("{", 32))
	long := strings.Repeat("x", 1<<20)
	wanttest.Equal(t, "a long text:", rpc.InnerMessage(long+`{"message":"late"}`), long+`{"message":"late"}`)
}
