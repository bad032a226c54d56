package checkagent

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"nanobot/internal/procfs"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// maxRecorded is how much output of a turn is kept, in bytes.
const maxRecorded = 1 << 20

// record is what has happened in a turn. Its fields are read when the turn has ended.
type record struct {
	spec       turnSpec
	open       time.Duration // how long openInput lasts
	stop       func()        // ends the turn with SIGTERM
	done       chan struct{} // closed when the turn has ended
	goroutines sync.WaitGroup
	arrive     func() // says that the agent is ready for lateInput, or has ended

	began, stoppedAt time.Time
	took             time.Duration
	outcome          terminal.Outcome
	err              error // the gateway could not do its part
	agent            *terminal.Agent
	exit             process.Exit

	mu          sync.Mutex
	output      bytes.Buffer // its beginning
	longest     int          // the longest line, in bytes
	line        int          // the length of the last line so far
	inputAt     time.Time    // when lateInput was written; zero: the agent had ended
	outputAt    time.Time    // when output came first
	lastAt      time.Time    // when output came last
	closedInput bool         // openInput was closed, because the agent did not end
	exited      bool         // the rest is known, because the end of the agent was seen
	writes      int          // write calls of the agent after inputAt; -1: unknown
	idleWrites  int          // those before; -1: unknown
	left        []string     // the commands of processes that it has left behind

	frames    []terminal.Frame
	mistakes  []terminal.Frame
	questions int
	injected  bool // the protocol has taken the second message
}

// addOutput records output.
func (r *record) addOutput(b []byte) {
	if len(b) == 0 {
		return
	}
	if r.spec.stopWorking {
		r.stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastAt = time.Now()
	if r.outputAt.IsZero() {
		r.outputAt = r.lastAt
	}
	_, _ = r.output.Write(b[:min(len(b), maxRecorded-r.output.Len())])
	for part := range bytes.Lines(b) {
		r.line += len(part)
		r.longest = max(r.longest, r.line)
		if part[len(part)-1] == '\n' {
			r.line = 0
		}
	}
}

// redact hides secrets in what the agent has printed.
func (r *record) redact(hide func(string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	output := hide(r.output.String())
	r.output.Reset()
	_, _ = r.output.WriteString(output)
	r.outcome.Stderr = hide(r.outcome.Stderr)
	for _, f := range r.mistakes {
		f.Mistake.Line = hide(f.Mistake.Line)
	}
	for _, frames := range [][]terminal.Frame{r.frames, r.mistakes} {
		for i := range frames {
			frames[i].Text = hide(frames[i].Text)
		}
	}
	for i := range r.left {
		r.left[i] = hide(r.left[i])
	}
}

const (
	// exitTime is how long an agent may take to exit after the end of its output, to be examined.
	exitTime = 2 * time.Second
	// childTime is how long the children of an agent may outlive it.
	childTime = 300 * time.Millisecond
)

// examineExit records what is known of an agent between its exit and its reaping. It is called at
// the end of the output.
func (r *record) examineExit() {
	stat, _ := procfs.ReadStat(r.agent.Pid())
	for began := time.Now(); !stat.Dead() && time.Since(began) < exitTime; {
		time.Sleep(5 * time.Millisecond) // the kernel does not report this without reaping
		stat, _ = procfs.ReadStat(r.agent.Pid())
	}
	if !stat.Dead() {
		return
	}
	left := r.agent.Descendants()
	for began := time.Now(); len(left) > 0 && time.Since(began) < childTime; {
		time.Sleep(10 * time.Millisecond)
		left = r.agent.Descendants()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exited = true; r.idleWrites >= 0 { // a wrapper such as pyenv's writes before
		r.writes = max(-1, writeCalls(r.agent.Pid())-r.idleWrites)
	}
	for _, p := range left {
		r.left = append(r.left, strings.Join(procfs.Args(p.Pid), " "))
	}
}

// writeCalls returns how often a process and the children that it has waited for have called
// write; -1: unknown.
func writeCalls(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "syscw:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(n)); err == nil {
				return n
			}
		}
	}
	return -1
}

// lateTime is how long lateInput comes after the start of the agent. If the agent is busy then, it
// comes up to busyTime later. Agents that run at the same time get theirs at the same moment.
const lateTime, busyTime = 500 * time.Millisecond, 3 * time.Second

