// Package checkagent runs an agent in many ways and says which rules of docs/protocol.md it breaks.
// It changes nothing outside of a temporary workspace, and makes no runner or protocol itself: its
// options provide them.
package checkagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// How long a turn of the check may take, if the agent's own timeout is not shorter.
const (
	DefaultLimit = 20 * time.Second
	ModelLimit   = 2 * time.Minute // of an agent that is likely to have a model behind it
)

// Options say which agent to check, and provide the functions of the program's wiring.
type Options struct {
	Config   *config.Config // with the agent in its terminal section
	Protocol terminal.Description
	// NewRunner makes a runner for the agent of a config, with the protocol that wrap returns for
	// the configured one.
	NewRunner func(cfg *config.Config, wrap func(terminal.Protocol) terminal.Protocol) (*terminal.Runner, error)
	Yes       bool          // the operator consents to the turns
	Limit     time.Duration // of a turn; 0 is DefaultLimit or ModelLimit
	JSON      bool
	JUnit     string // file for a report in the format of JUnit; "": none
	Out, Err  io.Writer
	Operator  channels.User // who runs the check, and writes the messages
}

// Run checks the agent and prints the findings. The error is an exit.Error if the exit status of
// the program is not 0.
func Run(ctx context.Context, o Options) error {
	s, err := newSubject(o)
	if err != nil {
		return err
	}
	turns := s.turns()
	if o.Protocol.NeedsConsent != "" && !o.Yes {
		return exit.Usagef("check-agent would run %d turns of an agent that speaks %s: %s. Add --yes if that is right",
			len(turns), o.Protocol.Name, o.Protocol.NeedsConsent)
	}
	junit, err := createReport(o.JUnit)
	if err != nil {
		return err
	}
	defer junit.Close()
	progress := o.Out
	if o.JSON {
		progress = o.Err
	}
	seconds := 2 + len(turns)/6
	if !s.lines { // a model may answer
		seconds = 3 * len(turns)
	}
	r, err := s.run(ctx, o, turns, func() { fmt.Fprintf(progress, "%d turns, about %d s\n", len(turns), seconds) })
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.Error{Status: exit.Interrupted}
	}
	rep := r.report()
	if junit != nil {
		if err := rep.writeJUnit(junit, o.Protocol.Name); err != nil {
			return fmt.Errorf("write %s: %w", o.JUnit, err)
		}
	}
	if o.JSON {
		err = rep.printJSON(o.Out)
	} else {
		err = rep.print(o.Out)
	}
	if err == nil && rep.Failed > 0 {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

// createReport creates the file of a report before any turn runs; nil: none is wanted.
func createReport(path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, exit.Usagef("--junit: %w", err)
	}
	return file, nil
}

// subject is the agent as far as the choice of turns and cases depends on it.
type subject struct {
	cfg      *config.Config // a copy
	protocol terminal.Description
	lines    bool // it is started for each message and prints lines
	reads    bool // it gets the message on stdin, and nowhere else
	envelope bool // as an envelope
	files    bool // it is told of files
	asks     bool // it may ask questions
	injects  bool // it gets later messages
	warm     bool // it is started before its message
}

func newSubject(o Options) (*subject, error) {
	cfg := *o.Config
	t := &cfg.Terminal
	if !t.On() {
		return nil, exit.Usagef("check-agent: the agent %s is off, or has no command", cfg.AgentName())
	}
	s := &subject{cfg: &cfg, protocol: o.Protocol, warm: cfg.CanWarm()}
	s.lines = runsLines(o.Protocol.Name)
	s.reads = s.lines && t.Stdin != "none" && !strings.Contains(t.Command, "{message}")
	s.envelope = s.reads && t.Stdin == "envelope"
	s.files = t.PassMedia && (s.envelope || !s.lines)
	s.asks = t.Interactive && o.Protocol.SupportsQuestions
	s.injects = cfg.Gateway.WhileRunning == "inject" && cfg.SupportsInject() && s.lines
	// Processes that wait for a message, and commands for files, are not the agent's conformance.
	t.Warm.Chats, t.Warm.Spare, t.Hear, t.Speak.Command = 0, 0, nil, ""
	return s, nil
}

// run runs the turns in a temporary workspace. Before the first, it calls begin.
func (s *subject) run(ctx context.Context, o Options, turns []turnSpec, begin func()) (*results, error) {
	folder, err := os.MkdirTemp("", "nanobot-check-")
	if err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	own := s.moveTo(folder)
	limit := o.Limit
	switch {
	case limit == 0 && s.lines:
		limit = DefaultLimit
	case limit == 0:
		limit = ModelLimit
	}
	if own := time.Duration(s.cfg.Terminal.Timeout) * time.Second; own < limit {
		limit = own
	}
	runner, err := o.NewRunner(s.cfg, func(p terminal.Protocol) terminal.Protocol { return recordingProtocol{p} })
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	r := &results{subject: s, records: map[string]*record{}}
	c := &check{runner: runner, results: r, operator: terminal.User(o.Operator), limit: limit}
	begin()
	before := listEntries(own)
	if c.runAll(ctx, turns); ctx.Err() != nil {
		return r, nil
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != "users" {
			r.written = append(r.written, e.Name())
		}
	}
	for name, changed := range listEntries(own) {
		if at, known := before[name]; !known || !at.Equal(changed) {
			r.written = append(r.written, name)
		}
	}
	slices.Sort(r.written)
	_, missing := os.Lstat(filepath.Join(folder, "users", "hostile", evaluatedName))
	r.evaluated = missing == nil
	return r, err
}

