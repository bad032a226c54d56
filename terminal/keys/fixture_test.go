package keys_test

import (
	"bufio"
	"context"
	"encoding/json"
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
	"nanobot/terminal/keys"
	"nanobot/terminal/process"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/sandbox"
)

// testTimeout limits the wait for an event that must happen. Only a test that hangs reaches it.
const testTimeout = 5 * time.Minute

// TestMain makes the test binary the scripted agent, and the sandbox helper.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "scripted-agent":
		os.Exit(scriptedAgent(os.Args[2]))
	case len(os.Args) > 1 && os.Args[1] == sandbox.Command:
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	}
	supervisor = process.NewSupervisor(process.SupervisorOptions{})
	goleak.VerifyTestMain(m)
}

// supervisor is shared by all tests: a process has only one, since it reaps all descendants.
var supervisor *process.Supervisor

// script is the behaviour of a scripted agent. The last response is repeated.
type script struct {
	Turn      bool // one process for each step
	Responses []string
	// After has for each response a text: the agent waits until a request has contained it.
	After []string
	// Then is the behaviour after the last response: exit, hang, flood, crash or close.
	Then string
}

// scriptedAgent executes the script in a folder and records its requests there.
func scriptedAgent(dir string) int {
	raw, err := os.ReadFile(filepath.Join(dir, "script.json"))
	var s script
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return 99
	}
	if s.Turn {
		told, _ := io.ReadAll(os.Stdin)
		n := recordRequest(dir, string(told))
		return s.printResponse(n)
	}
	in := bufio.NewReader(os.Stdin)
	told := ""
	for n := 1; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		recordRequest(dir, line)
		var r struct{ Screen string }
		if json.Unmarshal([]byte(line), &r) != nil {
			return 98
		}
		told += r.Screen
		if n <= len(s.After) && !strings.Contains(told, s.After[n-1]) {
			fmt.Println(encodeResponse("", command{Duration: 0.05}))
			continue
		}
		if status := s.printResponse(n); status != 0 {
			return status
		}
		n, told = n+1, ""
	}
}

// printResponse prints the response to the nth request.
func (s script) printResponse(n int) (status int) {
	if n > len(s.Responses) && s.Then != "" {
		switch s.Then {
		case "hang":
			time.Sleep(time.Hour)
		case "flood":
			for {
				if _, err := fmt.Print(strings.Repeat("x", 1<<16)); err != nil {
					return 1
				}
			}
		case "crash":
			fmt.Fprintln(os.Stderr, "it went wrong")
			return 3
		case "close": // closes its output and continues to run
			_ = os.Stdout.Close()
			time.Sleep(time.Hour)
		}
		os.Exit(0)
	}
	fmt.Println(s.Responses[min(n, len(s.Responses))-1])
	return 0
}

// recordRequest appends a request to the recorded ones and returns their number.
func recordRequest(dir, request string) int {
	files, _ := filepath.Glob(filepath.Join(dir, "request-*"))
	n := len(files) + 1
	_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("request-%04d", n)), []byte(request), 0o600)
	return n
}

// command is one command of a response.
type command struct {
	Keystrokes string  `json:"keystrokes"`
	Duration   float64 `json:"duration"`
	after      string  // the agent types this after a request has contained this text
}

// response is a response of an agent in JSON.
type response struct {
	Analysis string    `json:"analysis"`
	Plan     string    `json:"plan"`
	Commands []command `json:"commands"`
	Complete bool      `json:"task_complete"`
}

// encodeResponse returns a response in JSON.
func encodeResponse(analysis string, commands ...command) string {
	return encodeJSON(response{Analysis: analysis, Plan: "go on", Commands: append([]command{}, commands...)})
}

// taskDone returns a response that announces that the task is complete.
func taskDone(analysis string) string {
	return encodeJSON(response{Analysis: analysis, Commands: []command{}, Complete: true})
}

func encodeJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// fixture is a runner of the protocol with a scripted agent, and the frames of its turns.
type fixture struct {
	words    words.Words // of the person
	t        *testing.T
	dir      string // of the scripted agent
	work     string // the shell's initial working folder
	settings *keys.Settings
	config   config.Terminal
	protocol terminal.Protocol
	runner   *terminal.Runner
	chat     string
	media    []string
	room     string // see terminal.Request
	place    terminal.Place
	memory   memory
	onFrame  func(terminal.Frame) // if not nil, it is called before a frame is taken

	mu     sync.Mutex
	frames []terminal.Frame
	wake   chan struct{}
}

// memory is a memory of one chat.
type memory map[terminal.MemoryKey]string

func (m memory) Load(_ context.Context, key terminal.MemoryKey) (string, error) { return m[key], nil }

func (m memory) Save(_ context.Context, key terminal.MemoryKey, text string) error {
	m[key] = text
	return nil
}

func newFixture(t *testing.T, s script) *fixture {
	t.Helper()
	r := &fixture{t: t, dir: t.TempDir(), work: t.TempDir(), settings: keys.NewSettings(), config: config.Default().Terminal, chat: "local", wake: make(chan struct{}), memory: memory{}}
	if s.Turn {
		r.settings.Agent = "turn"
	}
	r.config.Command = "exec " + terminal.ShellQuote(os.Args[0]) + " scripted-agent " + terminal.ShellQuote(r.dir)
	r.config.Timeout = 600
	r.config.Protocols = config.Protocols{keys.Name: r.settings}
	r.script(s)
	return r
}

