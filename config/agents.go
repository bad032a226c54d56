package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// DefaultAgent is the name of the agent that the section terminal describes.
const DefaultAgent = "default"

// Agents are the agents beside that of the section terminal, by name.
type Agents map[string]*Terminal

// Format prints only the names, as Channels does.
func (a Agents) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(a))) }

// agentName is how the name of an agent is written. It is part of commands, memories and metrics.
var agentName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// agentSection is the section of one agent: terminal, or one of agents.
type agentSection struct {
	*Terminal
	path []string
	name string // of the section, as messages have it: terminal, agents.coder
}

// key returns the path of a dotted key of the section.
func (a agentSection) key(dotted string) []string { return join(a.path, key(dotted)...) }

// agentSections returns the sections of all agents, that of the default one first.
func (c *Config) agentSections() []agentSection {
	root := c.extensions.root()
	path := []string{"terminal"}
	if c.agent != "" {
		path = []string{"agents", c.agent}
	}
	all := []agentSection{{&c.Terminal, path, root.dotted(path)}}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		path := []string{"agents", name}
		all = append(all, agentSection{c.Agents[name], path, root.dotted(path)})
	}
	return all
}

// AgentNames returns the names of all agents, that of the default one first.
func (c *Config) AgentNames() []string {
	return append([]string{DefaultAgent}, slices.Sorted(maps.Keys(c.Agents))...)
}

// ForAgent returns the configuration of one agent: its section stands in the place of terminal, and
// Agents are the others, whose secrets are kept from it. It reports false if there is no such
// agent.
func (c *Config) ForAgent(name string) (*Config, bool) {
	if name == DefaultAgent {
		return c, true
	}
	section, ok := c.Agents[name]
	if !ok {
		return nil, false
	}
	one := *c
	one.agent, one.Terminal, one.Agents = name, *section, maps.Clone(c.Agents)
	delete(one.Agents, name)
	one.Agents[DefaultAgent] = &c.Terminal
	return &one, true
}

// AgentKey names the section of the agent in messages: terminal, or agents.NAME in what ForAgent
// returned.
func (c *Config) AgentKey() string { return c.agentSections()[0].name }

// AgentName is the name of the agent whose section is in the place of terminal.
func (c *Config) AgentName() string { return cmp.Or(c.agent, DefaultAgent) }

// SupportsInject reports whether the agent of the section terminal can be handed messages while it runs.
func (c *Config) SupportsInject() bool { return c.supportsInject(&c.Terminal) }

func (c *Config) supportsInject(t *Terminal) bool {
	return c.extensions.protocol(t.Protocol).SupportsInject && t.Stdin == "envelope"
}

// otherSecrets are those of the other agents which this one does not have itself.
func (c *Config) otherSecrets() []Secret {
	own := map[Secret]bool{"": true}
	secrets(reflect.ValueOf(&c.Terminal), nil, func(_ []string, v reflect.Value) { own[v.Interface().(Secret)] = true })
	var all []Secret
	secrets(reflect.ValueOf(c.Agents), nil, func(path []string, v reflect.Value) {
		// A value that stands in the env of an MCP server may be as common as "1": whatever
		// contains it would be kept from the agent.
		common := path[len(path)-2] == "env" && !v.Interface().(Secret).IsReference()
		if s := v.Interface().(Secret); !own[s] && !common {
			all = append(all, s)
		}
	})
	return all
}

// checkAgents finds what is wrong with the names of agents, and an agent without a command.
func checkAgents(c *Config) []fault {
	var all []fault
	for name, t := range c.Agents {
		path := []string{"agents", name}
		switch {
		case name == DefaultAgent:
			all = append(all, fault{path: path, text: "is the name of the agent that terminal describes; choose another name", aboutKey: true})
		case !agentName.MatchString(name):
			all = append(all, fault{path: path, text: "the name of an agent must be 1 to 32 small letters, digits and hyphens", aboutKey: true})
		}
		if t.Command == "" && t.Enabled == nil {
			all = append(all, fault{path: join(path, "command"), text: "must be set"})
		}
	}
	if t := c.Terminal; len(c.Agents) > 0 && t.Command == "" && t.Enabled == nil {
		all = append(all, fault{
			path: key("terminal.command"), cause: key("agents"),
			text: "must be set, because there are agents: terminal is the one that answers where no other was chosen",
		})
	}
	return all
}

// decodeAgents lays the section of each agent over the defaults.
func (p Extensions) decodeAgents(merged map[string]any, c *Config) error {
	agents, _ := merged["agents"].(map[string]any)
	delete(merged, "agents")
	for name, value := range agents {
		section, _ := value.(map[string]any)
		t := p.Default().Terminal
		for protocol, settings := range t.Protocols {
			if err := decodeSection(section, protocol, settings); err != nil {
				return err
			}
		}
		if err := decodeInto(section, &t); err != nil {
			return err
		}
		p.setDefaultCommand(&t)
		c.Agents[name] = &t
	}
	return nil
}

// splitAgent splits what follows AGENTS__ in the name of a variable. The name of an agent has
// neither capital letters nor the separator.
func splitAgent(rest string) (name, key string) {
	name, key, _ = strings.Cut(rest, separator)
	return strings.ToLower(name), key
}
