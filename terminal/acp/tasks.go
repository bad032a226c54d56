package acp

import (
	"encoding/json"
	"maps"
	"sync"
	"time"

	"nanobot/terminal/acp/rpc"
)

// maxTasks limits the running tasks of an agent that are counted.
const maxTasks = 1000

// tasks are the running tool calls and background tasks of an agent. The zero value has none.
type tasks struct {
	mu       sync.Mutex
	forgetAt map[string]time.Time // by ID; zero: never, because the agent reports the end
}

// track records which tasks are running. A tool call without an update for some time is forgotten.
func (a *tasks) track(u update, toolCallTime time.Duration) {
	var p struct {
		Tool   rpc.Optional[string] `json:"toolCallId"`
		Status rpc.Optional[string] `json:"status"`
		Task   rpc.Optional[string] `json:"asyncTaskId"`
		State  rpc.Optional[string] `json:"state"`
	}
	switch u.Kind {
	case "tool_call", "tool_call_update", "async_task_spawned", "async_task_state_update": // the last two are extensions
	default:
		return
	}
	_ = json.Unmarshal(u.Raw, &p) // a task without an ID is not counted
	a.mu.Lock()
	defer a.mu.Unlock()
	id, running, forgetAt := "task "+p.Task.V, u.Kind == "async_task_spawned" || p.State.V == "running", time.Time{}
	if u.Kind == "tool_call" || u.Kind == "tool_call_update" {
		id, forgetAt = "tool "+p.Tool.V, time.Now().Add(toolCallTime)
		_, counted := a.forgetAt[id]
		running = p.Status.V == "in_progress" || counted && p.Status.V == ""
	}
	switch {
	case p.Tool.V+p.Task.V == "":
	case !running:
		delete(a.forgetAt, id)
	case len(a.forgetAt) < maxTasks:
		if a.forgetAt == nil {
			a.forgetAt = map[string]time.Time{}
		}
		a.forgetAt[id] = forgetAt
	}
}

// count returns the number of running tasks. It forgets tool calls whose end the agent has not
// reported in time.
func (a *tasks) count() int {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.forgetAt, func(_ string, at time.Time) bool { return !at.IsZero() && now.After(at) })
	return len(a.forgetAt)
}

// forgetToolCalls forgets the running tool calls, because the turn has failed.
func (a *tasks) forgetToolCalls() {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.forgetAt, func(_ string, at time.Time) bool { return !at.IsZero() })
}

// forgetAll forgets the running tasks, because the turn was cancelled.
func (a *tasks) forgetAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetAt = nil
}
