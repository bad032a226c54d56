// Package audit writes down who started what: one JSON object a line, in a file that is rotated by
// size. It knows nothing of agents. What people have said is written only where that was asked for.
package audit

import (
	"time"

	"nanobot/channels"
)

// What a record can be about.
const (
	TurnStart = "turn.start" // an agent is about to be started
	TurnEnd   = "turn.end"
	Answer    = "answer"   // somebody answered an agent's question, which may be a permission
	Decided   = "decision" // something was decided in a turn, by whomever; Title says what, how and by whom
	Command   = "command"
	Denied    = "denied"
	Pairing   = "pairing"
	Tool      = "tool" // an agent used a tool of its chat; Decision says whether it succeeded
	Lost      = "lost" // records that could not be written; Count says how many
)

// What can be decided.
const (
	Allowed = "allowed"
	Refused = "denied"
	Coded   = "code" // denied, and given a pairing code
	Limited = "rate" // denied, because it was too much in a minute
	// Unentitled is denied, because only approvers may answer the question.
	Unentitled = "approver"
	Paired     = "paired"
	Revoked    = "revoked"
	Failed     = "failed"
)

// Record is one line. What is empty is left out.
type Record struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Decision string    `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"` // who decided, when it was not the User
	Channel  string    `json:"channel,omitempty"`
	Chat     string    `json:"chat,omitempty"`
	User     User      `json:"user,omitzero"`
	Message  string    `json:"message,omitempty"` // its id
	// Text is what was said. It is left out unless Options.Text asks for it.
	Text string `json:"text,omitempty"`

	Run     int64  `json:"run,omitempty"`
	Agent   string `json:"agent,omitempty"` // that runs the turn
	Attempt int    `json:"attempt,omitempty"`
	Command string `json:"command,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Question is what was answered. Whoever answered is the User, and what they chose the Text.
	Question string `json:"question,omitempty"`
	// Title is what was decided.
	Title string `json:"title,omitempty"`

	Launch
	// End is how a turn has ended.
	End *End `json:"end,omitempty"`

	// In and Out are the sizes of what was said and of what the agent said.
	In  Size `json:"in,omitzero"`
	Out Size `json:"out,omitzero"`

	Count int `json:"count,omitempty"` // of lost records
}

// Func takes records, from many goroutines. It must not block for long. A nil Func takes none.
type Func func(Record)

// Record records something that a message led to, if records are kept.
func (f Func) Record(in channels.Incoming, r Record) {
	if f == nil {
		return
	}
	r.Channel, r.Chat, r.Message = in.Chat.Channel, in.Chat.ID, in.ID
	r.User = User{ID: in.User.ID, Name: in.User.Name, Username: in.User.Username}
	f(r)
}

// User is a person.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
}

// Launch is how an agent is started.
type Launch struct {
	Argv []string `json:"argv,omitempty"` // as configured: {message} is not replaced
	Cwd  string   `json:"cwd,omitempty"`
	Env  []string `json:"env,omitempty"` // names only
}

// End is how a turn has ended.
type End struct {
	Status string `json:"status"`
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	Error  bool   `json:"error,omitempty"` // the agent could not be run; the log says why
	Millis int64  `json:"ms"`
}

// Size is how much was said.
type Size struct {
	Bytes int `json:"bytes"`
	Media int `json:"media,omitempty"`
}
