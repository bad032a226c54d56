// Package press is the data of buttons: a constructor and a parser for every kind. Buttons of
// earlier versions stay in chats, so that their data never changes. It knows nothing of what a
// press does.
package press

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// MaxData is the longest data of a button, in bytes; see channels.Button.
const MaxData = 64

// The kinds of button data, each before a colon. The data of any other button is a command as a
// person would write it.
const (
	answer  = "answer"
	choice  = "say"
	stop    = "stop"
	cancel  = "cancel"
	again   = "again"
	rerun   = "rerun"
	resend  = "resend"
	details = "details"
	agent   = "agent"
	typed   = "do"
)

// Answer is the data of an option of a question; options are numbered from 1.
func Answer(question string, option int) string {
	return fmt.Sprintf("%s:%s:%d", answer, question, option)
}

// Decided is the data with which the message that has decided a question is stored. No button has
// it.
func Decided(question string) string { return answer + ":" + question }

// Answered is a pressed option of a question. Option is 0 for the data of Decided.
type Answered struct {
	Question string
	Option   int
}

// ParseAnswer parses the data of Answer and Decided. It reports false for other buttons.
func ParseAnswer(data string) (Answered, bool) {
	rest, ok := cutKind(data, answer)
	if !ok {
		return Answered{}, false
	}
	id, number, _ := strings.Cut(rest, ":")
	option, _ := strconv.Atoi(number)
	return Answered{id, option}, true
}

// Offer is a message of an agent with texts that a person can say by a button.
type Offer struct {
	Inbound  int64 // the inbound message that the agent answers
	Sequence int   // the number of the agent's message in its turn
	Text     string
	Labels   []string
}

// Say returns the data of the buttons of an offer. Another attempt at the same message makes the
// same data.
func (o Offer) Say() []string {
	sum := sha256.Sum256([]byte(o.Text + "\x00" + strings.Join(o.Labels, "\x00")))
	all := make([]string, len(o.Labels))
	for i := range o.Labels {
		all[i] = fmt.Sprintf("%s:%d:%d:%s:%d", choice, o.Inbound, o.Sequence, hex.EncodeToString(sum[:6]), i+1)
	}
	return all
}

// Said is a pressed button of an offer.
type Said struct {
	Inbound int64
	Offer   string // names the offer; all its buttons have the same
}

// ParseSay parses the data of a button of an offer. It reports false for other buttons.
func ParseSay(data string) (Said, bool) {
	rest, ok := cutKind(data, choice)
	if !ok {
		return Said{}, false
	}
	inbound, _, _ := strings.Cut(rest, ":")
	return Said{Inbound: Inbound(inbound), Offer: data[:strings.LastIndexByte(data, ':')]}, true
}

// cutKind returns the data after its kind.
func cutKind(data, kind string) (string, bool) { return strings.CutPrefix(data, kind+":") }

// Stop is the data of the button that stops the turn of an inbound message.
func Stop(inbound int64) string { return aboutInbound(stop, inbound) }

// Cancel is the data of the button that drops a waiting inbound message.
func Cancel(inbound int64) string { return aboutInbound(cancel, inbound) }

// Again is the data of the button that runs an interrupted inbound message again.
func Again(inbound int64) string { return aboutInbound(again, inbound) }

// Resend is the data of the button that sends a failed delivery again.
func Resend(delivery int64) string { return aboutInbound(resend, delivery) }

// IsResend reports whether data is that of Resend.
func IsResend(data string) bool {
	_, ok := cutKind(data, resend)
	return ok
}

// Details is the data of the button that shows the details of the turn of an inbound message.
func Details(inbound int64) string { return aboutInbound(details, inbound) }

func aboutInbound(kind string, id int64) string { return fmt.Sprintf("%s:%d", kind, id) }

// Rerun is the data of the button that runs the new text of an edited message, by the network's ID;
// "" if the ID is too long.
func Rerun(message string) string { return short(rerun + ":" + message) }

// Agent is the data of the button that chooses an agent for the chat.
func Agent(name string) string { return agent + ":" + name }

// Type is the data of a button that stands for a typed command, with the slash; "" if the command
// is too long for a button.
func Type(command string) string { return short(command) }

// Do is the data of a button that stands for a text which begins with a slash: a press is carried
// out as if the person had typed the text. It is "" if the text is too long for a button.
func Do(text string) string { return short(typed + ":" + text) }

// ParseDo returns the text of the data of Do. It reports false for other buttons.
func ParseDo(data string) (text string, ok bool) { return cutKind(data, typed) }

func short(data string) string {
	if len(data) > MaxData {
		return ""
	}
	return data
}

// ParseCommand splits the data of a button into a command, with the slash, and its arguments. The
// commands of the kinds above have their names.
func ParseCommand(data string) (command, args string) {
	command, args, _ = strings.Cut(strings.TrimSpace(data), " ")
	if kind, rest, found := strings.Cut(command, ":"); found {
		command, args = "/"+kind, rest
	}
	return command, strings.TrimSpace(args)
}

// Inbound returns the inbound message that the arguments of a pressed command name; 0: none.
func Inbound(args string) int64 {
	id, _ := strconv.ParseInt(args, 10, 64)
	return id
}

// RunQuestion names a question about a run of a runbook.
type RunQuestion struct {
	Run    string
	Step   int
	Number int // of the question, among those of the run
}

// runQuestion is the first part of the ID of a question about a run.
const runQuestion = "run"

// ID returns the ID of the question.
func (q RunQuestion) ID() string {
	return fmt.Sprintf("%s.%s.%d.%d", runQuestion, q.Run, q.Step, q.Number)
}

// IsRunQuestion reports whether a question is about a run, by its ID.
func IsRunQuestion(id string) bool { return strings.HasPrefix(id, runQuestion+".") }

// ParseRunQuestion parses the ID of a question. It reports false for one that is not about a run.
func ParseRunQuestion(id string) (RunQuestion, bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 4 || parts[0] != runQuestion {
		return RunQuestion{}, false
	}
	step, err := strconv.Atoi(parts[2])
	number, _ := strconv.Atoi(parts[3])
	return RunQuestion{parts[1], step, number}, err == nil
}
