// Package chatrun executes runs of runbooks in chats. A message starts or resumes a run; its turn
// executes steps until a person has to decide, and then ends. The question stays open, other
// messages get their turns meanwhile, and the answer is the next message of the run. The run has
// the complete state, so a turn can be interrupted anywhere. The package does not check who may
// decide.
package chatrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/gateway/waiters"
	"nanobot/internal/words"
)

// Questions is the store of the questions to people, and of the messages that answer them.
type Questions interface {
	Question(ctx context.Context, id string) (store.Question, bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
	Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
}

// Outbox sends questions to people.
type Outbox interface {
	Ask(ctx context.Context, q store.Question, m channels.Message) error
	// CloseQuestion closes a question without an answer and shows how it ended.
	CloseQuestion(ctx context.Context, q store.Question, how string) (bool, error)
	// ShowState shows the state of an open question in its message.
	ShowState(ctx context.Context, q store.Question, state string) error
}

// Options configures the execution of runs.
type Options struct {
	Runs      runbook.Runs
	Folder    func() runbook.Folder // the folder of runbooks in the current settings
	Questions Questions
	Outbox    Outbox
	Words     *words.Catalogue // nil: without the operator's settings
	Log       *zap.Logger
}

// Runbooks are the runbooks and runs of all chats. Its methods are safe for concurrent use.
type Runbooks struct {
	o         Options
	decisions waiters.Waiters[struct{}] // by the ID of the run
	askMu     sync.Mutex                // held while a question is asked for an agent
}

// New returns the runbooks of all chats.
func New(o Options) *Runbooks { return &Runbooks{o: o} }

// Available reports whether there is a folder of runbooks.
func (rb *Runbooks) Available() bool {
	info, err := os.Stat(string(rb.o.Folder()))
	return err == nil && info.IsDir()
}

// driver is the state of an execution that is stored with its run.
type driver struct {
	// Inbound is the message that started the run; 0 if an agent executes it.
	Inbound int64 `json:"inbound,omitempty"`
	// Language is the language of the person who started the run, a BCP 47 tag; "": unknown. The
	// texts of the run are in it.
	Language string `json:"language,omitempty"`
	// Asked counts the questions of the run; Question is the newest, until its answer has changed
	// the run.
	Asked    int    `json:"asked,omitempty"`
	Question string `json:"question,omitempty"`
	// Failure is why the current step was not proved, in English for the agent, and FailureShown
	// the same for people. Retry means that a person has asked for another try.
	Failure      string `json:"failure,omitempty"`
	FailureShown string `json:"failure_shown,omitempty"`
	Retry        bool   `json:"retry,omitempty"`
	// Finished means that the agent was given the last step, which needs no proof. Reported means
	// that the chat was told the end of the run, in the attempt of a message that Reporter names.
	Finished bool   `json:"finished,omitempty"`
	Reported bool   `json:"reported,omitempty"`
	Reporter string `json:"reporter,omitempty"`
}

func driverOf(r runbook.Run) (d driver) {
	_ = json.Unmarshal(r.Driver, &d) // no other package writes it
	return d
}

func (d driver) encode() json.RawMessage {
	text, _ := json.Marshal(d) // strings and numbers cannot fail
	return text
}

// runWords returns the words for the texts of a run.
func (rb *Runbooks) runWords(r runbook.Run) words.Words { return rb.o.Words.For(driverOf(r).Language) }

// IsExecuted reports whether the gateway executes a run, rather than an agent.
func IsExecuted(r runbook.Run) bool { return driverOf(r).Inbound != 0 }

// updateDriver changes the driver state of a run.
func (rb *Runbooks) updateDriver(ctx context.Context, id string,
	change func(r runbook.Run, d *driver) error,
) (runbook.Run, error) {
	return rb.o.Runs.Apply(ctx, id, changeDriver(change))
}

// changeDriver returns the transition that changes the driver state of a run.
func changeDriver(change func(r runbook.Run, d *driver) error) func(runbook.Run, runbook.Env) (runbook.Run, error) {
	return func(r runbook.Run, _ runbook.Env) (runbook.Run, error) {
		d := driverOf(r)
		if err := change(r, &d); err != nil {
			return r, err
		}
		r.Driver = d.encode()
		return r, nil
	}
}

// listRuns returns the runs of a chat that the gateway executes, newest first.
func (rb *Runbooks) listRuns(ctx context.Context, chat channels.Chat) ([]runbook.Run, error) {
	runs, err := rb.o.Runs.List(ctx, chat.String())
	switch {
	case runs == nil:
		return nil, fmt.Errorf("list runs: %w", err)
	case err != nil:
		rb.o.Log.Error("runs not listed", zap.Stringer("chat", chat), zap.Error(err))
	}
	runs = slices.DeleteFunc(runs, func(r runbook.Run) bool { return !IsExecuted(r) })
	slices.Reverse(runs)
	return runs, nil
}

// findNewest returns the newest run of a chat that matches.
func (rb *Runbooks) findNewest(ctx context.Context, chat channels.Chat, so func(runbook.Run) bool) (
	runbook.Run, bool, error,
) {
	runs, err := rb.listRuns(ctx, chat)
	at := slices.IndexFunc(runs, so)
	if err != nil || at < 0 {
		return runbook.Run{}, false, err
	}
	return runs[at], true, nil
}

// findResumable returns the newest run of a chat, or the run with this ID, that waits or whose end
// was not reported because of a crash.
func (rb *Runbooks) findResumable(ctx context.Context, chat channels.Chat, id string) (runbook.Run, bool, error) {
	return rb.findNewest(ctx, chat, func(r runbook.Run) bool {
		return (r.Status == runbook.Waiting || !driverOf(r).Reported) && (id == "" || r.ID == id)
	})
}
