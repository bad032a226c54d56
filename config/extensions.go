package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Extensions are the sections that channels and protocols add to the configuration. This package
// knows none of them by name: the program passes them to Load and Schema.
type Extensions struct {
	Channels  []Channel
	Protocols []Protocol // the first one is the default
	Words     Words
	// Commands are the gateway's own commands, without their slash.
	Commands []string
	// CheckSchedule returns the problems of a schedule's times and of what it does; nil: none.
	CheckSchedule func(Schedule) []Problem
	// CheckZone returns what is wrong with the name of a time zone; "": nothing.
	CheckZone func(name string) string
}

// Words describes the section gateway.words.
type Words struct {
	// Keys are the names of all texts. A name in the section may have a language after a dot.
	Keys []string
	// Check returns what is wrong with the text of a name in the section; "": nothing.
	Check func(name string, section map[string]string) string
}

// Channel describes the section channels.NAME, which may be a list if its settings are an Account.
type Channel struct {
	Name        string
	Description string // of the section, for the schema
	// New returns the default settings: a pointer to a struct whose json, jsonschema and secret
	// tags define the schema of the section.
	New func() ChannelSettings
}

// Protocol describes a value of terminal.protocol, and the section terminal.NAME if there is one.
type Protocol struct {
	Name        string
	Description string // completes "How nanobot and the agent talk: …" in the schema
	// New returns the default settings, like Channel.New; nil: the protocol has no section.
	New func() Settings
	// SectionDescription describes the section in the schema.
	SectionDescription string
	// Section names another protocol whose section this one shares; "": its own.
	Section string
	// DefaultCommand returns the command of an agent that has none configured; nil: there is no
	// default.
	DefaultCommand func(Terminal) string
	// DefaultTimeout is the default of terminal.timeout, in seconds; 0: that of all protocols.
	DefaultTimeout int
	// SupportsQuestions allows terminal.interactive.
	SupportsQuestions bool
	// SupportsInject allows gateway.whileRunning "inject": a running agent accepts messages.
	SupportsInject bool
	// SupportsFormat allows terminal.format: the agent prints texts for people.
	SupportsFormat bool
	// SupportsWarm allows terminal.warm: each process of the agent works on one envelope.
	SupportsWarm bool
	// SupportsMCP allows terminal.mcpServers.
	SupportsMCP bool
	// SupportsProtect allows terminal.protect: files are written through nanobot.
	SupportsProtect bool
	// Persistent means that one process works on many messages. It needs the envelope on stdin, and
	// its command cannot contain a placeholder.
	Persistent bool
}

// Settings are the values of a section. Load calls Check only with values that match the schema.
type Settings interface {
	// Check returns combinations of values that cannot work.
	Check(at Scope) []Problem
	// Warnings returns texts about values that are allowed, but probably not intended.
	Warnings(at Scope) []string
}

// ChannelSettings are the values of a channel's section.
type ChannelSettings interface {
	Settings
	// On reports whether the channel is enabled.
	On() bool
}

// HTTPUser is implemented by the settings of channels that may need the HTTP server.
type HTTPUser interface {
	// NeedsHTTP returns why the channel needs the server, or nil if it does not.
	NeedsHTTP() *HTTPNeed
}

// HTTPNeed is the reason why a channel needs the HTTP server.
type HTTPNeed struct {
	Key, Value string // the setting that requires the server: "enabled", "true"
	// ServesPeople means that people use the server, not only a network that authenticates itself.
	// They need http.token if other machines can reach the server.
	ServesPeople bool
}

// Scope is the position of a section in the configuration.
type Scope struct {
	// Terminal is the agent whose section contains the settings of a protocol; nil for a channel.
	Terminal *Terminal

	path    []string
	section string // the section as mistakes print it
}

// Key returns the dotted key of a setting of the section: channels.NAME.enabled.
func (s Scope) Key(name string) string { return s.section + "." + name }

// SiblingKey returns the dotted key of a setting next to the section: terminal.timeout.
func (s Scope) SiblingKey(name string) string {
	return strings.Join(append(slices.Clone(s.path[:len(s.path)-1]), name), ".")
}

// Problem is a mistake without a position, which sources.locate adds. The paths of problems that
// the check of a section found are relative to the section; list elements are given by their index.
type Problem struct {
	Path      []string // the key that is wrong
	Cause     []string // the key that causes the problem; its position is used if Path is not set anywhere
	Text      string   // what is wrong, or what the value must be
	Hint      string   // a suggestion such as "did you mean …"
	AboutKey  bool     // the key itself is wrong, not its value
	HideValue bool     // the value may contain a secret

	missing bool   // the key is missing
	want    string // the JSON type that the value must have, if it has another
}

