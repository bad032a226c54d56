package acp

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

// terminalCall handles terminal/*. table has only the terminals of this session.
func terminalCall(ctx context.Context, table *jobs.Table, p terminal.ExecEnv, method string, params json.RawMessage) (any, *rpc.Error) {
	if method == "terminal/create" {
		return createTerminal(table, p, params)
	}
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
		out, err = table.Output(ask.ID)
		answer = newTerminalOutput(out)
	case "terminal/wait_for_exit":
		var exit jobs.Exit
		exit, err = table.Wait(ctx, ask.ID)
		answer = exitStatus{exit.Code, exit.Signal}
	case "terminal/kill":
		err = table.Kill(ctx, ask.ID)
	case "terminal/release":
		err = table.Release(ctx, ask.ID)
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

func createTerminal(table *jobs.Table, p terminal.ExecEnv, params json.RawMessage) (any, *rpc.Error) {
	// Malformed parameters are errors here, unlike elsewhere: a different command would run.
	var ask struct {
		Command string                         `json:"command"`
		Args    []string                       `json:"args"`
		Env     []struct{ Name, Value string } `json:"env"`
		Cwd     string                         `json:"cwd"`
		Limit   rpc.Optional[float64]          `json:"outputByteLimit"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	c := jobs.Command{Line: ask.Command, Args: ask.Args, Dir: ask.Cwd, Env: slices.Clone(p.Env)}
	for _, v := range ask.Env {
		if validVariable(v.Name, v.Value) {
			c.Env = append(c.Env, v.Name+"="+v.Value)
		}
	}
	if ask.Limit.OK {
		keep := int(intOr(ask.Limit, 0))
		c.MaxOutput = &keep
	}
	id, err := table.Create(c)
	if _, short := process.Shortage(err); short { // the agent decides whether to retry
		return nil, &rpc.Error{Code: rpc.CodeBusy, Message: err.Error() + "; try again later"}
	}
	if err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	return map[string]string{"terminalId": id}, nil
}

// validVariable reports whether an agent may set an environment variable. NANOBOT_ variables
// identify the descendants of an agent.
func validVariable(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00") && !strings.ContainsRune(value, 0) && !strings.HasPrefix(name, "NANOBOT_")
}
