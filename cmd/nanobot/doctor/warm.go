package doctor

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/cmd/nanobot/format"
	"nanobot/gateway/metrics"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
)

// checkKeptProcesses reports the processes of the daemon that outlive a turn, with their memory:
// agents that wait for a message, persistent ones, and what they have left running.
func (d *doctor) checkKeptProcesses(ctx context.Context) (found findings) {
	kept := markedChildren(d.daemonPID)
	if len(kept) == 0 {
		return nil
	}
	memory := int64(0)
	for _, pid := range kept {
		memory += procfs.TreeMemory(pid)
	}
	found = good("processes that stay running between turns: %d, with %s of memory", len(kept), format.PreciseSize(memory))
	if n := countRestarts(ctx, d.cfg.HTTP.MetricsListen); n > 0 {
		found = append(found, doubtful(
			fmt.Sprintf("agents that were started again because not all can be kept running: %d", n),
			fmt.Sprintf("raise acp.keptMemory in %s, as far as this machine has the memory", d.Path))...)
	}
	for i := range found {
		found[i].Check = "daemon"
	}
	return found
}

// countRestarts asks the daemon for its metric of agents that were started again, if it serves its
// metrics without a token.
func countRestarts(ctx context.Context, metricsListen string) (n int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsListen+"/metrics", nil)
	if err != nil || metricsListen == "" {
		return 0
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0 // other checks report the listener
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := lines.Text()
		if _, value, found := strings.Cut(line, "} "); found && strings.HasPrefix(line, metrics.Restarted+"{") {
			count, _ := strconv.Atoi(value)
			n += count
		}
	}
	return n
}

// markedChildren returns the processes that a daemon has marked as its own because they outlive a
// turn.
func markedChildren(daemon int) (pids []int) {
	if daemon == 0 {
		return nil
	}
	for _, thread := range procfs.Threads(daemon) {
		for _, pid := range procfs.Children(daemon, thread) {
			if process.HasGatewayMark(pid) && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
