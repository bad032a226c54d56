package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
)

// socketVariable names the environment variable with the path of the daemon's socket.
const socketVariable = "NANOBOT_SOCKET"

func newMCP(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve the chat and the runbooks to an agent as MCP tools",
		Long: `Mcp is a server of the Model Context Protocol on stdin and stdout. An agent that the daemon has started sends messages and files
to its chat with it, asks questions there, and executes runbooks. It connects to the daemon at $NANOBOT_SOCKET, or to the one that holds
the state of the config. Without a daemon it serves the runbooks alone. Messages of its own go to stderr.`,
		Example: `  claude mcp add nanobot -- nanobot mcp --config /etc/nanobot/mybot/config.json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			context.AfterFunc(ctx, stop) // a second one ends us at once, whatever we wait for
			defer writeErrors()()
			return serveMCP(ctx, path, std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// errNoDaemon is that no daemon holds the state.
var errNoDaemon = errors.New("no daemon holds the state")

// dialDaemon connects to the daemon: at $NANOBOT_SOCKET if that is set, and then cfg may be nil, or
// at the socket that the daemon which holds the state of cfg has. The error is errNoDaemon only if
// no daemon holds the state. The connection then speaks MCP.
func dialDaemon(_ context.Context, _ *config.Config) (net.Conn, error) {
	return nil, errNoDaemon
}

// serveMCP serves one client on stdin and stdout.
func serveMCP(ctx context.Context, path string, std stdio) error {
	var cfg *config.Config
	if os.Getenv(socketVariable) == "" { // an agent in a sandbox may not read the config
		var err error
		if cfg, err = loadBesideDaemon(path); err != nil {
			return err
		}
	}
	conn, err := dialDaemon(ctx, cfg)
	switch {
	case errors.Is(err, errNoDaemon) && cfg != nil:
		return serveAlone(ctx, cfg, std)
	case err != nil:
		return fmt.Errorf("connect to the daemon: %w", err)
	}
	return errors.Join(errors.New("not built yet"), conn.Close())
}

// serveAlone serves the runbooks of a state that no daemon holds.
func serveAlone(ctx context.Context, cfg *config.Config, std stdio) error {
	if err := trust.CheckAgent(cfg); err != nil {
		return err
	}
	db, err := openOrMakeStore(ctx, cfg)
	if err != nil {
		return err
	}
	o := tools.Options{Runs: runbook.Runs{Records: db}, Folder: runbook.Folder(cfg.Runbooks.Folder), Log: newLog(std.err, false)}
	return errors.Join(tools.Serve(ctx, stdioConn{std.in, std.out}, o), db.Close())
}

// stdioConn is a connection over stdin and stdout.
type stdioConn struct {
	io.Reader
	io.Writer
}

// Close does nothing.
func (stdioConn) Close() error { return nil }
