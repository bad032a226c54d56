package acptest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// session is one stored conversation.
type session struct {
	ID    string   `json:"id"`
	Cwd   string   `json:"cwd"`
	Said  []string `json:"said"` // every prompt so far
	Mode  string   `json:"mode"`
	Model string   `json:"model"`
	// Effort and Thinking are options of the flag -options.
	Effort   string `json:"effort"`
	Thinking bool   `json:"thinking"`

	servers   json.RawMessage // the MCP servers of the last open
	cancelled <-chan struct{} // closed by cancel
	cancel    context.CancelFunc
	terminals []string
	late      []string // texts to send after the response
	steered   []string // messages that were added to the running prompt
}

// isCancelled reports whether the client has cancelled the prompt.
func (s *session) isCancelled() bool {
	select {
	case <-s.cancelled:
		return true
	default:
		return false
	}
}

func (a *agent) sessionFile(id string) string { return filepath.Join(a.dir, filepath.Base(id)+".json") }

func (a *agent) saveSession(s *session) {
	b, err := json.Marshal(s)
	if err == nil {
		if err = os.MkdirAll(a.dir, 0o700); err == nil {
			err = os.WriteFile(a.sessionFile(s.ID), b, 0o600)
		}
	}
	if err != nil {
		panic(err)
	}
}

func (a *agent) findSession(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// addSession registers a session.
func (a *agent) addSession(s *session) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancelled, s.cancel = ctx.Done(), cancel
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.ID] = s
	return s
}

