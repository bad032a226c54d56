package acp

import (
	"slices"
	"strings"
	"time"

	"nanobot/config"
	"nanobot/internal/procfs"
	"nanobot/terminal"
	"nanobot/terminal/acp/access"
	"nanobot/terminal/warm"
)

// Name is the protocol's name in the configuration.
const Name = "acp"

// Settings is the section acp of an agent.
type Settings struct {
	Permissions string `json:"permissions" jsonschema:"enum=ask,enum=allow-reads,enum=allow,enum=deny" jsonschema_description:"What happens when the agent needs permission; allow-reads asks about all but reading."`
	// Rules override Permissions. AskTimeout is at most the hour that the gateway waits for
	// answers.
	Rules      map[string]string `json:"rules" jsonschema_description:"Exceptions by kind of tool (read, edit, delete, move, search, execute, think, fetch, switch_mode, other): ask, allow or deny."`
	AskTimeout int               `json:"askTimeout" unit:"seconds" jsonschema:"minimum=1,maximum=3600" jsonschema_description:"Seconds that a person has to answer; silence counts as a refusal."`
	Idle       int               `json:"idle" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds after which an idle agent is ended. The next message resumes it."`
	KeptMemory int               `json:"keptMemory" unit:"MiB" jsonschema:"minimum=0,maximum=16777216" jsonschema_description:"MiB of memory for idle agents; beyond it, the one idle longest is ended. gateway.maxConcurrent may always stay. 0: a quarter of the machine's or container's memory."`
	MaxKept    int               `json:"maxKept" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"How many idle agents may stay; 0: no limit."`
	Files      bool              `json:"files" jsonschema_description:"Lets the agent read and write files through nanobot. Not with terminal.user."`
	Terminals  bool              `json:"terminals" jsonschema_description:"Lets the agent run commands through nanobot."`
	// TerminalTimeout is in seconds, TerminalMemory in MiB.
	TerminalTimeout int    `json:"terminalTimeout" unit:"seconds" jsonschema:"minimum=0,maximum=315360000" jsonschema_description:"Seconds that such a command may run; 0: no limit."`
	TerminalMemory  int    `json:"terminalMemory" unit:"MiB" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"MiB of address space of such a command; 0: no limit."`
	AuthMethod      string `json:"authMethod" jsonschema_description:"ID of the agent's sign-in method, if it asks for one."`
}

var _ config.Settings = (*Settings)(nil)

// Describe describes the protocol.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "the Agent Client Protocol", Persistent: true, SupportsMCP: true, SupportsProtect: true,
			SupportsInject: true, DefaultTimeout: 3600,
			New:                func() config.Settings { return NewSettings() },
			SectionDescription: "For protocol acp.",
		},
		NeedsConsent: "it usually has a paid model behind it",
		Open:         func(o terminal.OpenOptions) terminal.Protocol { return New(o) },
		SignIn:       newSignIn,
		// The gateway handles this command itself once a session is open, so the trial costs no
		// tokens.
		TrialText: func(config.Terminal) string { return "/model" }, AssessTrial: assessTrial,
	}
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{
		Permissions: "ask", Rules: map[string]string{}, AskTimeout: 300, Idle: 900,
		Files: true, Terminals: true, TerminalTimeout: 3600,
	}
}

// SettingsOf returns the settings of an agent, or the defaults if it has none.
func SettingsOf(t config.Terminal) *Settings { return config.SettingsOf(t, Name, NewSettings) }

// Check reports rules with an unknown kind or decision.
func (s *Settings) Check(config.Scope) []config.Problem {
	var all []config.Problem
	for kind, rule := range s.Rules {
		path := []string{"rules", kind}
		if !slices.Contains(access.Kinds, kind) {
			all = append(all, config.Problem{Path: path, Text: "must be one of the tool kinds " +
				strings.Join(access.Kinds, ", "), AboutKey: true})
		}
		if !slices.Contains([]string{"ask", "allow", "deny"}, rule) {
			all = append(all, config.Problem{Path: path, Text: "must be ask, allow or deny"})
		}
	}
	return all
}

// Warnings reports nothing.
func (s *Settings) Warnings(config.Scope) []string { return nil }

// unmeasuredKept is how many agents are kept where the memory of agents cannot be measured.
const unmeasuredKept = 16

// room returns how many agents are kept between turns.
func (s *Settings) room(o terminal.OpenOptions) warm.Room {
	r := warm.Room{
		MaxProcesses: s.MaxKept, MaxMemory: int64(s.KeptMemory) << 20, MinProcesses: o.MaxConcurrent,
		Keys: map[warm.Limit]string{warm.CountLimit: "acp.maxKept", warm.MemoryLimit: "acp.keptMemory"},
	}
	if r.MaxMemory == 0 {
		r.MaxMemory = procfs.UsableMemory() / 4 / int64(max(o.Agents, 1))
	}
	if r.MaxMemory == 0 && r.MaxProcesses == 0 {
		r.MaxProcesses = max(unmeasuredKept, o.MaxConcurrent)
	}
	return r
}

// askTimeout is the time that a person has to answer.
func (s *Settings) askTimeout() time.Duration { return time.Duration(s.AskTimeout) * time.Second }

// access returns what the agent may do.
func (s *Settings) access() access.Policy {
	return access.Policy{
		Permissions: s.Permissions, Rules: s.Rules, AskTimeout: s.askTimeout(), Files: s.Files, Terminals: s.Terminals,
		TerminalTimeout: time.Duration(s.TerminalTimeout) * time.Second, TerminalMemory: int64(s.TerminalMemory) << 20,
	}
}
