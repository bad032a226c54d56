package blocks

import (
	"fmt"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// Name is the protocol's name in the configuration.
const Name = "blocks"

// The values of Settings.Agent.
const (
	commandAgent = "command"
	personAgent  = "person"
)

// The values of Settings.Approve.
const (
	approveRun   = "run"
	approveAll   = "all"
	approveNever = "never"
)

// Settings is the section blocks of an agent.
type Settings struct {
	Agent       string `json:"agent" jsonschema:"enum=command,enum=person" jsonschema_description:"Who answers: terminal.command, once in each round, or a person who gets the prompt as a file."`
	Approve     string `json:"approve" jsonschema:"enum=run,enum=all,enum=never" jsonschema_description:"What needs approval: commands and deletions, also other changes of files (all), or nothing. Protected files always need it; with never their change is refused."`
	Timeout     int    `json:"timeout" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds that a RUN_COMMAND may take."`
	OutputLimit int    `json:"outputLimit" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"How many characters of a command's output the model gets."`
	MaxRounds   int    `json:"maxRounds" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"How many rounds one task may have."`
}

var _ config.Settings = (*Settings)(nil)

// Describe describes the protocol.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "a model's command blocks",
			New:                func() config.Settings { return NewSettings() },
			SectionDescription: "For protocol blocks.",
			DefaultCommand:     defaultCommand,
			SupportsProtect:    true,
		},
		NeedsConsent: "it usually has a paid model behind it",
		Open:         func(o terminal.OpenOptions) terminal.Protocol { return New(o.Config) },
		TrialText:    trialText, AssessTrial: assessTrial,
		Parser: parser(),
	}
}

// defaultCommand returns a placeholder if a person is the agent, since no command is run then.
func defaultCommand(t config.Terminal) string {
	if SettingsOf(t).Agent == personAgent {
		return "true # the person brings the answers"
	}
	return ""
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{Agent: commandAgent, Approve: approveRun, Timeout: 30, OutputLimit: 4000, MaxRounds: 30}
}

// SettingsOf returns the settings of an agent, or the defaults if it has none.
func SettingsOf(t config.Terminal) *Settings { return config.SettingsOf(t, Name, NewSettings) }

func (s *Settings) timeout() time.Duration { return time.Duration(s.Timeout) * time.Second }

// Check finds nothing: every value that fits the schema is valid.
func (s *Settings) Check(config.Scope) []config.Problem { return nil }

// Warnings reports an agent that runs every command without approval and sandbox.
func (s *Settings) Warnings(at config.Scope) []string {
	if s.Approve == approveNever && at.Terminal != nil && at.Terminal.Sandbox == "none" {
		return []string{at.Key("approve") + ` is "never" and ` + at.SiblingKey("sandbox") +
			` is "none": the model runs any command with the rights of the bot, and nobody is asked`}
	}
	return nil
}

// trialText returns a task that changes nothing, or /diff if a person is the agent, so that nobody
// has to answer.
func trialText(t config.Terminal) string {
	if SettingsOf(t).Agent == personAgent {
		return "/" + diffCommand
	}
	return "This is a check by the operator. Answer with a DONE block whose text is the word ready, and with nothing else."
}

// assessTrial passes if the session has ended without an error.
func assessTrial(t *terminal.Trial) terminal.Finding {
	return t.AssessFrames(fmt.Sprintf("ended its task in %s", t.Took.Round(time.Millisecond)))
}
