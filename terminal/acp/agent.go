package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
)

const (
	// farewell is how long an agent may take to end by itself when its input has ended.
	farewell = 2 * time.Second
	// mercy is how long it may take when it is told to end.
	mercy = 3 * time.Second
	// maxSkipped bounds how many lines that were skipped are counted.
	maxSkipped = 1000
)

// agent is a process that is talked with. It lives until Close, or its own end.
type agent struct {
	*terminal.Agent
	*conn
	cfg   Settings
	waits Waits
	hello hello
	// spoiled says that it is not to be kept, because it does not answer or could not begin.
	spoiled bool

	done  chan struct{} // closed when it is dead and ended is set
	ended terminal.AgentExit

	logging sync.Mutex                 // held while a log frame is emitted
	emit    func(terminal.Frame) error // of the turn that runs; nil: none
	lines   []string                   // what the person is to be told of lines that were skipped

	mu      sync.Mutex
	session *session // what its updates and requests are about; nil: none yet
}

// hello is what an agent says about itself at first.
type hello struct {
	Version json.RawMessage `json:"protocolVersion"`
	Can     struct {
		Load   able `json:"loadSession"`
		Prompt struct {
			Image    able `json:"image"`
			Audio    able `json:"audio"`
			Embedded able `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		MCP struct {
			HTTP able `json:"http"`
			SSE  able `json:"sse"`
		} `json:"mcpCapabilities"`
		Session struct {
			List   able `json:"list"`
			Resume able `json:"resume"`
			Close  able `json:"close"`
			Extra  able `json:"additionalDirectories"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Auth []authMethod `json:"authMethods"`
	Info struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	} `json:"agentInfo"`
}

// restores says whether the agent can go on with a conversation of an earlier process.
func (h hello) restores() bool { return bool(h.Can.Load || h.Can.Session.Resume) }

// able is a capability: an object, where others write true.
type able bool

func (c *able) UnmarshalJSON(b []byte) error {
	*c = string(b) != "null" && string(b) != "false"
	return nil
}

// talk begins to talk with a process that was started. onEnd is called when it has ended.
func talk(child *terminal.Agent, cfg Settings, waits Waits, maxLine int, onEnd func(*agent)) *agent {
	ctx, c := newConn()
	a := &agent{Agent: child, conn: c, cfg: cfg, waits: waits, done: make(chan struct{})}
	a.conn.notified, a.conn.serve, a.conn.log, a.conn.skipped = a.notified, a.serve, a.log, a.skipped
	a.work.Go(func() { a.write(child, func() { child.Stop(mercy) }) })
	go a.run(ctx, terminal.NewLineReader(child.Stdout, maxLine), onEnd) // Close waits for it
	return a
}

// run reads what the agent says and cleans up behind it.
func (a *agent) run(ctx context.Context, lines *terminal.LineReader, onEnd func(*agent)) {
	a.read(ctx, lines)
	a.CloseInput()
	// One that closed its output and lives on is of no use.
	stop := time.AfterFunc(farewell, func() { a.Stop(mercy) })
	a.ended = a.Wait()
	stop.Stop()
	if s := a.current(); s != nil {
		s.table.Close()
	}
	a.work.Wait()
	onEnd(a)
	close(a.done)
}

// Close ends the agent and returns when it is dead: politely by the end of its input, unless it is
// spoiled.
func (a *agent) Close() {
	if !a.spoiled {
		a.CloseInput()
		patience := time.NewTimer(farewell)
		defer patience.Stop()
		select {
		case <-a.done:
			return
		case <-patience.C:
		}
	}
	a.Stop(mercy)
	<-a.done
}

// Reusable reports whether the next turn can talk with the agent.
func (a *agent) Reusable() bool { return !a.spoiled && !a.isGone() }

// isGone says whether the agent cannot be talked with any more.
func (a *agent) isGone() bool { return a.isDisconnected() }

func (a *agent) current() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session
}

// turnTo makes a session the one that counts and returns the one that did.
func (a *agent) turnTo(s *session) (before *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.session = a.session, s
	return before
}

// initialize says hello.
func (a *agent) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.waits.Begin, errSilent)
	defer cancel()
	type object = map[string]any
	can := object{"fs": object{"readTextFile": a.cfg.Files, "writeTextFile": a.cfg.Files}, "terminal": a.cfg.Terminals}
	if a.cfg.Terminals {
		// Some agents run commands themselves and only show them, if they are told that they may.
		can["_meta"] = object{"terminal_output": true}
	}
	result, _, err := a.call(ctx, 0, "initialize", object{
		"protocolVersion": 1, "clientCapabilities": can,
		"clientInfo": object{"name": "nanobot", "title": "nanobot", "version": "1"},
	}, nil)
	if err != nil {
		return err
	}
	if err := decode(result, &a.hello); err != nil {
		return &rpcError{Code: codeInternal, Message: "the agent's answer to initialize makes no sense: " + err.Error()}
	}
	if v := strings.Trim(string(a.hello.Version), `"`); v != "1" && v != "" && v != "null" {
		return &rpcError{Code: codeInternal, Message: fmt.Sprintf("the agent speaks version %.20s of the Agent Client Protocol; version 1 is needed", v)}
	}
	return nil
}

// log passes a line on to the log, as long as a turn runs.
func (a *agent) log(level, text string) {
	a.logging.Lock()
	defer a.logging.Unlock()
	if a.emit != nil {
		_ = a.emit(terminal.Frame{Kind: terminal.Log, Level: level, Text: text}) // a log frame is never refused
	}
}

// skipped takes note of a line that was too long.
func (a *agent) skipped(err *terminal.LongLineError) {
	a.log("warning", err.Error())
	a.logging.Lock()
	defer a.logging.Unlock()
	if len(a.lines) < maxSkipped {
		a.lines = append(a.lines, "⚠ "+sentence(err.Error())+".")
	}
}

// notes returns what was noted since it was last asked for.
func (a *agent) notes() []string {
	a.logging.Lock()
	defer a.logging.Unlock()
	lines := a.lines
	a.lines = nil
	return lines
}

// logTo says where log frames go; nil: nowhere.
func (a *agent) logTo(emit func(terminal.Frame) error) {
	a.logging.Lock()
	defer a.logging.Unlock()
	a.emit = emit
}

func (a *agent) notified(method string, params json.RawMessage) {
	if method != "session/update" {
		a.log("debug", "the agent notifies of something unknown: "+method)
		return
	}
	var p struct {
		Session string          `json:"sessionId"`
		Update  json.RawMessage `json:"update"`
	}
	s := a.current()
	if err := json.Unmarshal(params, &p); err != nil || s == nil {
		a.log("debug", fmt.Sprintf("an update was ignored: %.200s", params))
		return
	}
	s.take(p.Session, p.Update)
}

func (a *agent) serve(ctx context.Context, method string, params json.RawMessage) (any, *rpcError) {
	s := a.current()
	if s == nil {
		return nil, &rpcError{Code: codeInvalidParams, Message: "there is no session yet"}
	}
	return s.handle(ctx, method, params)
}