// feed gives a started agent the input that the turn is about.
func (r *record) feed(agent *terminal.Agent, first []byte, keepOpen bool, ended <-chan struct{}) {
	wait := func(d time.Duration) (elapsed bool) {
		over, stop := process.After(d)
		defer stop()
		select {
		case <-over:
			return true
		case <-ended:
		case <-r.done:
		}
		return false
	}
	waitIdle := func() (elapsed bool) {
		elapsed = wait(lateTime)
		for began := time.Now(); elapsed && time.Since(began) < busyTime; {
			if stat, ok := procfs.ReadStat(agent.Pid()); !ok || stat.State == 'S' {
				break
			}
			elapsed = wait(lateTime / 10)
		}
		return elapsed
	}
	switch r.spec.input {
	case lateInput:
		idle := waitIdle()
		r.arrive()
		if idle {
			r.spec.ready.Wait()
			r.mu.Lock()
			r.inputAt, r.idleWrites = time.Now(), writeCalls(agent.Pid())
			r.mu.Unlock()
			_, _ = agent.Write(first) // an agent that has ended is no error
		}
		if !keepOpen {
			agent.CloseInput()
		}
	case openInput:
		if wait(r.open) {
			r.mu.Lock()
			r.closedInput = true
			r.mu.Unlock()
		}
		agent.CloseInput()
	case noInput:
		if waitIdle() {
			r.stop()
		}
	case wholeInput, closedInput:
	}
}

// recordKey is the key of the record of a turn in its context.
type recordKey struct{}

// recordingProtocol is a protocol that records its turns.
type recordingProtocol struct{ terminal.Protocol }

// Turn runs the turn of the protocol.
func (p recordingProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	r := ctx.Value(recordKey{}).(*record)
	t.Host = recordingHost{t.Host, r}
	return p.Protocol.Turn(ctx, t)
}

// Pool returns the pool of the protocol's persistent agents, or nil.
func (p recordingProtocol) Pool() terminal.ProcessPool {
	if persistent, ok := p.Protocol.(terminal.PersistentProtocol); ok {
		return persistent.Pool()
	}
	return nil
}

type recordingHost struct {
	terminal.Host
	record *record
}

// Launch starts the command with the input that the turn is about, and records its output.
func (h recordingHost) Launch(ctx context.Context, in terminal.Input) (*terminal.Agent, error) {
	r := h.record
	if r.spec.alterLine != nil {
		in.First = r.spec.alterLine(in.First)
	}
	first, keepOpen := in.First, in.KeepOpen
	switch r.spec.input {
	case lateInput, noInput:
		in.First, in.KeepOpen = nil, true
	case openInput:
		in.KeepOpen = true
	case closedInput:
		in.First, in.KeepOpen = nil, false
	case wholeInput:
	}
	agent, err := h.Host.Launch(ctx, in)
	if err != nil {
		return nil, err
	}
	r.agent = agent
	ended := make(chan struct{})
	r.goroutines.Go(func() { r.feed(agent, first, keepOpen, ended) })
	agent.Stdout = &outputWatch{Reader: agent.Stdout, record: r, atEnd: sync.OnceFunc(func() {
		close(ended)
		if r.spec.input == lateInput { // the others would show the same
			r.examineExit()
		}
	})}
	return agent, nil
}

// outputWatch records what is read from an agent.
type outputWatch struct {
	io.Reader
	record *record
	atEnd  func()
}

// Read reads output.
func (w *outputWatch) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.record.addOutput(b[:n])
	if err != nil {
		w.atEnd()
	}
	return n, err
}

// chat is the chat of a turn. Its person answers every question with the first option.
type chat struct {
	terminal.NoChat
	record     *record
	answers    bool
	injections <-chan terminal.Injection
}

// Emit records a frame.
func (c *chat) Emit(f terminal.Frame) error {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	switch {
	case f.Mistake != nil:
		c.record.mistakes = append(c.record.mistakes, f)
	case f.Kind != terminal.Log && f.Kind != terminal.Partial:
		c.record.frames = append(c.record.frames, f)
	}
	return nil
}

// Ask answers a question.
func (c *chat) Ask(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	c.record.questions++
	switch {
	case !c.answers:
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	case len(q.Options) == 0:
		return terminal.Answer{Text: "yes"}, nil
	}
	return terminal.Answer{Text: q.Options[0], Option: 1}, nil
}

// Injections returns the messages that come during the turn.
func (c *chat) Injections() <-chan terminal.Injection { return c.injections }
