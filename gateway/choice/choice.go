// Package choice decides which agent answers a message, by the rules of the configuration and by
// what its chat has chosen, and knows which commands people can use there.
package choice

import (
	"context"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Memory has the agent that a chat has chosen. It outlives /new.
const Memory = store.LastingPrefix + "choice"

// Store has the choices of chats, and their messages, newest first.
type Store interface {
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
}

// Agent is a configured agent. Its protocol may have commands.
type Agent interface{ Controls() []terminal.Command }

// Options configures a Choice.
type Options struct {
	Store Store
	// Agents returns the agents by name, including the default agent.
	Agents func() map[string]Agent
	// Routes returns the rules; nil: there are none.
	Routes func() []config.Route
	// Locate returns where a chat is, as far as its ID says; see channels.ChatLocator.
	Locate func(chat channels.Chat) (parent, topic string, group bool)
	// TypeOf returns the MIME type of a file; nil: channels.TypeOf.
	TypeOf func(path, name string) string
	// HasRunbooks reports whether people can run runbooks.
	HasRunbooks func() bool
	// MaySwitch reports whether the sender of a message may choose an agent, and have one that the
	// chat has chosen; nil: everybody may.
	MaySwitch func(ctx context.Context, in channels.Incoming) (bool, error)
	Words     *words.Catalogue
}

// Choice knows the agents of chats. Its methods may be called from many goroutines.
type Choice struct{ o Options }

// New returns a Choice.
func New(o Options) *Choice {
	if o.TypeOf == nil {
		o.TypeOf = channels.TypeOf
	}
	return &Choice{o}
}

// Remember returns the memory with which a chat chooses an agent; "": the default agent.
func Remember(agent string) store.Memory { return store.Memory{Key: Memory, Value: agent} }

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
