package protocoltest

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/terminal"
)

// secret is a secret of the gateway, and part of a variable in its environment.
const secret = "secret-of-the-gateway"

// mark is a variable that all processes of a turn have.
const mark = "PROTOCOLTEST_MARK"

// timeout limits the wait for an event that must happen. Only a test that hangs reaches it.
const timeout = 5 * time.Minute

// turn is a turn of a scripted agent.
type turn struct {
	t      *testing.T
	suite  Suite
	agent  Agent
	mark   string
	place  terminal.Place
	chat   Chat
	ctx    context.Context //nolint:containedctx // it is the turn's
	stop   context.CancelFunc
	speaks bool  // the person sends the text as a voice note
	refuse error // of messages and errors
	runner *terminal.Runner
	ended  chan result

	workspace string

	mu     sync.Mutex
	frames []terminal.Frame
	wake   chan struct{}
	pids   []int
	pause  func() (resume func())
}

type result struct {
	out terminal.Outcome
	err error
}

func (s Suite) start(t *testing.T, script Script) *turn {
	t.Helper()
	r := s.prepare(t, script)
	r.begin()
	return r
}

// prepareQuestion prepares the turn of an agent that asks a question.
func (s Suite) prepareQuestion(t *testing.T) *turn {
	t.Helper()
	if !s.Questions {
		t.Skip("agents of this protocol ask no questions")
	}
	return s.prepare(t, Script{Says: []string{"alpha"}, Asks: true, Ends: Finishes})
}

// prepare returns a turn that has not begun. A process that the agent leaves in the background must
// not outlive it.
func (s Suite) prepare(t *testing.T, script Script) *turn {
	t.Helper()
	r := &turn{t: t, suite: s, agent: s.Agent(t, script), mark: rand.Text(), wake: make(chan struct{}), ended: make(chan result, 1)}
	r.agent.Config.Command = "setsid sleep 1000 >/dev/null 2>&1 </dev/null & " + r.agent.Config.Command
	r.agent.Config.Env = maps.Clone(r.agent.Config.Env)
	if r.agent.Config.Env == nil {
		r.agent.Config.Env = map[string]string{}
	}
	r.agent.Config.Env[mark] = r.mark
	r.ctx, r.stop = context.WithCancel(t.Context())
	t.Cleanup(r.stop)
	r.chat.OnFrame = r.emit
	r.chat.OnReport = r.report
	return r
}

