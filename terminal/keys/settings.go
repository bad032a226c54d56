package keys

import (
	"cmp"
	"fmt"
	"time"

	"mvdan.cc/sh/v3/shell"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/screen/picture"
)

// Name and ScreenName are the protocols' names in the configuration. Both use the section keys.
const (
	Name       = "keys"
	ScreenName = "screen"
)

// The values of Settings.Agent.
const (
	lineAgent = "line"
	turnAgent = "turn"
)

// Settings is the section keys of an agent.
type Settings struct {
	Agent    string `json:"agent" jsonschema:"enum=line,enum=turn" jsonschema_description:"One process for each message, which answers steps with JSON lines, or one for each step, which answers a prompt."`
	Format   string `json:"format" jsonschema:"enum=auto,enum=json,enum=xml" jsonschema_description:"Format of the agent's responses; xml needs agent to be turn."`
	Cols     int    `json:"cols,omitempty" jsonschema:"minimum=20,maximum=500" jsonschema_description:"Columns of the terminal. Default: 160 with protocol keys, 80 with screen."`
	Rows     int    `json:"rows,omitempty" jsonschema:"minimum=5,maximum=200" jsonschema_description:"Rows. cols times rows is at most 80000. Default: 40 with protocol keys, 24 with screen."`
	MaxSteps int    `json:"maxSteps" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"How many responses one message may have."`
	Shell    string `json:"shell" jsonschema_description:"The terminal's shell with its arguments, such as bash --norc."`
	Idle     int    `json:"idle" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds without a message after which a terminal is closed, or handed back to the agent."`
	MaxKept  int    `json:"maxKept" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"How many terminals may stay open between messages; the one idle longest is closed first."`
}

var (
	_ config.Settings    = (*Settings)(nil)
	_ config.ProgramUser = (*Settings)(nil)
)

// Describe describes the protocol whose agent types into a terminal.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "keystrokes of an agent",
			New:                func() config.Settings { return NewSettings() },
			SectionDescription: "For the protocols keys and screen.",
		},
		NeedsConsent: "it usually has a paid model behind it",
		Open:         func(o terminal.OpenOptions) terminal.Protocol { return New(o.Config) },
		AssessTrial:  assessTrial,
		TrialText:    func(config.Terminal) string { return "Print the word ready in the terminal, and nothing else." },
		Parser:       Parser(),
	}
}

// DescribeScreen describes the protocol with a person at the keyboard and no agent.
func DescribeScreen() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: ScreenName, Description: "a terminal for people", Persistent: true, Section: Name,
			DefaultCommand: func(t config.Terminal) string { return SettingsOf(t).shellCommand() },
		},
		NeedsConsent: "the program gets what is typed",
		Open:         func(o terminal.OpenOptions) terminal.Protocol { return NewScreen(o.Config) },
		AssessTrial:  assessTrial, TrialText: func(config.Terminal) string { return "/screen" },
	}
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{
		Agent: lineAgent, Format: string(Auto), MaxSteps: 100,
		Shell: "/bin/bash", Idle: 900, MaxKept: 16,
	}
}

// SettingsOf returns the settings of an agent, or the defaults if it has none.
func SettingsOf(t config.Terminal) *Settings { return config.SettingsOf(t, Name, NewSettings) }

// The sizes of terminals without a setting: an agent reads more than a person with a phone.
var (
	agentSize  = process.Size{Columns: 160, Rows: 40}
	personSize = process.Size{Columns: 80, Rows: 24}
)

// size returns the size of terminals. What is not set is that of otherwise.
func (s *Settings) size(otherwise process.Size) process.Size {
	return process.Size{
		Columns: cmp.Or(uint16(s.Cols), otherwise.Columns), Rows: cmp.Or(uint16(s.Rows), otherwise.Rows),
	}
}

func (s *Settings) idle() time.Duration { return time.Duration(s.Idle) * time.Second }

// Check reports settings that cannot work.
func (s *Settings) Check(config.Scope) []config.Problem {
	var all []config.Problem
	if s.Agent == lineAgent && s.Format == string(XML) {
		all = append(all, config.Problem{
			Path: []string{"format"}, Cause: []string{"agent"},
			Text: `must be "json" or "auto" where agent is "line": an XML response has more than one line; for XML set agent to "turn"`,
		})
	}
	if s.Cols*s.Rows > picture.MaxCells {
		all = append(all, config.Problem{
			Path: []string{"rows"}, Cause: []string{"cols"},
			Text: fmt.Sprintf("must be at most %d where cols is %d: /screen draws terminals of up to %d characters",
				picture.MaxCells/s.Cols, s.Cols, picture.MaxCells),
		})
	}
	if s.shellArgs() == nil {
		all = append(all, config.Problem{
			Path: []string{"shell"},
			Text: `must be a program, with arguments if it needs some, such as "bash --norc"`,
		})
	}
	return all
}

// Warnings returns none.
func (*Settings) Warnings(config.Scope) []string { return nil }

// Programs returns the shell without its arguments, unless the protocol screen runs another
// command.
func (s *Settings) Programs(t config.Terminal) map[string]string {
	if t.Protocol == ScreenName && t.Command != s.shellCommand() {
		return nil
	}
	return map[string]string{"shell": s.shellArgs()[0]}
}

// shellCommand returns the command line that runs the shell.
func (s *Settings) shellCommand() string { return "exec " + s.Shell }

// shellArgs returns the shell and its arguments, which are split as a shell splits them; nil: there
// is no program.
func (s *Settings) shellArgs() []string {
	words, err := shell.Fields(s.Shell, nil)
	if err != nil || len(words) == 0 || words[0] == "" {
		return nil
	}
	return words
}
