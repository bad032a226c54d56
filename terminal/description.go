package terminal

import (
	"time"

	"nanobot/config"
)

// Description is all that the program knows of a protocol: its name and section in the
// configuration, what it can do, and how an agent that speaks it is tried. Each protocol's package
// has one; the list of them in the wiring of the program is the only place that names the
// protocols.
type Description struct {
	config.Protocol
	// Open makes the protocol for an agent.
	Open func(config.Terminal) Protocol
	// TrialText returns the message with which `nanobot doctor` tries an agent; nil: one that asks
	// for a single word.
	TrialText func(config.Terminal) string
	// AssessTrial says what the trial of an agent that has ended by itself with status 0 shows.
	AssessTrial func(*Trial) Finding
	// Parser reads the output of agents for `nanobot parse`; the zero value: that is not possible
	// without a running agent.
	Parser Parser
}

// Parser reads what an agent has printed without running anything.
type Parser struct {
	// Object shows what Parse returns, for the command's help.
	Object string
	// Formats are the names of the formats in which agents may write, the default first; nil: there
	// is only one.
	Formats []string
	// Parse returns what is in the output as an object for JSON, and false if the output is wrong
	// in a way that the object tells. The format is one of Formats, or "" if there are none.
	Parse func(output, format string) (object any, ok bool)
}

// Trial is one turn that `nanobot doctor` has run to see whether the agent works.
type Trial struct {
	Output  []byte // the beginning of what the agent has printed
	Frames  []Frame
	Outcome Outcome
	Took    time.Duration
	ByHand  string // how the operator can try the agent, for Finding.Fix
}

// Verdict is what a trial says of an agent.
type Verdict int

// The verdicts.
const (
	Good     Verdict = iota
	Doubtful         // it works, and yet it is probably not as it is meant
	Bad              // it cannot work
)

// Finding is the result of a trial.
type Finding struct {
	Verdict Verdict
	Detail  string
	Fix     string // what to do about it; "" when there is nothing to do
}
