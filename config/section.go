package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Extensions is what the chat networks and the protocols add to the configuration. This package
// knows none of them by name: the wiring of the program hands them to Load and Schema.
type Extensions struct {
	Channels  []Channel
	Protocols []Protocol // the first one is the default
}

// Channel describes the section channels.NAME.
type Channel struct {
	Name        string
	Description string // of the section, for the schema
	// New returns the settings with their defaults: a pointer to a struct whose json, jsonschema
	// and secret tags are the schema of the section.
	New func() ChannelSettings
}

// Protocol describes a value of terminal.protocol, and the section terminal.NAME if there is one.
type Protocol struct {
	Name        string
	Description string // completes the sentence "How the agent is talked with: …" in the schema
	// New returns the settings with their defaults, as Channel.New does; nil: there is no section.
	New func() Settings
	// SectionDescription is that of the section, for the schema.
	SectionDescription string
	// Section is the protocol whose section this one uses, if it has none of its own.
	Section string
	// DefaultCommand returns the command of an agent that has none; nil: there is no such command.
	DefaultCommand func(Terminal) string
	// SupportsQuestions says that agents can ask questions when terminal.interactive is set.
	SupportsQuestions bool
	// SupportsInject says that a running agent can be handed further messages
	// (gateway.whileRunning).
	SupportsInject bool
	// SupportsMCP says that agents are told of the servers of terminal.mcpServers.
	SupportsMCP bool
	// Persistent says that one process of the command works on many messages. Its command cannot
	// contain the text of one, and it must be told each by the envelope.
	Persistent bool
}

// Settings is the value of a section. Load calls the methods once all values have the right shape.
type Settings interface {
	// Check finds what has the right shape and still cannot work.
	Check(at Scope) []Problem
	// Warnings says what is allowed and yet probably not meant.
	Warnings(at Scope) []string
}

// ChannelSettings is the value of a channel's section.
type ChannelSettings interface {
	Settings
	// On reports whether the channel is to run.
	On() bool
}

// HTTPUser is implemented by the settings of a channel that may need the HTTP server.
type HTTPUser interface {
	// NeedsHTTP returns why the server is needed, or nil if it is not.
	NeedsHTTP() *HTTPNeed
}

// HTTPNeed is why a channel needs the HTTP server.
type HTTPNeed struct {
	Key, Value string // the setting that requires it: "enabled", "true"
	// ServesPeople says that people use the server, and not only a network that proves itself. They
	// need http.token where the address can be reached from other machines.
	ServesPeople bool
}

// Scope says where settings stand in the configuration.
type Scope struct {
	// Terminal is what the settings of a protocol belong to; nil for those of a channel.
	Terminal *Terminal

	path []string
}

// Key names a setting of the section in a message: channels.NAME.enabled.
func (s Scope) Key(name string) string { return strings.Join(append(slices.Clone(s.path), name), ".") }

// SiblingKey names a setting next to the section: terminal.timeout.
func (s Scope) SiblingKey(name string) string {
	return strings.Join(append(slices.Clone(s.path[:len(s.path)-1]), name), ".")
}

// Problem is what a check of a section has found. Paths are relative to the section; an entry of a
// list is its index.
type Problem struct {
	Path      []string // the key that it is about
	Cause     []string // the key that makes it a problem, pointed at when Path is not set anywhere
	Text      string   // what would be right
	Hint      string   // what was probably meant
	AboutKey  bool     // the key is wrong, not its value
	HideValue bool     // the value may hold a secret
}

// Channels holds the settings of the channels, by name.
type Channels map[string]ChannelSettings

// Protocols holds the settings of the protocols that have any, by name. Each Terminal has its own.
type Protocols map[string]Settings

// Format prints only the names: for a verb that fits no pointer, fmt would print the values behind
// it and call no method of a Secret there.
func (c Channels) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(c))) }

// Format prints only the names, as Channels does.
func (p Protocols) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(p))) }

// Default returns the configuration that an empty file means, before paths are made absolute.
func (p Extensions) Default() Config {
	c := Default()
	c.extensions = p
	if len(p.Protocols) > 0 {
		c.Terminal.Protocol = p.Protocols[0].Name
	}
	c.Channels, c.Terminal.Protocols = Channels{}, p.protocolSettings()
	for _, ch := range p.Channels {
		c.Channels[ch.Name] = ch.New()
	}
	return c
}

// protocolSettings returns the default settings of all protocols.
func (p Extensions) protocolSettings() Protocols {
	all := Protocols{}
	for _, pr := range p.Protocols {
		if pr.New != nil {
			all[pr.Name] = pr.New()
		}
	}
	return all
}

// protocol returns the protocol with a name; one that is unknown is nothing.
func (p Extensions) protocol(name string) Protocol {
	for _, pr := range p.Protocols {
		if pr.Name == name {
			return pr
		}
	}
	return Protocol{}
}

// protocolNames names the protocols for which f is true.
func (p Extensions) protocolNames(f func(Protocol) bool) []any {
	var names []any
	for _, pr := range p.Protocols {
		if f(pr) {
			names = append(names, pr.Name)
		}
	}
	return names
}

// eachChannel calls f for the settings of each channel, in the order of the parts.
func (c *Config) eachChannel(f func(at Scope, s ChannelSettings)) {
	for _, ch := range c.extensions.Channels {
		if s := c.Channels[ch.Name]; s != nil {
			f(Scope{path: []string{"channels", ch.Name}}, s)
		}
	}
}

// protocolScope returns the settings of the protocol that a terminal uses, and where they stand;
// nil if the protocol has none.
func (c *Config) protocolScope(t *Terminal, path []string) (Scope, Settings) {
	name := cmp.Or(c.extensions.protocol(t.Protocol).Section, t.Protocol)
	return Scope{Terminal: t, path: join(path, name)}, t.Protocols[name]
}

// SetProtocol changes the protocol of the agent that terminal describes. A command that only the
// former protocol has as its default goes with it.
func (c *Config) SetProtocol(name string) {
	t := &c.Terminal
	former := *t
	former.Command = ""
	c.extensions.setDefaultCommand(&former)
	if t.Command == former.Command {
		t.Command = ""
	}
	t.Protocol = name
	c.extensions.setDefaultCommand(t)
}

// setDefaultCommand gives an agent without a command the one that its protocol has for it.
func (p Extensions) setDefaultCommand(t *Terminal) {
	if f := p.protocol(t.Protocol).DefaultCommand; f != nil && t.Command == "" {
		t.Command = f(*t)
	}
}

// faults places the problems that the check of a section has found.
func faults(at Scope, problems []Problem) []fault {
	var all []fault
	for _, p := range problems {
		f := fault{path: join(at.path, p.Path...), text: p.Text, hint: p.Hint, aboutKey: p.AboutKey, hideValue: p.HideValue}
		if p.Cause != nil {
			f.cause = join(at.path, p.Cause...)
		}
		all = append(all, f)
	}
	return all
}