// script replaces the script of the agent and removes the recorded requests.
func (r *fixture) script(s script) {
	r.t.Helper()
	told, _ := filepath.Glob(filepath.Join(r.dir, "request-*"))
	for _, name := range told {
		musttest.Do(r.t, os.Remove(name))
	}
	musttest.Do(r.t, os.WriteFile(filepath.Join(r.dir, "script.json"), []byte(encodeJSON(s)), 0o600))
}

// start creates the runner from the current configuration.
func (r *fixture) start() {
	r.t.Helper()
	if r.runner != nil {
		return
	}
	if r.protocol == nil {
		r.protocol = keys.New(r.config)
	}
	home := r.t.TempDir()
	musttest.Do(r.t, os.WriteFile(filepath.Join(home, ".bashrc"), []byte("PS1='$ '\nunset HISTFILE\n"), 0o600))
	environ := append(os.Environ(), "HOME="+home, "GORACE=atexit_sleep_ms=0")
	runner := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: r.config, Workspace: r.work, Protocol: r.protocol, Environ: environ, Supervisor: supervisor, Log: zap.NewNop(),
	}))(r.t)
	r.runner = runner
	r.t.Cleanup(runner.Close)
}

// runTurn runs a turn for a message.
func (r *fixture) runTurn(ctx context.Context, text string) terminal.Outcome {
	r.t.Helper()
	r.start()
	out, err := r.runner.Turn(ctx, terminal.Request{
		Envelope: terminal.Envelope{Channel: "cli", ChatID: r.chat, Text: text, Media: r.media, RunID: "run", Attempt: 1},
		RunName:  r.t.Name(), GatewayName: r.t.Name(), Words: r.words, FittingSize: r.room, Place: r.place,
	}, &protocoltest.Chat{OnFrame: r.emit, Remember: r.memory})
	if err != nil {
		r.t.Errorf("turn: %v", err)
	}
	return out
}

func (r *fixture) emit(f terminal.Frame) error {
	if r.onFrame != nil {
		r.onFrame(f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	close(r.wake)
	r.wake = make(chan struct{})
	return nil
}

// awaitFrame waits for a frame that matches.
func (r *fixture) awaitFrame(what string, match func(terminal.Frame) bool) terminal.Frame {
	r.t.Helper()
	deadline := time.After(testTimeout)
	for {
		r.mu.Lock()
		i := slices.IndexFunc(r.frames, match)
		wake := r.wake
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

// awaitScreen waits for a board that shows a text.
func (r *fixture) awaitScreen(text string) {
	r.t.Helper()
	r.awaitFrame("a screen with "+text, func(f terminal.Frame) bool { return f.Screen != nil && strings.Contains(screenText(f), text) })
}

// screenText returns the text of the screen in a frame, without blanks at the ends of lines.
func screenText(f terminal.Frame) string {
	var b strings.Builder
	for _, line := range f.Screen.Lines {
		var row strings.Builder
		for _, run := range line {
			row.WriteString(run.Text)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

// requests returns the recorded requests. Those of a line agent are decoded.
func (r *fixture) requests() []string {
	r.t.Helper()
	files := musttest.Get(filepath.Glob(filepath.Join(r.dir, "request-*")))(r.t)
	slices.Sort(files)
	var all []string
	for _, name := range files {
		raw := musttest.Get(os.ReadFile(name))(r.t)
		text := string(raw)
		var line struct{ Screen string }
		if r.settings.Agent == "line" && json.Unmarshal(raw, &line) == nil {
			text = line.Screen
		}
		all = append(all, text)
	}
	return all
}

// lastText returns the text of the last message or error.
func (r *fixture) lastText() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range slices.Backward(r.frames) {
		if f.Kind == terminal.Message || f.Kind == terminal.Error {
			return f.Text
		}
	}
	return ""
}

// control carries out a command of a person.
func (r *fixture) control(name, args string) terminal.ControlReply {
	r.t.Helper()
	if !r.runner.AcceptsControl("cli:"+r.chat, name) {
		r.t.Fatalf("the command %q is not accepted", name)
	}
	reply := musttest.Get(r.runner.Control(r.t.Context(), terminal.ControlRequest{Chat: "cli:" + r.chat, Command: name, Args: args, Words: r.words, FittingSize: r.room}))(r.t)
	return reply
}

// awaitContent waits until a file in the shell's initial folder has this content.
func (r *fixture) awaitContent(name, want string) {
	r.t.Helper()
	var raw []byte
	defer func() {
		if r.t.Failed() {
			r.t.Logf("%s has %d bytes: %.200q", name, len(raw), raw)
		}
	}()
	r.awaitCondition(fmt.Sprintf("%s with %.100q", name, want), func() bool {
		raw, _ = os.ReadFile(filepath.Join(r.work, name))
		return string(raw) == want
	})
}

// awaitFile waits until a program has written a file.
func (r *fixture) awaitFile(name string) string {
	r.t.Helper()
	path := filepath.Join(r.work, name)
	var raw []byte
	r.awaitCondition("the file "+name, func() bool {
		raw, _ = os.ReadFile(path)
		return len(raw) > 0
	})
	return string(raw)
}

// awaitCondition polls a condition of the file system or of a process.
func (r *fixture) awaitCondition(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	r.t.Fatalf("waited in vain for %s", what)
}