// begin starts the turn.
func (r *turn) begin() {
	r.t.Helper()
	var err error
	r.workspace = r.t.TempDir()
	req := terminal.Request{Envelope: terminal.Envelope{
		Channel: "cli", ChatID: "1", Text: r.agent.Text, RunID: "run", Attempt: 1,
	}, Place: r.place}
	if r.speaks {
		note := filepath.Join(r.workspace, "note.ogg")
		if err := os.WriteFile(note, []byte(req.Text), 0o600); err != nil {
			r.t.Fatal(err)
		}
		req.Text, req.Media = "", []string{note}
		r.agent.Config.Hear = map[string]string{"audio/*": "cat {file}"}
	}
	r.runner, err = terminal.NewRunner(terminal.Options{
		Config: r.agent.Config, Workspace: r.workspace, Protocol: r.agent.Protocol, Supervisor: r.suite.Supervisor, Log: zap.NewNop(),
		Environ: append(os.Environ(), "PROTOCOLTEST_OTHER=x"+secret), Secrets: []config.Secret{secret},
		TypeOf: func(string, string) string { return "audio/ogg" },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	go func() {
		out, err := r.runner.Turn(r.ctx, req, &r.chat)
		r.ended <- result{out, err}
	}()
}

func (r *turn) emit(f terminal.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil && (f.Kind == terminal.Message || f.Kind == terminal.Error) {
		return r.refuse
	}
	r.frames = append(r.frames, f)
	close(r.wake)
	r.wake = make(chan struct{})
	return nil
}

func (r *turn) report(report terminal.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch report := report.(type) {
	case terminal.Launched:
		r.pids = append(r.pids, int(report))
	case terminal.ClockStarted:
		r.pause = report.Pause
	}
}

// pauseClock stops the clock of the turn at its beginning, until what the channel has is called.
func (r *turn) pauseClock() <-chan func() {
	resume := make(chan func(), 1)
	r.chat.OnReport = func(report terminal.Report) {
		r.report(report)
		if clock, ok := report.(terminal.ClockStarted); ok {
			resume <- clock.Pause()
		}
	}
	return resume
}

// awaitShown waits for a frame that shows a text.
func (r *turn) awaitShown(want string) {
	r.t.Helper()
	deadline := time.After(timeout)
	for {
		r.mu.Lock()
		wake := r.wake
		r.mu.Unlock()
		if strings.Contains(r.shown(), want) {
			return
		}
		select {
		case <-wake:
		case ended := <-r.ended:
			r.t.Fatalf("the turn has ended (%s, %v) without %q:\n%s", ended.out.Status, ended.err, want, r.shown())
		case <-deadline:
			r.t.Fatalf("%q is not shown", want)
		}
	}
}

// end waits for the end of the turn. No process may be left of it then, except those that the
// protocol keeps until the runner is closed.
func (r *turn) end() result {
	r.t.Helper()
	var ended result
	select {
	case ended = <-r.ended:
	case <-time.After(timeout):
		r.t.Fatal("the turn does not end")
	}
	if p, ok := r.agent.Protocol.(terminal.PersistentProtocol); ok && p.Pool() != nil {
		r.runner.Close()
	}
	for _, pid := range r.pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			r.t.Errorf("process %d is not reaped: %v", pid, err)
		}
	}
	if left := r.environments(); len(left) > 0 {
		r.t.Errorf("%d processes are left", len(left))
	}
	r.runner.Close()
	return ended
}

// expect waits for the end of the turn and checks its status.
func (r *turn) expect(status terminal.Status) terminal.Outcome {
	r.t.Helper()
	ended := r.end()
	if ended.err != nil || ended.out.Status != status {
		r.t.Errorf("the turn ended as %s (%v), want %s:\n%s", ended.out.Status, ended.err, status, r.shown())
	}
	return ended.out
}

// expectDelivered checks that a text is in a frame before the last one or in the last one, and not
// only in what disappears with the turn.
func (r *turn) expectDelivered(want string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if !f.Preview && f.Kind != terminal.Partial && strings.Contains(text(f), want) {
			return
		}
	}
	r.t.Errorf("%q was not delivered", want)
}

// last returns the last frame.
func (r *turn) last() terminal.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.frames) == 0 {
		return terminal.Frame{}
	}
	return r.frames[len(r.frames)-1]
}

// shown returns the texts of all frames.
func (r *turn) shown() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, f := range r.frames {
		all = append(all, string(f.Kind)+": "+text(f))
	}
	return strings.Join(all, "\n")
}

// text returns what a frame shows.
func text(f terminal.Frame) string {
	if f.Screen == nil {
		return f.Text
	}
	lines := []string{f.Text}
	for _, runs := range f.Screen.Lines {
		line := ""
		for _, run := range runs {
			line += run.Text
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// environments returns the environments of the turn's processes, where the system shows them.
func (r *turn) environments() (all []string) {
	for _, env := range r.processes() {
		all = append(all, env)
	}
	return all
}

// folders returns the working folders of the turn's processes, where the system shows them.
func (r *turn) folders() (all []string) {
	for pid := range r.processes() {
		if folder, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd")); err == nil {
			all = append(all, folder)
		}
	}
	return all
}

// processes returns the environments of the turn's processes by PID.
func (r *turn) processes() map[int]string {
	all := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(env), mark+"="+r.mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if pid != os.Getpid() {
				all[pid] = string(env)
			}
		}
	}
	return all
}
