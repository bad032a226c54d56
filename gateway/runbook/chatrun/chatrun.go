// Package chatrun executes runs of runbooks in chats. A message begins or resumes a run; its turn
// executes steps until a person has to decide, and then ends: the question stays open, other
// messages get their turns meanwhile, and the answer is the next message of the run. All state is
// in the run, so that a turn can be cut off anywhere. Who may decide is checked by others.
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
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
)

// Questions are those that were put to people.
type Questions interface {
	Question(ctx context.Context, id string) (store.Question, bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
	Withdraw(ctx context.Context, id string) (bool, error)
	// Known reports whether a message was received.
	Known(ctx context.Context, chat channels.Chat, id string) (bool, error)
}

// Outbox puts questions to people.
type Outbox interface {
	Ask(ctx context.Context, q outbox.Question) error
	ShowOutcome(q store.Question, how string)
	// KeepsButtons reports whether the buttons of a question stay when one is pressed.
	KeepsButtons(chat channels.Chat) bool
}

// Options is what runs are executed with.
type Options struct {
	Runs      runbook.Runs
	Folder    func() runbook.Folder // of the runbooks, by the present settings
	Questions Questions
	Outbox    Outbox
	Log       *zap.Logger
}

// Runbooks are the runbooks and runs of all chats. Its methods may be called from many goroutines.
type Runbooks struct {
	o       Options
	changes changes
	asking  sync.Mutex // held while a question is put for an agent
}

// New returns the runbooks of all chats.
func New(o Options) *Runbooks { return &Runbooks{o: o} }

// Available reports whether there is a folder of runbooks.
func (b *Runbooks) Available() bool {
	info, err := os.Stat(string(b.o.Folder()))
	return err == nil && info.IsDir()
}

// driver is what is stored with a run about its execution.
type driver struct {
	// Inbound is the message that began the run; 0: an agent executes the run.
	Inbound int64 `json:"inbound,omitempty"`
	// Asked counts the questions of the run, and Question is the newest.
	Asked    int    `json:"asked,omitempty"`
	Question string `json:"question,omitempty"`
	// Decided is a question that a person has decided and with which no turn has gone on yet, and
	// Message the id of their message.
	Decided string `json:"decided,omitempty"`
	Message string `json:"message,omitempty"`
	// Failure is why the present step was not proved, and Retry that a person wants another try.
	Failure string `json:"failure,omitempty"`
	Retry   bool   `json:"retry,omitempty"`
	// Finished says that the agent was given the last step, which asks for no proof, and Reported
	// that the chat was told the end of the run, in the attempt at a message that Reporter names.
	Finished bool   `json:"finished,omitempty"`
	Reported bool   `json:"reported,omitempty"`
	Reporter string `json:"reporter,omitempty"`
}

func driverOf(r runbook.Run) (d driver) {
	_ = json.Unmarshal(r.Driver, &d) // no other driver writes there
	return d
}

func (d driver) encode() json.RawMessage {
	text, _ := json.Marshal(d) // it has only strings and numbers
	return text
}

// IsExecuted reports whether the gateway executes a run, and not an agent.
func IsExecuted(r runbook.Run) bool { return driverOf(r).Inbound != 0 }

// update changes what is stored with a run.
func (b *Runbooks) update(ctx context.Context, id string, change func(r runbook.Run, d *driver) error) (runbook.Run, error) {
	return b.o.Runs.Apply(ctx, id, changeDriver(change))
}

// changeDriver is the transition that changes what is stored with a run.
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
	// chatPrefix leads the keys under which the newest runs of a chat are listed.
	chatPrefix = "runbook/chat/"
	// mostListed is how many runs of a chat are listed, if not more of them wait.
	mostListed = 20
)

// list returns the newest runs of a chat that the gateway executes, the newest first.
func (b *Runbooks) list(ctx context.Context, chat channels.Chat) ([]runbook.Run, error) {
	ids, err := b.o.Runs.Records.LoadRecord(ctx, chatPrefix+chat.String())
	if err != nil {
		return nil, err
	}
	var runs []runbook.Run
	for _, id := range strings.Fields(ids) {
		r, err := b.o.Runs.Load(ctx, id)
		switch {
		case errors.Is(err, runbook.ErrNoRun): // a crash came before its begin
		case errors.Is(err, runbook.ErrDamaged):
			b.o.Log.Error("run not listed", zap.String("runbook_run", id), zap.Error(err))
		case err != nil:
			return nil, fmt.Errorf("load run %s: %w", id, err)
		default:
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// addListed lists a run that is about to begin.
func (b *Runbooks) addListed(ctx context.Context, chat channels.Chat, id string) error {
	key := chatPrefix + chat.String()
	for {
		old, err := b.o.Runs.Records.LoadRecord(ctx, key)
		if err != nil {
			return err
		}
		ids := append([]string{id}, strings.Fields(old)...)
		if ids, err = b.dropEnded(ctx, ids); err != nil {
			return err
		}
		swapped, err := b.o.Runs.Records.SwapRecord(ctx, key, old, strings.Join(ids, " "))
		if err != nil || swapped {
			return err
		}
	}
}

// dropEnded shortens a list of runs by the oldest ones that have ended, so that all that wait can
// be found.
func (b *Runbooks) dropEnded(ctx context.Context, ids []string) ([]string, error) {
	for i := len(ids) - 1; i > 0 && len(ids) > mostListed; i-- {
		r, err := b.o.Runs.Load(ctx, ids[i])
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

// newest returns the newest run of a chat of which something is so.
func (b *Runbooks) newest(ctx context.Context, chat channels.Chat, so func(runbook.Run) bool) (runbook.Run, bool, error) {
	runs, err := b.list(ctx, chat)
	at := slices.IndexFunc(runs, so)
	if err != nil || at < 0 {
		return runbook.Run{}, false, err
	}
	return runs[at], true, nil
}

// resumable returns the newest run of a chat that waits, or whose end the chat was not told because
// of a crash; or the one with an ID if that is so.
func (b *Runbooks) resumable(ctx context.Context, chat channels.Chat, id string) (runbook.Run, bool, error) {
	return b.newest(ctx, chat, func(r runbook.Run) bool {
		return (r.Status == runbook.Waiting || !driverOf(r).Reported) && (id == "" || r.ID == id)
	})
}

// changes tells those who wait for a run that a person has decided something.
type changes struct {
	mu    sync.Mutex
	waits map[string]*waiters
}

// waiters are those who wait for the next decision about a run.
type waiters struct {
	decided chan struct{}
	count   int
}

// next returns a channel that is closed at the next decision about a run. leave is called by who
// waits for it no more.
func (c *changes) next(run string) (decided <-chan struct{}, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == nil {
		c.waits = map[string]*waiters{}
	}
	w := c.waits[run]
	if w == nil {
		w = &waiters{decided: make(chan struct{})}
		c.waits[run] = w
	}
	w.count++
	return w.decided, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.count--; w.count == 0 && c.waits[run] == w {
			delete(c.waits, run)
		}
	}
}

// notify reports whether anybody was waiting for the decision.
func (c *changes) notify(run string) (waited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, waited := c.waits[run]
	if waited {
		close(w.decided)
		delete(c.waits, run)
	}
	return waited
}
