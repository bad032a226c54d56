package access

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/jobs"
	"nanobot/terminal/process"
)

// callTerminal handles the methods of a terminal that exists.
func (s *Session) callTerminal(ctx context.Context, turn *Turn, method string, params json.RawMessage) (
	any, *rpc.Error,
) {
	var ask struct {
		ID string `json:"terminalId"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	var answer any = struct{}{}
	var err error
	switch method {
	case "terminal/output":
		var out jobs.Output
		out, err = s.Table.Output(ask.ID)
		answer = newTerminalOutput(out)
	case "terminal/wait_for_exit":
		var exit jobs.Exit
		exit, err = s.Table.Wait(ctx, ask.ID)
		answer = exitStatus{exit.Code, exit.Signal}
	case "terminal/kill":
		err = s.Table.Kill(ctx, ask.ID)
	case "terminal/release":
		if turn != nil {
			turn.view.SaveTail(ask.ID) // its last lines stay on the board
		}
		err = s.Table.Release(ctx, ask.ID)
	default:
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: "unknown method " + method}
	}
	if err != nil {
		return nil, terminalError(ctx, ask.ID, err)
	}
	return answer, nil
}

// exitStatus is how a command ended: the exit code or the signal, the other is null.
type exitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

type terminalOutput struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *exitStatus `json:"exitStatus,omitempty"`
}

func newTerminalOutput(o jobs.Output) terminalOutput {
	out := terminalOutput{Output: o.Text, Truncated: o.Truncated}
	if o.Exit != nil {
		out.ExitStatus = &exitStatus{o.Exit.Code, o.Exit.Signal}
	}
	return out
}

func terminalError(ctx context.Context, id string, err error) *rpc.Error {
	switch {
	case errors.Is(err, jobs.ErrUnknownJob):
		return &rpc.Error{Code: rpc.CodeNotFound, Message: "terminal " + terminal.Shorten(id, 80) + ": " + err.Error()}
	case ctx.Err() != nil:
		return &rpc.Error{Code: rpc.CodeCancelled, Message: "cancelled"}
	}
	return &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()}
}

// terminalParams are the parameters of terminal/create.
type terminalParams struct {
	Command string                         `json:"command"`
	Args    []string                       `json:"args"`
	Env     []struct{ Name, Value string } `json:"env"`
	Cwd     string                         `json:"cwd"`
	Limit   rpc.Optional[float64]          `json:"outputByteLimit"`
}

// createTerminal handles terminal/create. Commands start only while a turn is running, because
// /stop stops them with the turn.
func (s *Session) createTerminal(ctx context.Context, turn *Turn, params json.RawMessage) (any, *rpc.Error) {
	if turn == nil {
		return nil, &rpc.Error{Code: rpc.CodeCancelled, Message: "commands are started only while a prompt is worked on"}
	}
	// Malformed parameters are errors here, unlike elsewhere: a different command would run.
	var ask terminalParams
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	if turn.isOver() {
		return nil, errTurnEnded
	}
	if rerr := s.checkPermission(ctx, turn, newCommandCall(s.env.Dir, ask)); rerr != nil { // which logs the command
		return nil, rerr
	}
	if turn.isOver() {
		return nil, errTurnEnded
	}
	id, err := s.startCommand(ask)
	if _, short := process.Shortage(err); short { // the agent decides whether to retry
		return nil, &rpc.Error{Code: rpc.CodeBusy, Message: err.Error() + "; try again later"}
	}
	if err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	if turn.isOver() { // while the command was being started
		ended, cancel := context.WithCancel(ctx)
		cancel() // with an ended context, Release kills the command without waiting
		_ = s.Table.Release(ended, id)
	}
	return map[string]string{"terminalId": id}, nil
}

// startCommand starts a command that is permitted.
func (s *Session) startCommand(ask terminalParams) (id string, err error) {
	c := jobs.Command{Line: ask.Command, Args: ask.Args, Dir: ask.Cwd, Env: slices.Clone(s.env.Env)}
	for _, v := range ask.Env {
		if validVariable(v.Name, v.Value) {
			c.Env = append(c.Env, v.Name+"="+v.Value)
		}
	}
	if ask.Limit.OK {
		keep := int(intOr(ask.Limit, 0))
		c.MaxOutput = &keep
	}
	return s.Table.Create(c)
}

// validVariable reports whether an agent may set an environment variable. NANOBOT_ variables
// identify the descendants of an agent.
func validVariable(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00") && !strings.ContainsRune(value, 0) &&
		!strings.HasPrefix(name, "NANOBOT_")
}
