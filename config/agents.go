package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
)

// DefaultAgent is the name of the agent that the section terminal configures.
const DefaultAgent = "default"

// Agents are the agents of the section agents, by name. The default agent is not among them.
type Agents map[string]*Terminal

// Format prints only the names, for the same reason as Channels.Format.
func (a Agents) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(a))) }

// agentNamePattern matches valid agent names. A name is part of chat commands, stored values and
// metrics.
var agentNamePattern = lazyregexp.New(`^[a-z0-9-]{1,32}$`)

// agentSection is the config section of one agent: terminal, or agents.NAME.
type agentSection struct {
	*Terminal
	path      []string
	dottedKey string // the section as mistakes print it: terminal, agents.coder
}

// keyPath returns the full path of a dotted key in the section.
func (a agentSection) keyPath(dotted string) []string { return joinPath(a.path, splitKey(dotted)...) }

// agentSections returns the sections of all agents, the default agent first.
func (c *Config) agentSections() []agentSection {
	root := c.extensions.rootNode()
	path := []string{"terminal"}
	if c.agentName != "" {
		path = []string{"agents", c.agentName}
	}
	all := []agentSection{{&c.Terminal, path, root.formatPath(path)}}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		path := []string{"agents", name}
		all = append(all, agentSection{c.Agents[name], path, root.formatPath(path)})
	}
	return all
}

// AgentNames returns the names of all agents, the default agent first.
func (c *Config) AgentNames() []string {
	return append([]string{DefaultAgent}, slices.Sorted(maps.Keys(c.Agents))...)
}

// ForAgent returns a copy of the configuration for one agent: Terminal is the section of that
// agent, and Agents has all others, whose secrets the agent must not see. It returns false if there
// is no such agent.
func (c *Config) ForAgent(name string) (*Config, bool) {
	if name == DefaultAgent {
		return c, true
	}
	section, ok := c.Agents[name]
	if !ok {
		return nil, false
	}
	one := *c
	one.agentName, one.Terminal, one.Agents = name, *section, maps.Clone(c.Agents)
	delete(one.Agents, name)
	one.Agents[DefaultAgent] = &c.Terminal
	return &one, true
}

// AgentKey returns the dotted key of the section in Terminal: "terminal", or "agents.NAME" after
// ForAgent.
func (c *Config) AgentKey() string { return c.agentSections()[0].dottedKey }

// AgentPath returns the path of the section in Terminal.
func (c *Config) AgentPath() []string { return c.agentSections()[0].path }

// AgentName returns the name of the agent whose section is in Terminal.
func (c *Config) AgentName() string { return cmp.Or(c.agentName, DefaultAgent) }

// CountProtocol returns how many agents that are on have a protocol.
func (c *Config) CountProtocol(name string) (agents int) {
	for _, t := range c.agentSections() {
		if t.On() && t.Protocol == name {
			agents++
		}
	}
	return agents
}

// SupportsInject reports whether the agent in Terminal accepts further messages during a turn.
func (c *Config) SupportsInject() bool { return c.supportsInject(&c.Terminal) }

func (c *Config) supportsInject(t *Terminal) bool {
	return c.extensions.protocol(t.Protocol).SupportsInject && t.Stdin == "envelope"
}

// otherAgentSecrets returns the secrets of other agents that the agent in Terminal does not have
// itself.
func (c *Config) otherAgentSecrets() []Secret {
	own := append(secretsIn(&c.Terminal), "")
	var all []Secret
	walkSecrets(reflect.ValueOf(c.Agents), nil, func(path []string, v reflect.Value) {
		// A literal value in the env of an MCP server may be as common as "1". As a secret it would
		// hide every text that contains a 1.
		common := path[len(path)-2] == "env" && !v.Interface().(Secret).IsReference()
		if s := v.Interface().(Secret); !slices.Contains(own, s) && !common {
			all = append(all, s)
		}
	})
	return all
}

// checkAgents reports invalid agent names and agents without a command.
func checkAgents(c *Config) []Problem {
	var all []Problem
	for name, t := range c.Agents {
		path := []string{"agents", name}
		switch {
		case name == DefaultAgent:
			all = append(all, Problem{
				Path: path, Text: "is reserved for the agent of the section terminal; choose another name",
				AboutKey: true,
			})
		case !agentNamePattern().MatchString(name):
			all = append(all, Problem{
				Path: path, Text: "an agent's name must be 1 to 32 lower-case letters, digits and hyphens",
				AboutKey: true,
			})
		}
		if t.Command == "" && t.Enabled == nil {
			all = append(all, Problem{Path: joinPath(path, "command"), Text: "must be set"})
		}
	}
	if t := c.Terminal; len(c.Agents) > 0 && t.Command == "" && t.Enabled == nil {
		all = append(all, Problem{
			Path: splitKey("terminal.command"), Cause: splitKey("agents"),
			Text: "must be set, because there are agents, and terminal is the one that answers by default",
		})
	}
	return all
}

// decodeAgents decodes the section of each agent on top of the defaults.
func (e Extensions) decodeAgents(merged map[string]any, c *Config) error {
	agents, _ := merged["agents"].(map[string]any)
	delete(merged, "agents")
	for name, value := range agents {
		section, _ := value.(map[string]any)
		t := e.Default().Terminal
		for protocol, settings := range t.Protocols {
			if err := decodeSection(section, protocol, settings); err != nil {
				return err
			}
		}
		t.Timeout = e.defaultTimeout(section["protocol"])
		if err := decodeInto(section, &t); err != nil {
			return err
		}
		e.setDefaultCommand(&t)
		c.Agents[name] = &t
	}
	return nil
}

// splitAgentVariable splits the part of a variable's name after AGENTS__ into agent name and key.
// Agent names are lower case and cannot contain the separator.
func splitAgentVariable(rest string) (name, key string) {
	name, key, _ = strings.Cut(rest, variableSeparator)
	return strings.ToLower(name), key
}
