// Package choice knows which agent answers a chat, and which commands people can use there.
package choice

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// memory has the agent that a chat has chosen. It outlives /new.
const memory = store.LastingPrefix + "choice"

// Store has the choices of chats.
type Store interface {
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
}

// Agent is a configured agent. Its protocol may have commands.
type Agent interface{ Controls() []terminal.Command }

// Options configures a Choice.
type Options struct {
	Store Store
	// Agents returns the agents by name, including the default agent.
	Agents func() map[string]Agent
	// HasRunbooks reports whether people can run runbooks.
	HasRunbooks func() bool
	Words       *words.Catalogue
}

// Choice knows the agents of chats. Its methods may be called from many goroutines.
type Choice struct{ o Options }

// New returns a Choice.
func New(o Options) *Choice { return &Choice{o} }

// Remember returns the memory with which a chat chooses an agent; "": the default agent.
func Remember(agent string) store.Memory { return store.Memory{Key: memory, Value: agent} }

// Next returns the agent that answers the next message of a chat: the chosen one, or the default
// agent. gone is a chosen agent that is no longer configured.
func (c *Choice) Next(ctx context.Context, chat channels.Chat) (name, gone string, err error) {
	chosen, err := c.o.Store.Recall(ctx, chat, memory)
	if err != nil {
		return "", "", fmt.Errorf("read the chosen agent: %w", err)
	}
	if chosen == "" {
		return store.DefaultAgent, "", nil
	}
	if _, ok := c.o.Agents()[chosen]; !ok {
		return store.DefaultAgent, chosen, nil
	}
	return chosen, "", nil
}

// Names returns the sorted names of the agents.
func (c *Choice) Names() []string { return slices.Sorted(maps.Keys(c.o.Agents())) }

// Several reports whether there is more than one agent.
func (c *Choice) Several() bool { return len(c.o.Agents()) > 1 }

// HasRunbooks reports whether people can run runbooks.
func (c *Choice) HasRunbooks() bool { return c.o.HasRunbooks() }

// Menu lists the commands for a channel's menu: the gateway's commands and, if there is only one
// agent, those of its protocol.
func (c *Choice) Menu() []channels.Command {
	all := c.GatewayCommands()
	if c.Several() {
		return all
	}
	// /help is the last
	return slices.Insert(all, len(all)-1, c.AgentCommands(store.DefaultAgent, terminal.AgentInfo{})...)
}

// AgentCommands returns the commands of an agent that people can use: those of its protocol, then
// those that it has reported. The gateway's commands hide others of the same name.
func (c *Choice) AgentCommands(agent string, about terminal.AgentInfo) []channels.Command {
	var controls []terminal.Command
	if a := c.o.Agents()[agent]; a != nil {
		controls = a.Controls()
	}
	own := c.GatewayCommands()
	var all []channels.Command
	for _, its := range slices.Concat(controls, about.Commands) {
		same := func(other channels.Command) bool { return strings.EqualFold(other.Name, its.Name) }
		if its.Name == "" || its.Name == "start" || slices.ContainsFunc(own, same) || slices.ContainsFunc(all, same) {
			continue
		}
		command := channels.Command{Name: its.Name, Help: its.Help, Args: true}
		if its.HelpKey != "" {
			command = c.localized(command, its.HelpKey)
		}
		all = append(all, command)
	}
	return all
}
