package gateway

import (
	"context"
	"io"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/runbook"
	"nanobot/gateway/runbook/shellstep"
	"nanobot/gateway/tools"
	"nanobot/terminal"
)

// ToolCaller is a process that uses tools.
type ToolCaller struct {
	// Owner is the chat that the process acts for, and its agent; the agent may be "". The zero
	// Owner acts for no chat.
	Owner terminal.Owner
	Dir   string // its working directory; "": unknown
	// AskTool is the name that it wants for the tool ask_user; "": that one.
	AskTool string
	// Operator says that no agent has started the process: it is of the daemon's user or of root.
	Operator bool
}

// chat returns the chat that the process acts for; zero: none.
func (c ToolCaller) chat() channels.Chat {
	return channels.Chat{Channel: c.Owner.Channel, ID: c.Owner.ChatID}
}

// ServeTools serves the tools to a process until the connection or ctx ends.
func (g *Gateway) ServeTools(ctx context.Context, conn io.ReadWriteCloser, c ToolCaller) error {
	set := g.currentSettings().Runbooks
	o := tools.Options{
		Runs: runbook.Runs{Records: g.o.Store}, Folder: runbook.Folder(set.Folder), Log: g.o.Log,
		AskTool:     c.AskTool,
		Audit:       func(tool string, err error) { g.auditTool(c, tool, err) },
		AdmitWrites: func(n int) error { return g.rates.writes.allow(c.chat(), n) },
		Decide: func(ctx context.Context, run string, step int) error {
			return g.decideForTool(ctx, c.chat(), run, step)
		},
	}
	if c.Owner.Channel != "" {
		chat := &toolChat{g: g, chat: c.chat(), owner: c.Owner, dir: c.Dir}
		o.Chat, o.PermitCommand = chat, chat.permitCommand
	}
	if set.CheckShell {
		o.CheckShell = func(ctx context.Context, run, command string, timeout time.Duration) (runbook.ShellProof, error) {
			place, err := g.ownerExecEnv(ctx, c.Owner)
			if err != nil {
				return runbook.ShellProof{ExitCode: exitNotRun, Stderr: "nanobot: the command did not run: " + err.Error() + "\n"},
					ctx.Err()
			}
			return shellstep.Run(ctx, shellstep.ExecEnv(place, run), command, timeout)
		}
	}
	return tools.Serve(ctx, conn, o)
}

// exitNotRun is the exit status of a command that could not be executed, as in shells.
const exitNotRun = 126

// ownerExecEnv returns the execution environment of a process's agent, or that of the local chat
// for a process without a chat.
func (g *Gateway) ownerExecEnv(ctx context.Context, o terminal.Owner) (terminal.ExecEnv, error) {
	agent, err := g.ownerAgent(ctx, o)
	if err != nil {
		return terminal.ExecEnv{}, err
	}
	if o.Channel == "" {
		return agent.Runner.ExecEnv("cli", "local")
	}
	return agent.Runner.ExecEnv(o.Channel, o.ChatID)
}

// auditTool records the use of a tool.
func (g *Gateway) auditTool(c ToolCaller, tool string, err error) {
	r := audit.Record{Event: audit.Tool, Tool: tool, Decision: audit.Allowed}
	if err != nil {
		r.Decision = audit.Failed
	}
	g.auditCaller(c, r)
}

// auditCaller records something about a process that uses tools.
func (g *Gateway) auditCaller(c ToolCaller, r audit.Record) {
	if g.o.Audit == nil {
		return
	}
	r.Agent = c.Owner.Agent
	if t, ok := g.lanes.RunningTurn(c.chat()); ok && c.Owner.Channel != "" {
		r.Run = t.Inbound().ID
	}
	g.o.Audit.Record(channels.Incoming{Chat: c.chat()}, r)
}
