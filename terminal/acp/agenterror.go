package acp

import (
	"cmp"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// codeSignIn is the code of the error that says that somebody has to sign in.
const codeSignIn = "AUTH"

// agentErrorText returns the error of an agent for people. The second of two equal errors in a row
// comes with a way out, because some agents fail with every later prompt of a conversation.
func (x *turn) agentErrorText(e *rpc.Error) string {
	text := cmp.Or(capitalize(rpc.InnerMessage(e.Message)), x.t.Words.Text(words.AgentErrorUnknown)) + x.errorDetails(e)
	if x.r == nil {
		return text
	}
	repeated := x.s.lastError == text
	x.s.lastError = text
	if repeated {
		text += "\n\n" + x.t.Words.Text(words.AgentErrorRepeated)
	}
	return text
}

// errorDetails returns the data of an agent's error, if internals may be shown.
func (x *turn) errorDetails(e *rpc.Error) string {
	if !x.t.Final.Reveal || len(e.Data) == 0 {
		return ""
	}
	var p struct{ Details, Message rpc.Optional[string] }
	_ = rpc.DecodeLenient(e.Data, &p) // the data may be of any type
	text := rpc.InnerMessage(cmp.Or(p.Details.V+p.Message.V, rpc.PlainText(e.Data)))
	if text == "" || text == "null" {
		return ""
	}
	return "\n" + terminal.Shorten(text, 2000)
}

// capitalize makes an error's text a sentence.
func capitalize(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
