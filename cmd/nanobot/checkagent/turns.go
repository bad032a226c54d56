package checkagent

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
)

// input is what an agent gets on stdin.
type input int

const (
	wholeInput  input = iota // as in any turn
	lateInput                // the message comes half a second after the start
	openInput                // stdin stays open until the agent has had time to answer
	closedInput              // stdin is empty
	noInput                  // the message does not come before the agent is stopped
)

// turnSpec is one turn of the check.
type turnSpec struct {
	id    string
	only  func(s *subject) bool // the agents that it is for; nil: all
	text  string
	input input
	// next says that the turn comes after the one above it, and beside that it runs at the same
	// time as that.
	next, beside bool
	ready        *sync.WaitGroup // the turns beside each other whose agents are not ready for lateInput
	chat         string          // ""; its own
	alter        func(e *terminal.Envelope, folder string) error
	alterLine    func(line []byte) []byte
	stopWorking  bool // stop the agent when it prints something
	unanswered   bool // nobody answers questions
	inject       bool // a second message follows
}

// The texts and names by which cases find what has become of them.
const (
	emojiText  = "check 🙂 👩‍👩‍👧 漢字 end"
	rightText  = "check שלום مرحبا end"
	injectText = "One more thing"
	firstMark  = "mark-apple"
	secondMark = "mark-pear"
)

func readsInput(s *subject) bool    { return s.reads }
func readsEnvelope(s *subject) bool { return s.envelope }
func readsFiles(s *subject) bool    { return s.files }
func printsLines(s *subject) bool   { return s.lines }
func acceptsHuge(s *subject) bool   { return s.reads || !s.lines } // no command can have it

// allTurns are the turns in their order. The first runs alone, and so do the next two.
var allTurns = []turnSpec{
	{id: "hello", text: "Hello", input: lateInput, chat: "first"},
	{id: "pair-first", text: firstMark, input: lateInput},
	{id: "pair-second", text: secondMark, input: lateInput, beside: true},
	{id: "again", text: "And again", chat: "first"},
	{id: "attempt", text: "Hello", chat: "first", next: true, alter: func(e *terminal.Envelope, _ string) error {
		e.Attempt, e.MessageID, e.RunID = 2, "hello", "run-hello"
		return nil
	}},
	{id: "stop-waiting", only: readsInput, text: "Hello", input: noInput},
	{id: "open", only: readsEnvelope, text: "Hello", input: openInput},
	{id: "stop-working", only: printsLines, text: "Hello", stopWorking: true},
	{id: "closed", only: readsInput, text: "Hello", input: closedInput},
	{id: "empty", text: ""},
	{id: "blank", only: printsLines, text: " \n\t "},
	{id: "huge", only: acceptsHuge, text: strings.Repeat("All work and no play. ", 7000)},
	{id: "emoji", text: emojiText},
	{id: "right", text: rightText},
	// An even number of UTF-16 units ends in the middle of a character.
	{id: "units", only: printsLines, text: "x" + strings.Repeat("🙂", 5000)},
	{id: "hostile", text: "--help $(touch {evaluated}) `touch {evaluated}` # '\" %s \\n {}", alter: nameEvaluated},
	{id: "files", only: readsFiles, text: "Ten files", alter: tenFiles},
	{id: "missing", only: readsFiles, text: "A file", alter: func(e *terminal.Envelope, folder string) error {
		e.Media, e.MediaNames = []string{filepath.Join(folder, "gone.png")}, []string{"gone.png"}
		return nil
	}},
	{id: "fields", only: readsEnvelope, text: "Every field", alter: everyField},
	{id: "new-field", only: readsEnvelope, text: "A field that is new", alterLine: func(line []byte) []byte {
		return append(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("}")), `,"new_field":{"list":[1,null]}}`+"\n"...)
	}},
	{id: "no-user", only: readsEnvelope, text: "From a schedule", alter: func(e *terminal.Envelope, _ string) error {
		e.User, e.MessageID, e.Origin = nil, "", "schedule:check"
		return nil
	}},
	{id: "unanswered", only: func(s *subject) bool { return s.asks }, text: "Hello", unanswered: true},
	{id: "inject", only: func(s *subject) bool { return s.injects }, text: "Hello", inject: true},
}

// turns returns the turns for the agent.
func (s *subject) turns() (turns []turnSpec) {
	for _, t := range allTurns {
		if t.only == nil || t.only(s) {
			turns = append(turns, t)
		}
	}
	return turns
}

// channel is the name of the channel in envelopes.
const channel = "check"

// request makes the message of a turn.
func (c *check) request(spec turnSpec) (terminal.Request, error) {
	e := terminal.Envelope{
		Text: spec.text, Channel: channel, ChatID: spec.chat, MessageID: spec.id, RunID: "run-" + spec.id, Attempt: 1,
		User: &c.operator, Origin: terminal.Person,
	}
	if e.ChatID == "" {
		e.ChatID = spec.id
	}
	req := terminal.Request{RunName: rand.Text()}
	if spec.alter != nil {
		folder, err := terminal.UserDir(c.cfg.Workspace, e.Channel, e.ChatID)
		if err == nil {
			err = spec.alter(&e, folder)
		}
		if err != nil {
			return req, err
		}
	}
	req.Envelope = e
	return req, nil
}

// evaluatedName is the file that an agent creates if it evaluates the text.
const evaluatedName = "evaluated"

func nameEvaluated(e *terminal.Envelope, folder string) error {
	e.Text = strings.ReplaceAll(e.Text, "{evaluated}", filepath.Join(folder, evaluatedName))
	return nil
}

func tenFiles(e *terminal.Envelope, folder string) error {
	for i := range 10 {
		name := fmt.Sprintf("file %d ü.txt", i+1)
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("content\n"), 0o600); err != nil {
			return fmt.Errorf("write a file of the user: %w", err)
		}
		e.Media, e.MediaNames = append(e.Media, path), append(e.MediaNames, name)
	}
	return nil
}

func everyField(e *terminal.Envelope, _ string) error {
	e.ThreadID, e.Group, e.ConversationID = "7", true, "2"
	from := &terminal.User{ID: "8", Name: "Grüße", Language: "de-AT"}
	source := &terminal.SourceChat{ID: "9", Title: "Other"}
	e.ReplyTo = &terminal.Quote{ID: "10", Text: "earlier", User: from, Chat: source}
	e.Forwarded = &terminal.Forwarded{From: from, Chat: source, Date: "2026-01-02T03:04:05Z", Comment: "Every"}
	e.Heard = []terminal.Heard{{File: "voice.ogg", Name: "voice.ogg", Text: "field"}}
	e.History = []terminal.HistoryEntry{{Role: "user", Text: "hi", Time: time.Unix(0, 0)}, {Role: "agent", Text: "hello"}}
	return nil
}

// injections returns the channel of later messages; nil: there are none.
func (t turnSpec) injections(r *record) <-chan terminal.Injection {
	if !t.inject {
		return nil
	}
	messages := make(chan terminal.Injection)
	r.goroutines.Go(func() {
		select {
		case messages <- terminal.Injection{Text: injectText}:
			r.injected = true
		case <-r.done:
		}
	})
	return messages
}
