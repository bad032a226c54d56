package blocks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
	"nanobot/terminal/process"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/sandbox"
)

// testTimeout limits the wait for an event that must happen. Only a test that hangs reaches it.
const testTimeout = 5 * time.Minute

// TestMain also lets the test binary run as the model, the gateway of the kill loop, and the
// sandbox helper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "scripted-model":
			os.Exit(scriptedModel(os.Args[2]))
		case "careful-model":
			os.Exit(carefulModel())
		case "long-model":
			os.Exit(longModel())
		case "one-turn":
			os.Exit(runOneTurn(os.Args[2], os.Args[3]))
		case sandbox.Command:
			fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
			os.Exit(126)
		}
	}
	supervisor = process.NewSupervisor(process.SupervisorOptions{})
	goleak.VerifyTestMain(m)
}

// supervisor is shared by all tests: a process has only one, since it reaps all descendants.
var supervisor *process.Supervisor

// scriptedModel records the outbox in a folder and prints the next response in that folder. After
// the last response it does what the file "then" says.
func scriptedModel(dir string) int {
	outbox, _ := io.ReadAll(os.Stdin)
	told, _ := filepath.Glob(filepath.Join(dir, "outbox-*"))
	n := len(told) + 1
	_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("outbox-%04d", n)), outbox, 0o600)
	response, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("response-%04d", n)))
	if err == nil {
		_, _ = os.Stdout.Write(response)
		return 0
	}
	then, _ := os.ReadFile(filepath.Join(dir, "then"))
	switch string(then) {
	case "crash":
		fmt.Println("[CREATE_FILE path=\"never\"]\n[/CREATE_FILE]")
		fmt.Fprintln(os.Stderr, "no credit")
		return 3
	case "hang":
		time.Sleep(time.Hour)
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return 1
			}
		}
	}
	fmt.Println("[READ_FILE path=\"none\"]")
	return 0
}

// fixture is a runner of the protocol with a scripted model, and the frames of its turns.
type fixture struct {
	t         *testing.T
	model     string // the folder of the scripted model
	workspace string
	settings  *blocks.Settings
	config    config.Terminal
	private   []string
	runner    *terminal.Runner
	chat      string
	run       string
	media     []string
	ask       protocoltest.Ask
	words     words.Words

	mu     sync.Mutex
	frames []terminal.Frame
	sent   map[string]string // files that were sent, by name
	asked  []string
	// audited are the texts for the audit log.
	audited []string
	wake    chan struct{}
}

func newFixture(t *testing.T, responses ...string) *fixture {
	t.Helper()
	r := &fixture{
		t: t, model: t.TempDir(), workspace: t.TempDir(), settings: blocks.NewSettings(), config: config.Default().Terminal,
		chat: "1", run: "run-1", wake: make(chan struct{}), sent: map[string]string{},
	}
	r.settings.Approve = "never"
	r.config.Command = "exec " + terminal.ShellQuote(os.Args[0]) + " scripted-model " + terminal.ShellQuote(r.model)
	r.config.Timeout = 600
	r.config.Protocols = config.Protocols{blocks.Name: r.settings}
	r.script("", responses...)
	return r
}

// script replaces the responses of the model and removes the recorded outboxes.
func (r *fixture) script(then string, responses ...string) {
	r.t.Helper()
	old, _ := filepath.Glob(filepath.Join(r.model, "*"))
	for _, name := range old {
		musttest.Do(r.t, os.Remove(name))
	}
	for i, text := range responses {
		r.putFile(filepath.Join(r.model, fmt.Sprintf("response-%04d", i+1)), text)
	}
	r.putFile(filepath.Join(r.model, "then"), then)
}

// putFile writes a file, by an absolute path or in the workspace.
func (r *fixture) putFile(path, content string) {
	r.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workspace, path)
	}
	musttest.Do(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Do(r.t, os.WriteFile(path, []byte(content), 0o600))
}

// readFile reads a file of the workspace.
func (r *fixture) readFile(path string) string {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.workspace, path))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

// start creates the runner from the current configuration.
func (r *fixture) start() {
	r.t.Helper()
	if r.runner != nil {
		return
	}
	runner := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: r.config, Workspace: r.workspace, Protocol: blocks.New(r.config), Private: r.private,
		Environ: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), Supervisor: supervisor, Log: zap.NewNop(),
	}))(r.t)
	r.runner = runner
	r.t.Cleanup(runner.Close)
}

