package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/doctor"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/toolsocket"
	"nanobot/internal/peersocket"
)

// serveTools serves the MCP tools to agents, and accepts messages of processes, until ctx ends.
// Without a socket it does nothing.
func (d daemon) serveTools(ctx context.Context, l *peersocket.Listener, g *gateway.Gateway, o gateway.Options) error {
	if l == nil {
		return nil
	}
	return toolsocket.Run(ctx, l, toolsocket.Options{
		OwnerOf: d.supervisor.OwnerOf, ChatOfToken: o.Store.ChatOfToken, Log: d.log,
		Serve: func(ctx context.Context, conn io.ReadWriteCloser, c toolsocket.Caller) error {
			return g.ServeTools(ctx, conn, gateway.ToolCaller{Owner: c.Owner, Dir: c.Dir, AskTool: c.AskTool})
		},
		ServePost: func(ctx context.Context, conn *net.UnixConn, c toolsocket.Caller) error {
			return g.ServePost(ctx, conn, gateway.ToolCaller{Owner: c.Owner, Dir: c.Dir, Operator: c.Operator})
		},
		Refused: func(r toolsocket.Refusal) {
			record := audit.Record{
				Event: audit.Denied, Decision: audit.Refused, Agent: r.Owner.Agent,
				Title: fmt.Sprintf("tools for process %d of user %d: %s", r.Peer.Pid, r.Peer.UID, r.Reason),
			}
			o.Audit.Record(channels.Incoming{Chat: channels.Chat{Channel: r.Owner.Channel, ID: r.Owner.ChatID}}, record)
		},
	})
}

// dialDaemon opens an MCP connection to the daemon at $NANOBOT_SOCKET, or, if that is not set, to
// the daemon that uses the state of cfg. askTool is as in toolsocket.Hello. The error is
// errNoDaemon only if no daemon uses the state.
func dialDaemon(ctx context.Context, cfg *config.Config, askTool string) (net.Conn, error) {
	path := os.Getenv(config.SocketVariable)
	if path == "" {
		var err error
		if path, err = findSocket(ctx, cfg.Gateway.StateDir); err != nil {
			return nil, err
		}
	}
	hello := newHello()
	hello.AskTool = askTool
	return toolsocket.Dial(ctx, path, hello)
}

func newHello() toolsocket.Hello {
	hello := toolsocket.Hello{Token: os.Getenv(config.TokenVariable)}
	hello.Dir, _ = os.Getwd() // without it, relative paths start in the agent's working directory
	return hello
}

// socketFileTimeout is how long a daemon may take from locking its state to announceSocket.
const socketFileTimeout = 5 * time.Second

// findSocket returns the socket of the daemon that has locked a state.
func findSocket(ctx context.Context, stateDir string) (string, error) {
	for deadline := time.Now().Add(socketFileTimeout); ; {
		pid, err := doctor.DaemonOf(stateDir)
		if err != nil {
			return "", fmt.Errorf("find the daemon: %w", err)
		}
		if pid == 0 {
			return "", errNoDaemon
		}
		path, err := readAnnouncedSocket(stateDir)
		if !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("the daemon (pid %d) has no socket for MCP tools; its log says why", pid)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// readAnnouncedSocket returns the path that announceSocket has written.
func readAnnouncedSocket(stateDir string) (string, error) {
	folder, err := os.OpenRoot(stateDir)
	if err != nil {
		return "", err
	}
	defer func() { _ = folder.Close() }()
	return readSocketFile(folder)
}