// loadSession loads a session of an earlier run.
func (a *agent) loadSession(id string) (*session, error) {
	b, err := os.ReadFile(a.sessionFile(id))
	if err != nil {
		return nil, &Problem{-32002, "no such session: " + id}
	}
	s := &session{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	return a.addSession(s), nil
}

type fields = map[string]any

// serveMethod executes a request.
func (a *agent) serveMethod(method string, params json.RawMessage) (any, error) {
	var p struct {
		SessionID          string          `json:"sessionId"`
		Cwd                string          `json:"cwd"`
		ModeID             string          `json:"modeId"`
		ModelID            string          `json:"modelId"`
		ConfigID           string          `json:"configId"`
		Value              any             `json:"value"`
		Type               string          `json:"type"`
		MethodID           string          `json:"methodId"`
		Prompt             json.RawMessage `json:"prompt"`
		ClientCapabilities json.RawMessage `json:"clientCapabilities"`
		Servers            json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &Problem{-32602, err.Error()}
	}
	s := a.findSession(p.SessionID)
	if s == nil && method != "session/load" && method != "session/resume" && method != "session/delete" && p.SessionID != "" {
		return nil, &Problem{-32002, "no such session: " + p.SessionID}
	}
	if p.Servers != nil {
		a.checkServers(method, p.Servers)
	}
	switch method {
	case "initialize":
		a.announced = p.ClientCapabilities
		_ = json.Unmarshal(p.ClientCapabilities, &a.caps)
		return a.initialize(), nil
	case "authenticate":
		if strings.Contains(a.authMethods, `"id":"`+p.MethodID+`","type"`) {
			a.failClient("authenticate with the typed method %s", p.MethodID)
		}
		if p.MethodID != a.auth {
			return nil, &Problem{-32602, "unknown method"}
		}
		a.signedIn = true
		return fields{}, nil
	case "session/new":
		return a.newSession(p.Cwd, p.Servers)
	case "session/load":
		return a.restoreSession(p.SessionID, p.Servers, true)
	case "session/resume":
		return a.restoreSession(p.SessionID, p.Servers, false)
	case "session/list":
		return a.listSessions(), nil
	case "session/close":
		s.cancel()
		a.mu.Lock()
		delete(a.sessions, s.ID)
		a.mu.Unlock()
		return fields{}, nil
	case "session/delete":
		if !a.deletes {
			a.failClient("session/delete, which was not announced")
		}
		return fields{}, os.Remove(a.sessionFile(p.SessionID))
	case "logout":
		if !a.logout {
			a.failClient("logout, which was not announced")
		}
		fmt.Fprintln(os.Stderr, "signed out")
		return fields{}, nil
	case "session/set_mode":
		return a.setOption(s, "mode", p.ModeID)
	case "session/set_model":
		return a.setOption(s, "model", p.ModelID)
	case "session/set_config_option":
		if (p.Type == "boolean") != (p.ConfigID == "thinking") {
			a.failClient("%s is set with type %q", p.ConfigID, p.Type)
		}
		if _, err := a.setOption(s, p.ConfigID, p.Value); err != nil {
			return nil, err
		}
		return fields{"configOptions": a.configOptions(s)}, nil
	case "session/prompt":
		return a.prompt(s, p.Prompt)
	case "_session/steering":
		return a.steer(s, p.Prompt)
	}
	return nil, &Problem{-32601, "unknown method " + method}
}

// checkServers fails the client if it passes an MCP server of a type that the agent has not
// announced, or one whose program is not an absolute path, which the schema cannot express.
func (a *agent) checkServers(method string, raw json.RawMessage) {
	var servers []struct{ Type, Name, Command string }
	if err := json.Unmarshal(raw, &servers); err != nil {
		a.failClient("%s: %v", method, err)
	}
	for _, s := range servers {
		switch {
		case s.Type == "" && !filepath.IsAbs(s.Command):
			a.failClient("%s: the program of %s is %q", method, s.Name, s.Command)
		case s.Type == "http" && !a.http, s.Type == "sse" && !a.sse:
			a.failClient("%s: %s is of type %s", method, s.Name, s.Type)
		}
	}
}

func (a *agent) initialize() any {
	time.Sleep(a.slow)
	can := fields{}
	for name, on := range map[string]bool{"resume": a.resume, "list": a.list, "close": a.closeSessions, "delete": a.deletes} {
		if on {
			can[name] = fields{}
		}
	}
	auth := fields{}
	if a.logout {
		auth["logout"] = fields{}
	}
	methods := []any{}
	if a.authMethods != "" {
		_ = json.Unmarshal([]byte(a.authMethods), &methods)
	} else if a.auth != "" {
		methods = append(methods, fields{"id": a.auth, "name": "Sign in", "description": "Run `agent login` on the server."})
	}
	version := 1
	if a.unknownVersion {
		version = 99
	}
	return fields{
		"_meta":           fields{"steering": fields{"supported": a.steering}},
		"protocolVersion": version, "authMethods": methods, "agentInfo": fields{"name": a.name, "version": "1"},
		"agentCapabilities": fields{
			"loadSession": a.load, "sessionCapabilities": can, "auth": auth,
			"promptCapabilities": fields{"image": a.images, "audio": a.audio, "embeddedContext": a.embedded},
			"mcpCapabilities":    fields{"http": a.http, "sse": a.sse},
			"_meta":              fields{"claudeCode": fields{"promptQueueing": a.queueing}},
		},
	}
}

func (a *agent) newSession(cwd string, servers json.RawMessage) (any, error) {
	if a.auth != "" && !a.signedIn {
		return nil, &Problem{-32000, "Authentication required"}
	}
	s := a.addSession(&session{ID: "sess_" + rand.Text(), Cwd: cwd, servers: servers})
	s.resetOptions()
	a.saveSession(s)
	if a.earlyUpdates {
		a.sendUpdate(s.ID, fields{"sessionUpdate": "available_commands_update", "availableCommands": []any{fields{"name": "review", "description": "look at a change"}}})
		a.sendUpdate(s.ID, fields{"sessionUpdate": "agent_message_chunk", "content": fields{"type": "text", "text": "early words"}})
	}
	out := a.state(s)
	out["sessionId"] = s.ID
	return out, nil
}

func (a *agent) state(s *session) fields {
	out := fields{}
	if a.modes {
		out["modes"] = fields{"currentModeId": s.Mode, "availableModes": []any{fields{"id": "code", "name": "Code"}, fields{"id": "plan", "name": "Plan first"}}}
	}
	if a.configs || a.allOptions {
		out["configOptions"] = a.configOptions(s)
	}
	if a.models {
		out["models"] = fields{"currentModelId": s.Model, "availableModels": []any{fields{"modelId": "small", "name": "Small"}, fields{"modelId": "large", "name": "Large"}}}
	}
	return out
}

func (a *agent) restoreSession(id string, servers json.RawMessage, replay bool) (any, error) {
	switch a.onLoad {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot load")
		os.Exit(1)
	case "hang":
		select {}
	}
	s, err := a.loadSession(id)
	if err != nil {
		return nil, err
	}
	s.servers = servers
	if a.forgetful {
		s.resetOptions()
	}
	if replay && !a.replayLate {
		a.replay(s, 0)
	}
	out := a.state(s)
	if a.misreports {
		out["modes"].(fields)["currentModeId"] = "code"
	}
	return out, nil
}

// replay sends the updates of earlier prompts again.
func (a *agent) replay(s *session, pause time.Duration) {
	for _, said := range s.Said {
		for _, u := range []fields{
			chunk("user_message_chunk", said), chunk("agent_message_chunk", "REPLAYED "+said),
			{"sessionUpdate": "tool_call", "toolCallId": "old", "title": "REPLAYED tool", "status": "completed"},
		} {
			time.Sleep(pause)
			a.sendUpdate(s.ID, u)
		}
	}
}

// listSessions lists the stored sessions, the one that was used last at the end.
func (a *agent) listSessions() any {
	found := []any{}
	entries, _ := os.ReadDir(a.dir)
	changed := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortStableFunc(entries, func(x, y os.DirEntry) int { return changed(x).Compare(changed(y)) })
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		b, _ := os.ReadFile(filepath.Join(a.dir, e.Name()))
		var s session
		if json.Unmarshal(b, &s) != nil {
			continue
		}
		info := fields{"sessionId": id, "cwd": s.Cwd}
		if len(s.Said) > 0 {
			info["title"] = s.Said[0]
		}
		found = append(found, info)
	}
	return fields{"sessions": found}
}

// signInOnTerminal asks for a code on the terminal, as the sign-in of a real agent does.
func (a *agent) signInOnTerminal() int {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(os.Stderr, "this is no terminal")
		return 1
	}
	fmt.Printf("REGION is %q. Code: ", os.Getenv("REGION"))
	code, err := a.in.ReadString('\n')
	if err != nil || strings.TrimSpace(code) != "4711" {
		fmt.Println("wrong code")
		return 3
	}
	fmt.Println("welcome")
	return 0
}
