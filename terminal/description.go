package terminal

import (
	"encoding/json"
	"strings"
	"time"

	"nanobot/config"
)

// Description is everything that the program knows of a protocol: its name and section in the
// configuration, its features, and how an agent is tested. Each protocol's package has one; only
// the wiring of the program lists them.
type Description struct {
	config.Protocol
	// Open returns the protocol for an agent.
	Open func(OpenOptions) Protocol
	// SignIn returns what `nanobot login` asks an agent for its sign-in methods; nil: the agents of
	// this protocol have none.
	SignIn func(config.Terminal) SignIn
	// TrialText returns the message with which `nanobot doctor` tests an agent; nil: a message that
	// asks for a single word.
	TrialText func(config.Terminal) string
	// AssessTrial assesses the trial of an agent that has exited by itself with status 0.
	AssessTrial func(*Trial) Finding
	// Parser parses agent output for `nanobot parse`; the zero value: not possible without a
	// running agent.
	Parser Parser
	// Schema returns the JSON Schema of the lines that an agent reads and prints, for `nanobot
	// schema`; nil: they are not JSON.
	Schema func() ([]byte, error)
	// NeedsConsent says why `nanobot check-agent` runs no turns of such an agent without the
	// operator's consent; "": it may.
	NeedsConsent string
}

// OpenOptions says for which agent a protocol is opened, and beside what.
type OpenOptions struct {
	Config config.Terminal
	// MaxConcurrent is how many turns run at the same time, and Agents how many agents have the
	// same protocol, with this one; 0: one.
	MaxConcurrent, Agents int
}

// SignIn is a protocol whose turn only asks an agent how people sign in to its service.
type SignIn interface {
	Protocol
	// Methods returns what the agent has said in its last turn.
	Methods() []SignInMethod
	// SignOut makes the next turn sign the agent out instead of asking it.
	SignOut()
}

// SignInMethod is a way to sign in that needs a person: either a command or variables.
type SignInMethod struct {
	ID, Name, Description string
	// Command is a command for the agent's shell, which needs a terminal, with the additional
	// environment Env; "": the person sets Variables.
	Command   string
	Env       []string
	Variables []string
}

// Parser parses agent output without running anything.
type Parser struct {
	// Object shows the form of Parse's result, for the help of the command.
	Object string
	// Formats are the output formats of agents, the default first; nil: there is only one.
	Formats []string
	// Parse returns the parsed output as an object for JSON, and false if the output has a mistake,
	// which the object describes. format is one of Formats, or "" if there are none.
	Parse func(output, format string) (object any, ok bool)
}

// Trial is a turn that `nanobot doctor` has run to test an agent.
type Trial struct {
	Output  []byte // the beginning of what the agent has printed
	Frames  []Frame
	Outcome Outcome
	Took    time.Duration
	ByHand  string // how the operator can try the agent, for Finding.Fix
	// Facts are those of Inspector, and Tools says whether the agent has connected to the gateway's
	// MCP tools; nil: it was offered none.
	Facts Facts
	Tools *bool
}

// Facts are what an agent has said about itself, or what is known of it.
type Facts struct {
	Agent string // its name and version
	Node  string // the versions of Node that it needs, and the one that it gets; "": unknown, or none
	// WithoutTools says why an agent like this may not have connected to the gateway's tools, and
	// what to do; "": nothing is known.
	WithoutTools string
}

// Inspector is a protocol that knows facts about the agent of the last turn, for `nanobot doctor`.
type Inspector interface {
	Inspect(ExecEnv) Facts
}

// Verdict is the result of a trial.
type Verdict int

// The verdicts.
const (
	Good     Verdict = iota
	Doubtful         // it works, but probably not as intended
	Bad              // it cannot work
)

// Finding is a verdict with its explanation.
type Finding struct {
	Verdict Verdict
	Detail  string
	Fix     string // what to do about it; "" when there is nothing to do
}

// StderrSuffix returns the last line of stderr, which usually names the error, after a colon; "" if
// there is none.
func (t *Trial) StderrSuffix() string {
	lines := strings.Split(strings.TrimSpace(t.Outcome.Stderr), "\n")
	last := []rune(Clean(strings.TrimSpace(lines[len(lines)-1])))
	if len(last) == 0 {
		return ""
	}
	return ": " + string(last[:min(len(last), 300)])
}

// AssessFrames returns what the first error frame says, or that the trial has passed if there is
// none.
func (t *Trial) AssessFrames(passed string) Finding {
	for _, f := range t.Frames {
		if f.Kind == Error {
			return Finding{Verdict: Bad, Detail: f.Text + t.StderrSuffix(), Fix: t.ByHand}
		}
	}
	return Finding{Detail: passed}
}

// FrameTypes are the types of frames that an agent may print.
func FrameTypes() []string {
	return []string{"message", "delta", "progress", "error", "log", "ask", "usage"}
}

// CountFrames counts the lines of output that are frames, by type, and the other lines.
func (t *Trial) CountFrames() (frames map[string]int, plain int) {
	frames = map[string]int{}
	for line := range strings.Lines(string(t.Output)) {
		line = strings.TrimSpace(line)
		var f struct {
			Type *string `json:"type"`
		}
		switch err := json.Unmarshal([]byte(line), &f); {
		case line == "":
		case err == nil && f.Type != nil:
			frames[*f.Type]++
		default:
			plain++
		}
	}
	return frames, plain
}
