package gateway

import (
	"context"

	"nanobot/channels"
)

// PruneFiles removes old received files, as the gateway does every hour.
func (g *Gateway) PruneFiles(ctx context.Context) { g.pruneFiles(ctx) }

// ReceiveMessage receives a message of a network, as a channel does.
func (g *Gateway) ReceiveMessage(ctx context.Context, in channels.Incoming) error {
	return g.forwards.Receive(ctx, in)
}

// PruneState removes what the settings no longer keep, as the gateway does every hour.
func (g *Gateway) PruneState(ctx context.Context) { g.pruneState(ctx) }
