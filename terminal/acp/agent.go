package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"nanobot/internal/procfs"
	"nanobot/terminal"
	"nanobot/terminal/acp/login"
	"nanobot/terminal/acp/rpc"
)

const (
	// exitGrace is the time that an agent has to exit after its stdin is closed.
	exitGrace = 2 * time.Second
	// killGrace is the time between SIGTERM and SIGKILL.
	killGrace = 3 * time.Second
	// maxLineWarnings limits the warnings about lines that were too long.
	maxLineWarnings = 1000
)

// agent is one agent process and the connection to it. It lives until Close or until the process
// exits.
type agent struct {
	*terminal.Agent
	*rpc.Conn
	cfg          Settings
	timeouts     Timeouts
	initResponse initializeResponse
	quirks       quirks
	touch        func() // restarts the idle time of the agent
	// unusable means that the next turn needs another process: this one hangs or failed to start.
	unusable bool

	done chan struct{} // closed when the process has exited and exit is set
	exit terminal.AgentExit

	logMu        sync.Mutex                 // held while a log frame is emitted
	emit         func(terminal.Frame) error // of the running turn; nil between turns
	lineWarnings []string                   // warnings to show about lines that were too long

	mu      sync.Mutex
	session *session      // the session of all updates and requests; nil before the first
	left    []leftCommand // of stopped turns, as far as they may still run
}

// initializeResponse is the agent's response to initialize.
type initializeResponse struct {
	Version      json.RawMessage `json:"protocolVersion"`
	Capabilities struct {
		Load   capability         `json:"loadSession"`
		Prompt promptCapabilities `json:"promptCapabilities"`
		MCP    struct {
			HTTP capability `json:"http"`
			SSE  capability `json:"sse"`
		} `json:"mcpCapabilities"`
		Session struct {
			List   capability `json:"list"`
			Delete capability `json:"delete"`
			Resume capability `json:"resume"`
			Close  capability `json:"close"`
			Extra  capability `json:"additionalDirectories"`
		} `json:"sessionCapabilities"`
		Auth struct {
			Logout capability `json:"logout"`
		} `json:"auth"`
		Meta struct {
			Claude struct {
				PromptQueueing bool `json:"promptQueueing"`
			} `json:"claudeCode"`
		} `json:"_meta"`
	} `json:"agentCapabilities"`
	Auth []login.Method `json:"authMethods"`
	Meta struct {
		Steering struct {
			Supported bool `json:"supported"`
		} `json:"steering"`
	} `json:"_meta"`
	Info struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"agentInfo"`
}

// canRestore reports whether the agent can continue a session of an earlier process.
func (h initializeResponse) canRestore() bool {
	return bool(h.Capabilities.Load || h.Capabilities.Session.Resume)
}

// capability is an object according to the schema. Some agents send true or false.
type capability bool

func (c *capability) UnmarshalJSON(b []byte) error {
	*c = string(b) != "null" && string(b) != "false"
	return nil
}

// newAgent connects to a started process. onEnd is called after the process has exited.
func newAgent(child *terminal.Agent, cfg Settings, waits Timeouts, maxLine int, onEnd func(*agent)) *agent {
	a := &agent{Agent: child, cfg: cfg, timeouts: waits, done: make(chan struct{})}
	var ctx context.Context
	ctx, a.Conn = rpc.New(a)
	go a.run(ctx, terminal.NewLineReader(child.Stdout, maxLine), onEnd) // Close waits for it
	return a
}

// run reads the agent's messages until its output ends, and then cleans up.
func (a *agent) run(ctx context.Context, lines *terminal.LineReader, onEnd func(*agent)) {
	a.Serve(ctx, lines, a.Agent, func() { a.Stop(killGrace) })
	a.CloseInput()
	// An agent that closed its output but still runs is of no use.
	stop := time.AfterFunc(exitGrace, func() { a.Stop(killGrace) })
	a.exit = a.Wait()
	stop.Stop()
	var logged string
	a.mu.Lock() // initialize may just have set them
	q := a.quirks
	a.mu.Unlock()
	if a.exit.Stderr, logged = q.endStderr(a.exit.Stderr); logged != "" {
		a.Log("warning", "stderr of the agent: "+logged)
	}
	if s := a.currentSession(); s != nil {
		s.endBackground()
		s.access.Table.Close()
	}
	a.WaitForRequests()
	onEnd(a)
	close(a.done)
}

// Close ends the agent and returns when it has exited. An agent that is usable may exit by itself
// after its stdin is closed; any other is killed.
func (a *agent) Close() {
	if !a.unusable {
		a.CloseInput()
		timer := time.NewTimer(exitGrace)
		defer timer.Stop()
		select {
		case <-a.done:
			return
		case <-timer.C:
		}
	}
	a.Stop(killGrace)
	<-a.done
}

// Reusable reports whether the next turn can use the agent.
func (a *agent) Reusable() bool { return !a.unusable && !a.IsGone() }

// Memory returns the memory in bytes of the agent and its descendants.
func (a *agent) Memory() int64 { return procfs.TreeMemory(a.Pid()) }

func (a *agent) currentSession() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

// setSession makes s the current session and returns the previous one.
func (a *agent) setSession(s *session) (before *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.session = a.session, s
	return before
}

// initialize negotiates the protocol version and the capabilities.
func (a *agent) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeouts.StartTimeout, errNotReady)
	defer cancel()
	type object = map[string]any
	can := object{
		"fs": object{"readTextFile": a.cfg.Files, "writeTextFile": a.cfg.Files}, "terminal": a.cfg.Terminals,
		"session": object{
			"configOptions": object{"boolean": object{}}, "notices": object{}, "compaction": object{},
		},
		"auth": object{"terminal": true}, "elicitation": object{"form": object{}, "url": object{}},
	}
	// Agents from before auth.terminal describe how to sign in only with this capability.
	meta := object{"terminal-auth": true}
	if a.cfg.Terminals {
		// Some agents run commands themselves, and report the output only with this capability.
		meta["terminal_output"] = true
	}
	can["_meta"] = meta
	result, _, err := a.Call(ctx, 0, "initialize", object{
		"protocolVersion": 1, "clientCapabilities": can,
		"clientInfo": object{"name": "nanobot", "title": "nanobot", "version": "1"},
	}, nil)
	if err != nil {
		return err
	}
	if err := rpc.DecodeLenient(result, &a.initResponse); err != nil {
		return &rpc.Error{Code: rpc.CodeInternal, Message: "the agent's answer to initialize is invalid: " + err.Error()}
	}
	a.mu.Lock()
	a.quirks = quirksOf(a.initResponse.Info.Name)
	a.mu.Unlock()
	a.initResponse.Capabilities.Prompt.filesAsPaths = a.quirks.filesAsPaths
	if v := strings.Trim(string(a.initResponse.Version), `"`); v != "1" && v != "" && v != "null" {
		return &rpc.Error{
			Code:    rpc.CodeInternal,
			Message: fmt.Sprintf("the agent speaks version %.20s of the Agent Client Protocol; version 1 is needed", v),
		}
	}
	return nil
}

