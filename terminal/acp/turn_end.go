package acp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/login"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/process"
)

// endTurn emits the final response of a turn.
func (x *turn) endTurn(ctx context.Context, reason string, err error) (terminal.Outcome, error) {
	e := x.newFinalResponse()
	var wants *login.RequiredError
	var said *rpc.Error
	switch {
	case err == nil:
		status, text := x.r.view.End()
		if e.SetEnd(status, text); status != terminal.Refused || reason != "cancelled" { // Codex cancels what is refused
			x.addStopReason(e, reason)
		}
		return e.Emit(x.t, stillRunning())
	case ctx.Err() != nil:
		return x.endStopped(ctx, e)
	case errors.Is(err, errNotReady):
		e.AddError(terminal.Frame{Text: x.notAgentText(x.t.Words.Text(words.AgentNotReady, x.StartTimeout.Seconds()))})
		return e.Emit(x.t, x.stopUnready())
	case errors.Is(err, rpc.ErrGone):
		return x.endExited(e)
	case errors.Is(err, rpc.ErrEcho):
		e.AddError(terminal.Frame{Text: x.notAgentText(x.t.Words.Text(words.AgentEchoes))})
	case errors.As(err, &wants):
		x.a.unusable = true // a new process may be needed to notice the sign-in
		e.AddError(terminal.Frame{Code: codeSignIn, Text: wants.Text(login.Place{
			Words: x.t.Words, Command: x.cfg.Command, Reveal: x.t.Final.Reveal, User: x.t.ExecEnv().User, Redact: x.t.Redact,
		})})
	case errors.As(err, &said):
		e.AddError(terminal.Frame{Text: x.agentErrorText(said)})
	default:
		if closeErr := x.closeView(); closeErr != nil {
			return terminal.Outcome{}, closeErr
		}
		return terminal.Outcome{}, err
	}
	return e.Emit(x.t, stillRunning())
}

// newFinalResponse detaches the turn from the session and returns a final response with the pending
// warnings, which follows the end of the agent's output.
func (x *turn) newFinalResponse() *terminal.FinalResponse {
	e := terminal.NewFinalResponse(x.t.MaxOutput)
	e.MarkShown() // SetEnd has a text for a turn without any
	if x.r == nil {
		return e
	}
	e.FlushFirst(func(followed bool) error { return x.r.view.Close(followed, e) })
	x.s.endTurn()
	x.r.access.Wait()
	for _, note := range x.a.takeLineWarnings() {
		e.AddRemark(note)
	}
	return e
}

// closeView emits the end of the agent's output before a message of the gateway or an error.
func (x *turn) closeView() error {
	if x.r == nil {
		return nil
	}
	return x.r.view.Close(true, nil)
}

// endWithText ends a turn with a text of the gateway.
func (x *turn) endWithText(ctx context.Context, text string, err error) (terminal.Outcome, error) {
	if err != nil {
		return x.endTurn(ctx, "", err)
	}
	e := x.newFinalResponse()
	if text == "" {
		return e.Emit(x.t, stillRunning())
	}
	if err := x.closeView(); err != nil {
		return terminal.Outcome{}, err
	}
	followed := e.HasContent(x.t, stillRunning())
	if err := x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: text, Silent: followed}); err != nil {
		return terminal.Outcome{}, err
	}
	return e.Emit(x.t, stillRunning())
}

// endStopped ends a turn that was stopped or timed out. If the time ran out before the agent was
// ready, its stderr is shown.
func (x *turn) endStopped(ctx context.Context, e *terminal.FinalResponse) (terminal.Outcome, error) {
	end := stillRunning()
	if x.r == nil && x.a != nil && errors.Is(context.Cause(ctx), terminal.ErrTimeout) {
		end = x.stopUnready()
	}
	end.Forced, end.Cause = true, context.Cause(ctx)
	if x.r != nil && !x.a.unusable {
		e.AddStillRunning(x.t.Words, x.a.awaitLeft(x.r.view.OpenCommands()))
	}
	return e.Emit(x.t, end)
}

// stopUnready ends an agent that did not get ready, and returns its stderr.
func (x *turn) stopUnready() terminal.AgentExit {
	x.a.unusable = true
	x.a.Close()
	end := stillRunning()
	end.Stderr = x.a.exit.Stderr
	return end
}

// endExited ends a turn whose agent has exited.
func (x *turn) endExited(e *terminal.FinalResponse) (terminal.Outcome, error) {
	<-x.a.done
	end := x.a.exit
	end.Forced = false // the end was not requested by this turn
	text := words.AgentEndedEarly
	switch {
	case x.r == nil:
	case x.a.initResponse.canRestore():
		text = words.AgentEndedResumes
	default:
		text = words.AgentEndedForgets
	}
	e.AddError(terminal.Frame{Text: x.notAgentText(x.t.Words.Text(text))})
	return e.Emit(x.t, end)
}

// stillRunning is the exit of a turn that the agent outlives.
func stillRunning() terminal.AgentExit {
	return terminal.AgentExit{Exit: process.Exit{Stderr: process.NewBounded(0, 0)}}
}

// addStopReason explains the stop reason, unless the agent has finished.
func (x *turn) addStopReason(e *terminal.FinalResponse, reason string) {
	w := x.t.Words
	switch reason {
	case "end_turn", "":
	case "max_tokens":
		e.AddLine([]byte(w.Text(words.StoppedByTokens)))
	case "max_turn_requests":
		e.AddLine([]byte(w.Text(words.StoppedByRequests)))
	case "cancelled":
		e.AddLine([]byte(w.Text(words.StoppedByCancel)))
	case "refusal":
		e.AddError(terminal.Frame{Code: "REFUSAL", Text: w.Text(words.StoppedByRefusal)})
	default:
		e.AddLine([]byte(w.Text(words.StoppedByReason, terminal.OneLine(reason, 200))))
	}
}

// notAgentText says that the program is not an agent of this protocol, with its output. It returns
// otherwise if the program has printed nothing, or internals must not be shown.
func (x *turn) notAgentText(otherwise string) string {
	if x.a == nil || !x.t.Final.Reveal {
		return otherwise
	}
	printed := x.a.PrintedInstead()
	if printed == "" {
		return otherwise
	}
	return x.t.Words.Text(words.NotAnAgent, otherwise, terminal.CodeBlock("", terminal.Shorten(printed, rpc.MaxPrinted)))
}

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