// Error makes a problem the error of a check that depends on the machine, such as reading a secret.
// Config.Locate adds the position.
func (p Problem) Error() string { return strings.Join(p.Path, ".") + ": " + p.Text }

// Channels are the settings of all channels, by name. An account with a name is NETWORK.NAME.
type Channels map[string]ChannelSettings

// Protocols are the settings of the protocols that have a section, by name. Each Terminal has its
// own.
type Protocols map[string]Settings

// Format prints only the names. For some verbs fmt would print the values behind the pointers
// without calling the methods of Secret.
func (c Channels) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(c))) }

// Format prints only the names, for the same reason as Channels.Format.
func (p Protocols) Format(f fmt.State, _ rune) { fmt.Fprint(f, slices.Sorted(maps.Keys(p))) }

// SettingsOf returns the settings of an agent for a protocol, or the defaults if it has none.
func SettingsOf[S Settings](t Terminal, protocol string, defaults func() S) S {
	if s, ok := t.Protocols[protocol].(S); ok {
		return s
	}
	return defaults()
}

// Default returns the defaults of all keys. Paths are relative until Load makes them absolute.
func (e Extensions) Default() Config {
	c := Default()
	c.extensions = e
	if len(e.Protocols) > 0 {
		c.Terminal.Protocol = e.Protocols[0].Name
	}
	c.Channels, c.Terminal.Protocols = Channels{}, e.protocolSettings()
	for _, ch := range e.Channels {
		c.addChannel([]string{"channels", ch.Name}, ch.New())
	}
	return c
}

// protocolSettings returns the default settings of all protocols.
func (e Extensions) protocolSettings() Protocols {
	all := Protocols{}
	for _, pr := range e.Protocols {
		if pr.New != nil {
			all[pr.Name] = pr.New()
		}
	}
	return all
}

// protocol returns the protocol with this name, or a zero Protocol.
func (e Extensions) protocol(name string) Protocol {
	for _, pr := range e.Protocols {
		if pr.Name == name {
			return pr
		}
	}
	return Protocol{}
}

// protocolNames returns the names of the protocols for which f returns true.
func (e Extensions) protocolNames(f func(Protocol) bool) []any {
	var names []any
	for _, pr := range e.Protocols {
		if f(pr) {
			names = append(names, pr.Name)
		}
	}
	return names
}

// protocolScope returns the settings of an agent's protocol and their position. The settings are
// nil if the protocol has no section.
func (c *Config) protocolScope(t *Terminal, path []string) (Scope, Settings) {
	name := cmp.Or(c.extensions.protocol(t.Protocol).Section, t.Protocol)
	path = joinPath(path, name)
	return Scope{Terminal: t, path: path, section: c.extensions.rootNode().formatPath(path)}, t.Protocols[name]
}

// SetProtocol changes the protocol of the agent in Terminal. A default command and a default
// timeout of the old protocol are replaced by those of the new one.
func (c *Config) SetProtocol(name string) {
	t := &c.Terminal
	former := *t
	former.Command = ""
	c.extensions.setDefaultCommand(&former)
	if t.Command == former.Command {
		t.Command = ""
	}
	if t.Timeout == c.extensions.defaultTimeout(t.Protocol) {
		t.Timeout = c.extensions.defaultTimeout(name)
	}
	t.Protocol = name
	c.extensions.setDefaultCommand(t)
}

// defaultTimeout returns the default of terminal.timeout with a protocol, which is its name, or nil
// for the default protocol.
func (e Extensions) defaultTimeout(protocol any) int {
	name, _ := protocol.(string)
	return cmp.Or(e.protocol(name).DefaultTimeout, Default().Terminal.Timeout)
}

// setDefaultCommand sets the protocol's default command if the agent has no command.
func (e Extensions) setDefaultCommand(t *Terminal) {
	if f := e.protocol(t.Protocol).DefaultCommand; f != nil && t.Command == "" {
		t.Command = f(*t)
	}
}

// below returns the problems of a section with paths from the root.
func below(section []string, problems []Problem) []Problem {
	for i := range problems {
		p := &problems[i]
		if p.Path = joinPath(section, p.Path...); p.Cause != nil {
			p.Cause = joinPath(section, p.Cause...)
		}
	}
	return problems
}
