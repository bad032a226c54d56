package tools

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one connection until it ends or ctx does, and closes it.
func Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "nanobot", Version: "1"}, nil)
	return server.Run(ctx, &mcp.IOTransport{Reader: conn, Writer: conn})
}
