package turn

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// maxModels bounds the models of a turn, so that an agent cannot fill the ledger. Those after
	// them count as unknown.
	maxModels = 16
	// maxModelName bounds the name of a model, in characters.
	maxModelName = 100
)

// usage adds up what a turn uses.
type usage struct {
	begun atomic.Bool // the agent was started, so that the turn counts

	mu     sync.Mutex
	models []store.ModelUsage
}

// add adds a report of the agent.
func (u *usage) add(r terminal.Usage) {
	name := terminal.OneLine(r.Model, maxModelName)
	u.mu.Lock()
	defer u.mu.Unlock()
	find := func(name string) int {
		return slices.IndexFunc(u.models, func(m store.ModelUsage) bool { return m.Model == name })
	}
	i := find(name)
	if i < 0 && len(u.models) >= maxModels {
		name = ""
		i = find(name)
	}
	if i < 0 {
		i = len(u.models)
		u.models = append(u.models, store.ModelUsage{Model: name})
	}
	m := &u.models[i]
	m.InputTokens = min(m.InputTokens+min(max(r.InputTokens, 0), terminal.MaxTokens), terminal.MaxTokens)
	m.OutputTokens = min(m.OutputTokens+min(max(r.OutputTokens, 0), terminal.MaxTokens), terminal.MaxTokens)
	m.Cost = min(m.Cost+max(r.Cost, 0), terminal.MaxCost)
}

// used returns the usage of a turn that has worked for some time; nil: it does not count.
func (u *usage) used(took time.Duration) *store.TurnUsage {
	if !u.begun.Load() {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return &store.TurnUsage{Took: took, Models: slices.Clone(u.models)}
}

// usedEvent returns the usage of an ended turn for observers.
func usedEvent(u *store.TurnUsage) (e events.Used) {
	if u == nil {
		return e
	}
	e.Turns, e.Seconds = 1, u.Took.Seconds()
	for _, m := range u.Models {
		e.InputTokens += float64(m.InputTokens)
		e.OutputTokens += float64(m.OutputTokens)
		e.Cost += m.Cost
	}
	return e
}
