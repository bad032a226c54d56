// Package chatrun executes runs of runbooks in chats. A message starts or resumes a run; its turn
// executes steps until a person has to decide, and then ends. The question stays open, other
// messages get their turns meanwhile, and the answer is the next message of the run. The run has
// the complete state, so a turn can be interrupted anywhere. The package does not check who may
// decide.
package chatrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/gateway/waiters"
	"nanobot/internal/words"
)

// Questions is the store of the questions to people.
type Questions interface {
	Question(ctx context.Context, id string) (store.Question, bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
}

// Outbox sends questions to people.
type Outbox interface {
	Ask(ctx context.Context, q store.Question, m channels.Message) error
	// CloseQuestion closes a question without an answer and shows how it ended.
	CloseQuestion(ctx context.Context, q store.Question, how string) (bool, error)
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

const (
	// chatPrefix is the prefix of the keys that list the newest runs of a chat.
	chatPrefix = "runbook/chat/"
	// maxListed limits the runs of a chat in its list, unless more of them wait.
	maxListed = 20
)

// listRuns returns the runs in the chat's list that the gateway executes, newest first.
func (rb *Runbooks) listRuns(ctx context.Context, chat channels.Chat) ([]runbook.Run, error) {
	ids, err := rb.o.Runs.Records.LoadRecord(ctx, chatPrefix+chat.String())
	if err != nil {
		return nil, err
	}
	var runs []runbook.Run
	for _, id := range strings.Fields(ids) {
		r, err := rb.o.Runs.Load(ctx, id)
		switch {
		case errors.Is(err, runbook.ErrNoRun): // a crash came before the run was stored
		case errors.Is(err, runbook.ErrDamaged):
			rb.o.Log.Error("run not listed", zap.String("runbook_run", id), zap.Error(err))
		case err != nil:
			return nil, fmt.Errorf("load run %s: %w", id, err)
		default:
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// addToList adds a run that is about to start.
func (rb *Runbooks) addToList(ctx context.Context, chat channels.Chat, id string) error {
	key := chatPrefix + chat.String()
	for {
		old, err := rb.o.Runs.Records.LoadRecord(ctx, key)
		if err != nil {
			return err
		}
		ids := append([]string{id}, strings.Fields(old)...)
		if ids, err = rb.dropEnded(ctx, ids); err != nil {
			return err
		}
		swapped, err := rb.o.Runs.Records.SwapRecord(ctx, key, old, strings.Join(ids, " "))
		if err != nil || swapped {
			return err
		}
	}
}

// dropEnded removes the oldest ended runs from a list that is too long, so that all waiting runs
// can be found.
func (rb *Runbooks) dropEnded(ctx context.Context, ids []string) ([]string, error) {
	for i := len(ids) - 1; i > 0 && len(ids) > maxListed; i-- {
		r, err := rb.o.Runs.Load(ctx, ids[i])
		switch {
		case err == nil && r.Status == runbook.Waiting:
			continue
		case err != nil && !errors.Is(err, runbook.ErrNoRun) && !errors.Is(err, runbook.ErrDamaged):
			return nil, err
		}
		ids = slices.Delete(ids, i, i+1)
	}
	return ids, nil
}

// findNewest returns the newest run of a chat that matches.
func (rb *Runbooks) findNewest(ctx context.Context, chat channels.Chat, so func(runbook.Run) bool) (runbook.Run, bool,
	error,
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
