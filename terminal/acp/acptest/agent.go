// Package acptest is a scripted agent of the Agent Client Protocol for tests. It checks its client
// strictly and executes the steps in its prompt. A test binary that calls Main runs it as a
// separate process. It does not know the code of the client.
package acptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// exitViolation is the exit status after the client has violated the protocol.
const exitViolation = 99

// options are the agent's capabilities and its deviations from the protocol.
type options struct {
	dir, name                                                   string
	resume, load, list, closeSessions, deletes, logout          bool
	images, audio, embedded                                     bool
	http, sse                                                   bool
	modes, configs, models, allOptions, forgetful, misreports   bool
	refused                                                     string
	auth, authMethods                                           string
	login                                                       bool
	slow                                                        time.Duration
	replayLate                                                  bool
	onLoad                                                      string
	queueing, steering                                          bool
	ignoreEOF, noisy, earlyUpdates, repeatTools, unknownVersion bool
}

func (o *options) parse(args []string) error {
	f := flag.NewFlagSet("agent", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", "", "folder in which sessions are stored")
	f.StringVar(&o.name, "name", "acptest", "its name in the response to initialize")
	f.BoolVar(&o.resume, "resume", false, "can resume sessions")
	f.BoolVar(&o.load, "load", false, "can load sessions, and replays their updates")
	f.BoolVar(&o.replayLate, "behind", false, "replays the updates only after the response to session/load")
	f.StringVar(&o.onLoad, "on-load", "", "exit or hang, instead of loading a session")
	f.BoolVar(&o.list, "list", false, "can list sessions")
	f.BoolVar(&o.closeSessions, "close", false, "can close sessions")
	f.BoolVar(&o.deletes, "delete", false, "can delete sessions")
	f.BoolVar(&o.logout, "logout", false, "can sign out")
	f.BoolVar(&o.images, "images", false, "accepts images")
	f.BoolVar(&o.audio, "audio", false, "accepts audio")
	f.BoolVar(&o.embedded, "embedded", false, "accepts embedded files")
	f.BoolVar(&o.http, "http", false, "accepts MCP servers with HTTP")
	f.BoolVar(&o.sse, "sse", false, "accepts MCP servers with server-sent events")
	f.BoolVar(&o.modes, "modes", false, "has modes")
	f.BoolVar(&o.configs, "configs", false, "has config options, including the model")
	f.BoolVar(&o.allOptions, "options", false, "has config options of several kinds")
	f.BoolVar(&o.forgetful, "forgetful", false, "resets the options of a session that it restores")
	f.BoolVar(&o.misreports, "misreports", false, "reports the mode code for a session that it restores, and refuses the mode that the session is in")
	f.StringVar(&o.refused, "refuse", "", "ID of an option that it refuses to set")
	f.BoolVar(&o.models, "models", false, "has models in the form that predates config options")
	f.StringVar(&o.auth, "auth", "", "requires authentication by this method")
	f.StringVar(&o.authMethods, "auth-methods", "", "the methods that it offers, as JSON")
	f.BoolVar(&o.login, "login", false, "signs in on its terminal and exits")
	f.DurationVar(&o.slow, "slow", 0, "time until it responds to initialize")
	f.BoolVar(&o.queueing, "queueing", false, "accepts prompts during a prompt, and works on them in order")
	f.BoolVar(&o.steering, "steering", false, "accepts messages for the running prompt")
	f.BoolVar(&o.ignoreEOF, "stubborn", false, "continues when stdin ends")
	f.BoolVar(&o.noisy, "noisy", false, "prints lines that are not messages")
	f.BoolVar(&o.earlyUpdates, "early", false, "sends updates before its response to session/new")
	f.BoolVar(&o.repeatTools, "repeats", false, "sends a tool call twice")
	f.BoolVar(&o.unknownVersion, "version", false, "announces an unknown protocol version")
	return f.Parse(args)
}

// agent is one run of the agent.
type agent struct {
	options
	in  *bufio.Reader
	out io.Writer

	mu        sync.Mutex
	next      int
	pending   map[string]pendingCall
	sessions  map[string]*session
	signedIn  bool
	announced json.RawMessage // the client's capabilities
	// prompts is the number of open prompts, and lastPrompt is closed at the end of the newest one.
	prompts    int
	lastPrompt chan struct{}
	caps       struct {
		Terminal bool `json:"terminal"`
		FS       struct {
			Read  bool `json:"readTextFile"`
			Write bool `json:"writeTextFile"`
		} `json:"fs"`
	}
}

// pendingCall is a call that the client has not answered.
type pendingCall struct {
	method string
	answer chan message
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Problem        `json:"error,omitempty"`
}

// Problem is a JSON-RPC error.
type Problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return fmt.Sprintf("%d %s", p.Code, p.Message) }

