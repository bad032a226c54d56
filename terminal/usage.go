package terminal

import (
	"slices"
	"sync"

	"nanobot/terminal/process"
)

// usage sums the resource usage of a turn's processes.
type usage struct {
	mu         sync.Mutex
	sum        process.Usage
	persistent []persistentUse
}

// persistentUse is an agent that was started before the turn, with its usage until the turn.
type persistentUse struct {
	agent  *Agent
	before process.Usage
}

// add adds the usage of a process that has exited.
func (u *usage) add(used process.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum.CPU += used.CPU
	u.sum.Memory = max(u.sum.Memory, used.Memory)
}

// trackPersistent counts the usage of a persistent agent from now on.
func (u *usage) trackPersistent(a *Agent) {
	before := a.Usage()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.ContainsFunc(u.persistent, func(k persistentUse) bool { return k.agent == a }) {
		u.persistent = append(u.persistent, persistentUse{a, before})
	}
}

func (u *usage) total() process.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.sum
	for _, k := range u.persistent {
		now := k.agent.Usage()
		sum.CPU += now.CPU - k.before.CPU
		sum.Memory = max(sum.Memory, now.Memory) // of its whole life: the kernel keeps only one peak
	}
	return sum
}