// login returns how the agent is signed in.
func (a *agent) login() login.Login {
	return login.Login{
		Methods: a.initResponse.Auth, Method: a.cfg.AuthMethod,
		Authenticate: func(ctx context.Context, method string) error {
			_, hung, err := a.Call(ctx, 0, "authenticate", map[string]string{"methodId": method}, nil)
			a.unusable = a.unusable || hung
			return err
		},
	}
}

// Log emits a log frame if a turn is running.
func (a *agent) Log(level, text string) {
	a.logMu.Lock()
	defer a.logMu.Unlock()
	if a.emit != nil {
		_ = a.emit(terminal.Frame{Kind: terminal.Log, Level: level, Text: text}) // log frames are never refused
	}
}

// HandleLongLine records that a line was too long and skipped.
func (a *agent) HandleLongLine(err *terminal.LongLineError) {
	a.Log("warning", err.Error())
	a.logMu.Lock()
	defer a.logMu.Unlock()
	if len(a.lineWarnings) < maxLineWarnings {
		a.lineWarnings = append(a.lineWarnings, "⚠ "+capitalize(err.Error())+".")
	}
}

// takeLineWarnings returns the warnings since the last call.
func (a *agent) takeLineWarnings() []string {
	a.logMu.Lock()
	defer a.logMu.Unlock()
	lines := a.lineWarnings
	a.lineWarnings = nil
	return lines
}

// setLogOutput sets the destination of log frames; nil discards them.
func (a *agent) setLogOutput(emit func(terminal.Frame) error) {
	a.logMu.Lock()
	defer a.logMu.Unlock()
	a.emit = emit
}

// HandleNotification handles a notification of the agent.
func (a *agent) HandleNotification(method string, params json.RawMessage) {
	if s := a.currentSession(); s != nil && method == "elicitation/complete" {
		s.links.Complete(params)
		return
	}
	if method != "session/update" {
		a.Log("debug", "unknown notification from the agent: "+method)
		return
	}
	var p struct {
		Session string          `json:"sessionId"`
		Update  json.RawMessage `json:"update"`
	}
	s := a.currentSession()
	if err := json.Unmarshal(params, &p); err != nil || s == nil {
		a.Log("debug", fmt.Sprintf("an update was ignored: %.200s", params))
		return
	}
	s.handleUpdate(p.Session, p.Update)
}

// HandleRequest handles a request of the agent.
func (a *agent) HandleRequest(ctx context.Context, method string, params json.RawMessage) (any, *rpc.Error) {
	s := a.currentSession()
	if s == nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "there is no session yet"}
	}
	return s.handleRequest(ctx, method, params)
}
