package acp_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

// signing is an agent that offers to sign in, and answers the first prompt with this error behind
// some words.
func signing(t *testing.T, words, failure string) *desk {
	t.Helper()
	if words != "" {
		words = "chunk '" + words + "'"
	}
	d := scripted(t, strings.Replace(initializeResponse, `{"protocolVersion":1}`, `{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"}]}`, 1)+words+`
say '{"jsonrpc":"2.0","id":3,"error":`+failure+`}'
hear; say '{"jsonrpc":"2.0","id":4,"result":{}}'
hear; chunk again; say '{"jsonrpc":"2.0","id":5,"result":{"stopReason":"end_turn"}}'; hear`)
	settings(&d.cfg).AuthMethod = "key"
	d.restart()
	return d
}

func TestAPromptThatHasBegunIsNotRepeated(t *testing.T) {
	d := signing(t, "Deployed.", `{"code":-32000,"message":"Rate limit exceeded"}`)
	d.person("a").says("deploy").is(terminal.Failed, "Deployed.").fails(terminal.Failed, "Error: Rate limit exceeded")
	if n := strings.Count(d.said(), "session/prompt"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	d = signing(t, "Deployed.", `{"code":-32000,"message":"no","data":{"details":"Authentication expired"}}`)
	d.person("a").says("deploy").is(terminal.Failed, "Deployed.").fails(terminal.Failed, "Error (AUTH)")
	if n := strings.Count(d.said(), "session/prompt"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestAPromptThatHasNotBegunIsRepeatedWhenSignedIn(t *testing.T) {
	for _, failure := range []string{`{"code":-32000,"message":"who are you?"}`, `{"code":-32000,"message":"no","data":"unauthenticated"}`} {
		d := signing(t, "", failure)
		d.person("a").says("deploy").is(terminal.Done, "again")
	}
}

func TestAnErrorOfTheCodeAloneDoesNotMeanToSignIn(t *testing.T) {
	d := scripted(t, initializeResponse+`say '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Rate limit exceeded"}}'`)
	d.person("a").says("hello").fails(terminal.Failed, "Error: Rate limit exceeded")
}

func TestAnAnswerWithoutAResultIsOne(t *testing.T) {
	d := scripted(t, strings.Replace(initializeResponse, `"result":{"sessionId":"s"}`,
		`"result":{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}}`, 1)+
		"say '{\"id\":3,\"level\":\"info\"}'\nsay '{\"jsonrpc\":\"2.0\",\"id\":3}'\nhear\n")
	d.person("a").says("/mode b").is(terminal.Done, "Mode: B")
}

func TestALogLineWithAnIDIsNoAnswer(t *testing.T) {
	d := scripted(t, initializeResponse+"say '{\"id\":3,\"level\":\"info\"}'\nchunk real"+done)
	d.person("a").says("hello").is(terminal.Done, "real")
}