// listEntries returns the names in a folder, with the times of the last changes of its files.
// Hidden ones are those of other programs, and __pycache__ is Python's.
func listEntries(folder string) map[string]time.Time {
	all := map[string]time.Time{}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil, strings.HasPrefix(e.Name(), "."), e.Name() == "__pycache__":
		case info.Mode().IsRegular():
			all[e.Name()] = info.ModTime()
		default:
			all[e.Name()] = time.Time{}
		}
	}
	return all
}

// moveTo makes a folder the workspace of the agent, which still runs where it is configured to. It
// returns the configured workspace if the agent runs there; "": it does not.
func (s *subject) moveTo(folder string) (own string) {
	t := &s.cfg.Terminal
	if len(t.MediaRoots) == 0 {
		t.MediaRoots = []string{s.cfg.Workspace, folder, os.TempDir(), "/tmp"}
	}
	if t.Cwd == "" {
		own = s.cfg.Workspace
		t.Cwd = own
	}
	s.cfg.Workspace = folder
	return own
}

// check runs turns.
type check struct {
	*results
	runner   *terminal.Runner
	operator terminal.User
	limit    time.Duration // of a turn
	open     time.Duration // how long the stdin of openInput stays open
	mu       sync.Mutex    // protects records
}

// openTime is how long an agent whose stdin stays open gets to answer, at least.
const openTime = 3 * time.Second

// runAll runs the first turn alone, because it says how long the others may take, and then two
// beside each other, because they say whether others can run like that.
func (c *check) runAll(ctx context.Context, turns []turnSpec) {
	first := c.runTurn(ctx, turns[0])
	if first.outcome.Status == terminal.TimedOut {
		c.limit, c.open = min(c.limit, 2*time.Second), openTime/2
	} else {
		c.limit, c.open = min(c.limit, max(10*time.Second, 10*first.took)), max(openTime, 10*first.worked())
	}
	if ctx.Err() != nil {
		return
	}
	parallel := 4
	if c.lines {
		parallel = 2 * max(2, runtime.NumCPU())
	}
	c.runChain(ctx, turns[1:3])
	if c.assessPair().verdict == failed {
		parallel = 1
	}
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for rest := turns[3:]; len(rest) > 0 && ctx.Err() == nil; {
		n := 1
		for n < len(rest) && (rest[n].next || rest[n].beside) {
			n++
		}
		chain := rest[:n]
		rest = rest[n:]
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			c.runChain(ctx, chain)
		})
	}
	group.Wait()
}

// runChain runs turns one after the other, or side by side.
func (c *check) runChain(ctx context.Context, chain []turnSpec) {
	var group, ready sync.WaitGroup
	for i, spec := range chain {
		if i+1 < len(chain) && chain[i+1].beside {
			ready.Add(2)
			spec.ready = &ready
			group.Go(func() { c.runTurn(ctx, spec) })
			continue
		}
		if spec.beside {
			spec.ready = &ready
		}
		c.runTurn(ctx, spec)
	}
	group.Wait()
}

// runTurn runs one turn and records it.
func (c *check) runTurn(parent context.Context, spec turnSpec) *record {
	if !c.lines {
		spec.input = wholeInput
	}
	if spec.ready == nil {
		spec.ready = &sync.WaitGroup{}
		spec.ready.Add(1)
	}
	r := &record{
		spec: spec, began: time.Now(), done: make(chan struct{}), arrive: sync.OnceFunc(spec.ready.Done),
		open: c.open, writes: -1, idleWrites: -1,
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, recordKey{}, r))
	defer cancel(nil)
	r.stop = sync.OnceFunc(func() {
		r.stoppedAt = time.Now()
		cancel(context.Canceled)
	})
	limit := c.limit
	if spec.input == openInput {
		limit = c.open + 5*time.Second
	}
	defer process.NewStopwatch(limit, func() { cancel(terminal.ErrTimeout) }).Stop()
	req, err := c.request(spec)
	if err == nil {
		r.outcome, err = c.runner.Turn(ctx, req, &chat{record: r, answers: !spec.unanswered, injections: spec.injections(r)})
	}
	close(r.done)
	r.arrive()
	r.goroutines.Wait()
	r.took = time.Since(r.began)
	if r.err = err; errors.Is(parent.Err(), context.Canceled) {
		return r
	}
	if r.agent != nil {
		r.exit = r.agent.Child.Wait()
	}
	r.redact(c.runner.Redact)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[spec.id] = r
	return r
}