// Main runs the agent until its stdin ends and returns its exit status.
func Main(args []string) int {
	a := &agent{in: bufio.NewReader(os.Stdin), out: os.Stdout, pending: map[string]pendingCall{}, sessions: map[string]*session{}}
	if err := a.parse(args); err != nil {
		return 2
	}
	if id := os.Getenv("ACPTEST_REFUSE"); id != "" { // the command may have to stay the same
		a.refused = id
	}
	if a.dir == "" {
		a.dir = filepath.Join(os.TempDir(), "acptest")
	}
	if a.login {
		return a.signInOnTerminal()
	}
	if a.noisy {
		a.printNoise("Starting up, please wait...")
	}
	for {
		line, err := a.in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			a.handleLine(line)
		}
		if err == nil {
			continue
		}
		if a.ignoreEOF {
			select {}
		}
		return 0
	}
}

// failClient records a violation by the client and ends the agent.
func (a *agent) failClient(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, "the client broke the protocol:", text)
	recordViolation(a.dir, text)
	os.Exit(exitViolation)
}

func (a *agent) handleLine(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
		a.failClient("no JSON-RPC: %.200s", line)
	}
	switch {
	case m.Method == "":
		a.handleResponse(m)
	case m.ID == nil:
		a.handleNotification(m)
	default:
		if name, ok := requestShapes[m.Method]; ok {
			if err := Check(name, m.Params); err != nil {
				a.failClient("%s: %v", m.Method, err)
			}
		}
		if m.Method == "session/prompt" { // the only long-running request
			a.startPrompt(m)
			return
		}
		a.handleRequest(m)
	}
}

// handleResponse handles the client's response to a call.
func (a *agent) handleResponse(m message) {
	a.mu.Lock()
	w, ok := a.pending[string(m.ID)]
	delete(a.pending, string(m.ID))
	a.mu.Unlock()
	if !ok {
		a.failClient("answer to nothing: %s", m.ID)
	}
	if name, known := responseShapes[w.method]; known && m.Error == nil {
		if err := Check(name, m.Result); err != nil {
			a.failClient("answer to %s: %v", w.method, err)
		}
	}
	w.answer <- m
}

func (a *agent) handleNotification(m message) {
	name, ok := requestShapes[m.Method]
	if !ok {
		return
	}
	if err := Check(name, m.Params); err != nil {
		a.failClient("%s: %v", m.Method, err)
	}
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if m.Method == "session/cancel" {
		if s := a.findSession(p.SessionID); s != nil {
			s.cancel()
		}
	}
}

// handleRequest handles a request of the client.
func (a *agent) handleRequest(m message) {
	result, err := a.serveMethod(m.Method, m.Params)
	reply := message{ID: m.ID}
	var problem *Problem
	switch {
	case err == nil:
		raw, _ := json.Marshal(result)
		if name, ok := agentShapes[m.Method]; ok && !a.unknownVersion {
			if cerr := Check(name, raw); cerr != nil {
				panic("acptest itself is wrong: " + cerr.Error())
			}
		}
		reply.Result = raw
	case errors.As(err, &problem):
		reply.Error = problem
	default:
		reply.Error = &Problem{Code: -32603, Message: err.Error()}
	}
	a.endPrompt(m)
	a.sendMessage(reply)
	a.sendLate(m)
}

// sendMessage sends one message as one line.
func (a *agent) sendMessage(m message) {
	m.JSONRPC = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(append(b, '\n'))
}

func (a *agent) printNoise(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintln(a.out, text)
}

// callClient calls a method of the client. IDs alternate between strings and numbers, since both
// are allowed.
func (a *agent) callClient(method string, params any) (json.RawMessage, error) {
	m, _ := a.startCall(method, params)
	w := <-m
	if w.Error != nil {
		return nil, w.Error
	}
	return w.Result, nil
}

func (a *agent) startCall(method string, params any) (answer chan message, id json.RawMessage) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	answer = make(chan message, 1)
	a.mu.Lock()
	a.next++
	id = json.RawMessage(fmt.Sprint(a.next))
	if a.next%2 == 0 {
		id = json.RawMessage(fmt.Sprintf(`"call-%d"`, a.next))
	}
	a.pending[string(id)] = pendingCall{method, answer}
	a.mu.Unlock()
	a.sendMessage(message{ID: id, Method: method, Params: raw})
	return answer, id
}

// sendUpdate sends one session/update.
func (a *agent) sendUpdate(session string, update any) {
	raw, err := json.Marshal(map[string]any{"sessionId": session, "update": update})
	if err != nil {
		panic(err)
	}
	a.sendMessage(message{Method: "session/update", Params: raw})
}

// recordViolation writes down a violation by the client, for Violation.
func recordViolation(dir, text string) {
	_ = os.MkdirAll(dir, 0o700)
	if f, err := os.OpenFile(filepath.Join(dir, "broken"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, text)
		f.Close()
	}
}

// Violation returns the client's violation of the protocol towards agents with the session folder
// dir, or "".
func Violation(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "broken"))
	return strings.TrimSpace(string(b))
}
