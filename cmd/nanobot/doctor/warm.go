package doctor

import (
	"context"
	"slices"

	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
)

// countWarmAgents reports how many processes of the daemon wait for a message: those with its mark
// that work on no turn.
func (d *doctor) countWarmAgents(ctx context.Context, s *sqlite.Store) findings {
	if d.daemonPID == 0 || !d.cfg.StartsWarmAgents() {
		return nil
	}
	running, err := s.Turns(ctx, store.TurnFilter{Outcome: string(store.Running), Limit: d.cfg.Gateway.MaxConcurrent})
	if err != nil {
		return nil // other checks report the state
	}
	waiting := map[int]bool{}
	for _, thread := range procfs.Threads(d.daemonPID) {
		for _, pid := range procfs.Children(d.daemonPID, thread) {
			works := slices.ContainsFunc(running, func(i store.Inbound) bool { return i.Process.Pid == pid })
			if !works && process.HasGatewayMark(pid) {
				waiting[pid] = true
			}
		}
	}
	found := good("processes that wait for a message: %d", len(waiting))
	found[0].Check = "daemon"
	return found
}
