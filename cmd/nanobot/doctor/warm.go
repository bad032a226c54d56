package doctor

import (
	"context"
	"fmt"
	"slices"

	"nanobot/cmd/nanobot/format"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
	"nanobot/terminal/warm"
)

// checkKeptAgents reports the processes of the daemon that outlive a turn. It makes no attempt to
// tell those of several kinds apart.
func (d *doctor) checkKeptAgents(ctx context.Context, s *sqlite.Store) (found findings) {
	if d.daemonPID == 0 {
		return nil
	}
	running, err := s.Turns(ctx, store.TurnFilter{Outcome: string(store.Running), Limit: d.cfg.Gateway.MaxConcurrent})
	if err != nil {
		return nil // other checks report the state
	}
	if d.cfg.StartsWarmAgents() {
		found = d.countWarmAgents(running)
	} else if r, ok := sumRooms(d.kept); ok {
		found = d.checkRoom(r)
	}
	for i := range found {
		found[i].Check = "daemon"
	}
	return found
}

// countWarmAgents reports how many processes of the daemon wait for a message: those with its mark
// that work on no turn.
func (d *doctor) countWarmAgents(running []store.Inbound) findings {
	waiting := slices.DeleteFunc(d.markedChildren(), func(pid int) bool {
		return slices.ContainsFunc(running, func(i store.Inbound) bool { return i.Process.Pid == pid })
	})
	return good("processes that wait for a message: %d", len(waiting))
}

// checkRoom compares the agents that the daemon keeps between turns with their limits.
func (d *doctor) checkRoom(r warm.Room) findings {
	kept := d.markedChildren()
	if len(kept) == 0 {
		return nil
	}
	memory := int64(0)
	for _, pid := range kept {
		memory += procfs.TreeMemory(pid)
	}
	text := fmt.Sprintf("agents that are kept between turns: %d, with %s of %s", len(kept), format.PreciseSize(memory),
		format.PreciseSize(r.MaxMemory))
	if limit := r.Exceeded(len(kept)+1, memory+memory/int64(len(kept))); limit != "" {
		return doubtful(text+". There is no room for another, so agents are started again with their next message",
			fmt.Sprintf("raise %s in %s, as far as this machine has the memory", r.Keys[limit], d.Path))
	}
	return good("%s", text)
}

// sumRooms returns the room of all agents together. It reports false if there are none, or if the
// memory of some is not limited.
func sumRooms(rooms []warm.Room) (sum warm.Room, ok bool) {
	for i, r := range rooms {
		if r.MaxMemory == 0 {
			return warm.Room{}, false
		}
		if i == 0 {
			sum = r
			continue
		}
		sum.MaxMemory += r.MaxMemory
		sum.MinProcesses += r.MinProcesses
		if sum.MaxProcesses > 0 && r.MaxProcesses > 0 {
			sum.MaxProcesses += r.MaxProcesses
		} else {
			sum.MaxProcesses = 0
		}
	}
	return sum, len(rooms) > 0
}

// markedChildren returns the processes that the daemon has marked as its own because they outlive a
// turn.
func (d *doctor) markedChildren() (pids []int) {
	for _, thread := range procfs.Threads(d.daemonPID) {
		for _, pid := range procfs.Children(d.daemonPID, thread) {
			if process.HasGatewayMark(pid) && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
