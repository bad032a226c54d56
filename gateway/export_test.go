package gateway

import "context"

// PruneFiles removes old received files, as the gateway does every hour.
func (g *Gateway) PruneFiles(ctx context.Context) { g.pruneFiles(ctx) }
