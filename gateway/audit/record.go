// Package audit writes down who started what: one JSON object a line, in a file that is rotated by
// size. It knows nothing of agents. What people have said is written only where that was asked for.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"nanobot/channels"
)

// The events of records.
const (
	TurnStart = "turn.start" // an agent is about to be started
	TurnEnd   = "turn.end"
	Answer    = "answer"   // somebody answered an agent's question, which may be a permission
	Decided   = "decision" // something was decided in a turn, by whomever; Title says what, how and by whom
	Command   = "command"
	Denied    = "denied"
	Pairing   = "pairing"
	Tool      = "tool"   // an agent used a tool of its chat; Decision says whether it succeeded
	Sent      = "send"   // a message that nobody has typed is sent to a chat; User is its origin
	Launched  = "launch" // describes how agents are started; records after it in its file name it by its digest
	Lost      = "lost"   // records that could not be written; Count says how many
)

// The decisions of records.
const (
	Allowed = "allowed"
	Refused = "denied"
	Coded   = "code"  // denied, and given a pairing code
	Limited = "rate"  // denied, because it was too much in a minute
	Quota   = "quota" // denied, because it was too much in a day
	// Unentitled is denied, because only approvers may answer the question.
	Unentitled = "approver"
	Role       = "role" // denied, because the role of the person does not include it
	Paired     = "paired"
	Revoked    = "revoked"
	Failed     = "failed"
)

// Record is one line of the log. Empty fields are omitted.
type Record struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Decision string    `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"` // who decided, when it was not the User
	Channel  string    `json:"channel,omitempty"`
	Chat     string    `json:"chat,omitempty"`
	User     User      `json:"user,omitzero"`
	Message  string    `json:"message,omitempty"` // its ID
	// Text is the text of the message. It is omitted unless Options.Text is set.
	Text string `json:"text,omitempty"`

	Run     int64  `json:"run,omitempty"`
	Agent   string `json:"agent,omitempty"` // that runs the turn
	Attempt int    `json:"attempt,omitempty"`
	Command string `json:"command,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Question is the ID of the answered question. User is the person who answered.
	Question string `json:"question,omitempty"`
	// Title describes the decision.
	Title string `json:"title,omitempty"`

	Launch
	// End is the outcome of a turn.
	End *End `json:"end,omitempty"`

	// In and Out are the sizes of the message and of the agent's output.
	In  Size `json:"in,omitzero"`
	Out Size `json:"out,omitzero"`

	Count int `json:"count,omitempty"` // of lost records
}

// Func writes records, from many goroutines. It must not block for long. A nil Func writes none.
type Func func(Record)

// Record records an event that a message caused, if there is an audit log.
func (f Func) Record(in channels.Incoming, r Record) {
	if f == nil {
		return
	}
	r.Channel, r.Chat, r.Message = in.Chat.Channel, in.Chat.ID, in.ID
	r.User = User{ID: in.User.ID, Name: in.User.Name, Username: in.User.Username}
	f(r)
}

// User is the person in a record.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
}

// Launch describes how an agent is started. In a file, a record of its own describes each, and the
// records of turns have only the digest.
type Launch struct {
	Digest string   `json:"launch,omitempty"`
	Argv   []string `json:"argv,omitempty"` // as configured: {message} is not replaced
	Cwd    string   `json:"cwd,omitempty"`
	Env    []string `json:"env,omitempty"` // names only
}

// NewLaunch returns a launch with its digest.
func NewLaunch(argv []string, cwd string, env []string) Launch {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", argv, cwd, env))
	return Launch{Digest: hex.EncodeToString(sum[:6]), Argv: argv, Cwd: cwd, Env: env}
}

// End is the outcome of a turn.
type End struct {
	Status string `json:"status"`
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	Error  bool   `json:"error,omitempty"` // the agent could not be run; the log says why
	Millis int64  `json:"ms"`
}

// Size is the size of a message.
type Size struct {
	Bytes int `json:"bytes"`
	Media int `json:"media,omitempty"`
}
