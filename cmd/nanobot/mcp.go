package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newMCP(std stdio) *cobra.Command {
	var path, askTool string
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve the chat and the runbooks to an agent as MCP tools",
		Long: `A Model Context Protocol server on stdin and stdout. Its tools let an agent that the daemon has started send
messages and files to its chat, ask questions there and execute runbooks. It connects to the daemon at
$NANOBOT_SOCKET, or to the daemon of the config. Without a daemon it offers only the runbooks. It logs to stderr.`,
		Example: `  claude mcp add nanobot -- nanobot mcp --config /etc/nanobot/mybot/config.json`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context(), syscall.SIGHUP)
			defer stop()
			defer disableSIGPIPE()()
			return serveMCP(ctx, path, askTool, std)
		},
	}
	addConfigFlag(cmd, &path)
	cmd.Flags().StringVar(&askTool, "ask-tool", "",
		"another name for the tool ask_user, which Gemini CLI drops because of its name")
	return cmd
}

// errNoDaemon is the error of dialDaemon if no daemon uses the state.
var errNoDaemon = errors.New("no daemon uses the state")

// serveMCP serves one client on stdin and stdout.
func serveMCP(ctx context.Context, path, askTool string, std stdio) error {
	var cfg *config.Config
	if os.Getenv(config.SocketVariable) == "" { // an agent in a sandbox may not read the config
		var err error
		if cfg, err = loadForCommand(path); err != nil {
			return err
		}
	}
	conn, err := dialDaemon(ctx, cfg, askTool)
	switch {
	case errors.Is(err, errNoDaemon) && cfg != nil:
		return serveWithoutDaemon(ctx, cfg, std)
	case err != nil:
		return fmt.Errorf("connect to the daemon: %w", err)
	}
	return pipeToDaemon(ctx, conn, std)
}

// errDaemonGone is the error of pipeToDaemon if the daemon closes the connection before the client
// does.
var errDaemonGone = errors.New("the daemon has closed the connection; start nanobot mcp again when it runs")

// pipeToDaemon copies stdin to the daemon and its answers to stdout. It returns when stdin has
// ended and the daemon has answered everything.
func pipeToDaemon(ctx context.Context, conn net.Conn, std stdio) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := newClosableReader(std.in)
	defer func() { _ = in.Close() }()
	var ended atomic.Bool // stdin has ended, and the daemon is told so
	go func() {
		_, err := io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
			ended.Store(true) // before CloseWrite, because the daemon may close the connection at once
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(std.out, conn)
	_ = conn.Close()
	if ctx.Err() != nil {
		return nil
	}
	if ended.Load() {
		return err
	}
	return cmp.Or(err, errDaemonGone)
}

// newClosableReader returns a reader of stdin that can be closed while a read waits for input. Its
// goroutine then waits until the process ends.
func newClosableReader(in io.Reader) *io.PipeReader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err)
	}()
	return r
}

// stdioConn is a connection over stdin and stdout.
type stdioConn struct {
	*io.PipeReader
	io.Writer
}

// serveWithoutDaemon serves the runbooks of a state that no daemon uses.
func serveWithoutDaemon(ctx context.Context, cfg *config.Config, std stdio) error {
	if err := trust.CheckAgent(cfg); err != nil {
		return err
	}
	log := newLog(std.err, false)
	o := tools.Options{Folder: runbook.Folder(cfg.Runbooks.Folder), Log: log}
	if cfg.Runbooks.AgentShell == "check" {
		supervisor := process.NewSupervisor(process.SupervisorOptions{})
		defer supervisor.Close()
		runner, err := newRunner(cfg, agentHost{supervisor: supervisor}, log)
		if err != nil {
			return err
		}
		defer runner.Close()
		o.CheckShell = newShellCheck(runner, cfg.Workspace)
	}
	db, err := openOrCreateStore(ctx, cfg)
	if err != nil {
		return err
	}
	o.Runs.Records = db
	auditLog, err := openAudit(cfg, true, log)
	if err == nil {
		o.Audit = func(tool string, err error) { auditTool(auditLog, tool, err) }
		err = tools.Serve(ctx, stdioConn{newClosableReader(std.in), std.out}, o)
		auditLog.Close()
	}
	return errors.Join(err, db.Close())
}

// auditTool records in the audit log that an agent has called a tool without a daemon.
func auditTool(l *audit.Log, tool string, err error) {
	r := audit.Record{Event: audit.Tool, Tool: tool, Decision: audit.Allowed, By: fmt.Sprintf("uid %d", callerUID)}
	if err != nil {
		r.Decision = audit.Failed
	}
	l.Write(r)
}

// newShellCheck returns a function that executes the command that an agent reports as its proof, as
// nanobot runbook run does.
func newShellCheck(runner *terminal.Runner, workspace string) func(context.Context, string, string,
	time.Duration) (runbook.ShellProof, error) {
	return func(ctx context.Context, run, command string, timeout time.Duration) (runbook.ShellProof, error) {
		shell, err := shellSteps(runner, workspace, run)
		if err != nil {
			return runbook.ShellProof{}, err
		}
		return shell(ctx, command, timeout)
	}
}