// runTurn runs a turn for a message.
func (r *fixture) runTurn(ctx context.Context, text string) terminal.Outcome {
	r.t.Helper()
	r.start()
	out, err := r.runner.Turn(ctx, terminal.Request{
		Envelope: terminal.Envelope{Channel: "cli", ChatID: r.chat, Text: text, Media: r.media, RunID: r.run, Attempt: 1},
		RunName:  r.t.Name() + r.run, GatewayName: r.t.Name(), Words: r.words,
	}, &protocoltest.Chat{OnFrame: r.emit, OnAsk: r.ask, OnLog: func(f terminal.Frame) { r.recordLog(f); _ = r.emit(f) }})
	if err != nil {
		r.t.Errorf("turn: %v", err)
	}
	return out
}

// runToDone runs a turn that the model must end. The person may refuse its commands.
func (r *fixture) runToDone(text string) {
	r.t.Helper()
	if out := r.runTurn(r.t.Context(), text); out.Status != terminal.Done && out.Status != terminal.Refused {
		r.t.Fatalf("%q ended as %s: %s", text, out.Status, r.lastText())
	}
}

// runNextMessage is runToDone for a new message, with another run name.
func (r *fixture) runNextMessage(text string) {
	r.t.Helper()
	r.run += "+"
	r.runToDone(text)
}

func (r *fixture) emit(f terminal.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	for _, file := range f.Checked {
		content, err := io.ReadAll(file.Open)
		if err != nil {
			return err
		}
		r.sent[filepath.Base(file.Path)] = string(content)
	}
	close(r.wake)
	r.wake = make(chan struct{})
	return nil
}

func (r *fixture) recordLog(f terminal.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Audit {
		r.audited = append(r.audited, f.Text)
	}
}

// answerWith makes the person answer questions in this order.
func (r *fixture) answerWith(answers ...string) {
	r.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := len(r.asked)
		r.asked = append(r.asked, q.Text)
		if !q.Approval {
			r.t.Errorf("everybody may answer %q", q.Text)
		}
		if n >= len(answers) {
			return terminal.Answer{}, errors.New("there is nobody to answer")
		}
		return terminal.Answer{Text: answers[n], By: "ann"}, nil
	}
}

// awaitFrame waits for a frame that matches.
func (r *fixture) awaitFrame(what string, match func(terminal.Frame) bool) terminal.Frame {
	r.t.Helper()
	deadline := time.After(testTimeout)
	for {
		r.mu.Lock()
		i, wake := slices.IndexFunc(r.frames, match), r.wake
		var f terminal.Frame
		if i >= 0 {
			f = r.frames[i]
		}
		r.mu.Unlock()
		if i >= 0 {
			return f
		}
		select {
		case <-wake:
		case <-deadline:
			r.t.Fatalf("no frame with %s", what)
		}
	}
}

// awaitCondition polls a condition of the file system.
func (r *fixture) awaitCondition(what string, done func() bool) {
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	r.t.Errorf("waited in vain for %s", what)
}

// sentTexts returns the texts of the messages and errors so far.
func (r *fixture) sentTexts() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if f.Kind == terminal.Message || f.Kind == terminal.Error {
			all = append(all, f.Text)
		}
	}
	return all
}

// lastText returns the text of the last message or error.
func (r *fixture) lastText() string {
	all := r.sentTexts()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// outboxes returns the outboxes that the model has got.
func (r *fixture) outboxes() (all []string) {
	r.t.Helper()
	names, _ := filepath.Glob(filepath.Join(r.model, "outbox-*"))
	slices.Sort(names)
	for _, name := range names {
		raw := musttest.Get(os.ReadFile(name))(r.t)
		all = append(all, string(raw))
	}
	return all
}

// folder returns a path in the chat's folder of sessions.
func (r *fixture) folder(parts ...string) string {
	return filepath.Join(append([]string{r.workspace, "users", r.chat, "blocks"}, parts...)...)
}

// resultsIn returns the section of an outbox with the results.
func resultsIn(outbox string) string {
	_, rest, _ := strings.Cut(outbox, "## Previous Command Results\n")
	rest, _, _ = strings.Cut(rest, "\n\n## ")
	rest, _, _ = strings.Cut(rest, "\n\n=== PROMPT")
	return rest
}

// checkEqual compares two values.
func checkEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// checkContains checks that a text contains all parts.
func checkContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
