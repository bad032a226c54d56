package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

// end tells how a turn ended.
func (x *turn) end(ctx context.Context, reason string, err error) (terminal.Outcome, error) {
	e, ferr := x.ending()
	if ferr != nil {
		return terminal.Outcome{}, ferr
	}
	var wants *authError
	var said *rpcError
	switch {
	case err == nil:
		explain(e, reason)
		return e.Emit(x.t, alive())
	case ctx.Err() != nil:
		return x.stopped(ctx, e)
	case errors.Is(err, errSilent):
		e.AddError(terminal.Frame{Text: fmt.Sprintf("The agent did not get ready within %g s.", x.Begin.Seconds())})
		return e.Emit(x.t, x.givenUp())
	case errors.Is(err, errGone):
		return x.died(e)
	case errors.As(err, &wants):
		x.a.spoiled = true // it may have to be started anew to see that somebody has signed in
		e.AddError(terminal.Frame{Code: "AUTH", Text: sentence(wants.Error())})
	case errors.As(err, &said):
		e.AddError(terminal.Frame{Text: sentence(said.Message) + x.details(said)})
	default:
		return terminal.Outcome{}, err
	}
	return e.Emit(x.t, alive())
}

// ending lets the agent show no more and returns what is to be told behind what it has shown.
func (x *turn) ending() (*terminal.FinalResponse, error) {
	e := terminal.NewFinalResponse(x.t.MaxOutput)
	if x.r == nil {
		return e, nil
	}
	x.s.end()
	x.r.asks.Wait()
	err := x.r.view.flush()
	for _, note := range x.a.notes() {
		e.AddRemark(note)
	}
	if x.r.view.said() {
		e.MarkShown()
	}
	return e, err
}

// say ends a turn with words of our own.
func (x *turn) say(ctx context.Context, text string, err error) (terminal.Outcome, error) {
	if err != nil {
		return x.end(ctx, "", err)
	}
	e, err := x.ending()
	if err != nil {
		return terminal.Outcome{}, err
	}
	e.MarkShown() // there may be nothing to add
	if text == "" {
		return e.Emit(x.t, alive())
	}
	if err := x.t.Emit(terminal.Frame{Kind: terminal.Message, Text: text}); err != nil {
		return terminal.Outcome{}, err
	}
	return e.Emit(x.t, alive())
}

// stopped tells that a turn was stopped or that its time was up. If the agent has used up all of it
// to begin, it may have said why.
func (x *turn) stopped(ctx context.Context, e *terminal.FinalResponse) (terminal.Outcome, error) {
	end := alive()
	if x.r == nil && x.a != nil && errors.Is(context.Cause(ctx), terminal.ErrTimeout) {
		end = x.givenUp()
	}
	end.Forced, end.Cause = true, context.Cause(ctx)
	return e.Emit(x.t, end)
}

// givenUp ends an agent that cannot begin, and returns what it has said on stderr.
func (x *turn) givenUp() terminal.AgentExit {
	x.a.spoiled = true
	x.a.Close()
	end := alive()
	end.Stderr = x.a.ended.Stderr
	return end
}

// died tells that the agent is gone.
func (x *turn) died(e *terminal.FinalResponse) (terminal.Outcome, error) {
	<-x.a.done
	end := x.a.ended
	end.Forced = false // what ended it was not asked for by this turn
	text := "The agent ended before it was ready."
	switch {
	case x.r == nil:
	case x.a.hello.restores():
		text = "The agent ended. Your next message resumes the conversation."
	default:
		text = "The agent ended. Your next message starts a new conversation, because this agent cannot resume one."
	}
	e.AddError(terminal.Frame{Text: text})
	return e.Emit(x.t, end)
}

// alive is how the agent is at the end of a turn that it outlives.
func alive() terminal.AgentExit {
	return terminal.AgentExit{Exit: process.Exit{Stderr: process.NewBounded(0, 0)}}
}

// explain says in words why an agent stopped, if it is not that it was done.
func explain(e *terminal.FinalResponse, reason string) {
	switch reason {
	case "end_turn", "":
	case "max_tokens":
		e.AddLine([]byte("The agent stopped: it has used all the tokens that it may. Say “go on” to let it continue, or /new to start afresh."))
	case "max_turn_requests":
		e.AddLine([]byte("The agent stopped: it has asked its model as often as it may in one turn. Say “go on” to let it continue."))
	case "cancelled":
		e.AddLine([]byte("The agent says that its work was cancelled."))
	case "refusal":
		e.AddError(terminal.Frame{Code: "REFUSAL", Text: "The agent refuses to go on with this."})
	default:
		e.AddLine(fmt.Appendf(nil, "The agent stopped: %.200s.", reason))
	}
}

// details returns what else an agent's error says, for those who may see it.
func (x *turn) details(e *rpcError) string {
	if !x.t.Final.Reveal || len(e.Data) == 0 || string(e.Data) == "null" {
		return ""
	}
	text := plainText(e.Data)
	var p struct{ Details, Message maybe[string] }
	if decode(e.Data, &p) == nil && p.Details.v+p.Message.v != "" {
		text = p.Details.v + p.Message.v
	}
	return "\n" + terminal.Shorten(text, 2000)
}

// sentence lets an error's text begin as the chat's texts do.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return "The agent reports an error without saying which."
	}
	if first := s[0]; first >= 'a' && first <= 'z' {
		return string(first-'a'+'A') + s[1:]
	}
	return s
}
