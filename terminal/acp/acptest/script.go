package acptest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// prompt does what the prompt says, a line a step; words that are no step are said back.
func (a *agent) prompt(s *session, blocks json.RawMessage) (any, error) {
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(blocks, &parts); err != nil {
		return nil, &Problem{-32602, err.Error()}
	}
	var text []string
	for _, p := range parts {
		if p.Type == "text" {
			text = append(text, p.Text)
		}
	}
	a.keep(s) // a cancel before this prompt does not count
	s.Said = append(s.Said, strings.Join(text, "\n"))
	a.save(s)
	r := &run{agent: a, s: s, blocks: blocks, reason: "end_turn"}
	for _, line := range strings.Split(strings.Join(text, "\n"), "\n") {
		if err := r.step(line); err != nil {
			return nil, err
		}
		if r.over() {
			break
		}
	}
	return fields{"stopReason": r.reason}, nil
}

// after sends what comes too late, behind an answer.
func (a *agent) after(m message) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p) // most have none
	s := a.session(p.SessionID)
	switch {
	case s == nil:
		return
	case m.Method == "session/load" && a.behind:
		a.replay(s, 10*time.Millisecond)
		return
	case m.Method != "session/prompt":
		return
	}
	for _, text := range s.late {
		a.say(s, text)
	}
	s.late = nil
}

func (a *agent) say(s *session, text string) {
	a.update(s.ID, chunk("agent_message_chunk", text))
}

func chunk(kind, text string) fields {
	return fields{"sessionUpdate": kind, "content": fields{"type": "text", "text": text}}
}

// run is one prompt being worked on.
type run struct {
	*agent
	s      *session
	blocks json.RawMessage
	reason string
	ended  bool
	begun  []chan message // calls whose answers are not waited for yet
}

// over says whether there is no more to do.
func (r *run) over() bool {
	if r.s.isCancelled() {
		r.reason, r.ended = "cancelled", true
	}
	return r.ended
}

func (r *run) step(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if do, ok := steps[word]; ok {
		return do(r, rest)
	}
	r.say(r.s, "You said: "+line+"\n")
	return nil
}

// steps are what a prompt can ask for.
var steps = map[string]func(r *run, rest string) error{
	"say":     func(r *run, text string) error { r.say(r.s, text); return nil },
	"think":   func(r *run, text string) error { r.send(chunk("agent_thought_chunk", text)); return nil },
	"message": (*run).message,
	"chunks":  (*run).chunks,
	"flow":    (*run).flow,
	"tool":    (*run).tool,
	"status":  (*run).status,
	"plan":    (*run).plan,
	"raw":     (*run).raw,
	"call":    (*run).callRaw,
	"ask":     (*run).ask,
	"run":     (*run).command,
	"spawn":   (*run).spawn,
	"gather":  (*run).gather,
	"embed":   (*run).embed,
	"read":    (*run).read,
	"write":   (*run).write,
	"noise":   func(r *run, text string) error { r.noise(text); return nil },
	"late":    func(r *run, text string) error { r.s.late = append(r.s.late, text); return nil },
	"env":     func(r *run, name string) error { r.say(r.s, name+"="+os.Getenv(name)); return nil },
	"blocks":  func(r *run, _ string) error { r.say(r.s, "`"+string(r.blocks)+"`"); return nil },
	"servers": func(r *run, _ string) error { r.say(r.s, "`"+string(r.s.servers)+"`"); return nil },
	"history": func(r *run, _ string) error { r.say(r.s, fmt.Sprintf("prompts so far: %d", len(r.s.Said))); return nil },
	"state":   func(r *run, _ string) error { r.say(r.s, "mode "+r.s.Mode+", model "+r.s.Model); return nil },
	"capabilities": func(r *run, _ string) error {
		r.say(r.s, fmt.Sprintf("fs %v %v\n", r.caps.FS.Read, r.caps.FS.Write))
		return nil
	},
	"pid":    func(r *run, _ string) error { r.say(r.s, fmt.Sprintf("pid %d", os.Getpid())); return nil },
	"stop":   func(r *run, reason string) error { r.reason, r.ended = reason, true; return nil },
	"fail":   func(_ *run, text string) error { return &Problem{-32603, text} },
	"exit":   func(_ *run, code string) error { n, _ := strconv.Atoi(code); os.Exit(n); return nil },
	"die":    func(*run, string) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"hang":   func(*run, string) error { select {} },
	"await":  func(r *run, _ string) error { <-r.s.cancelled; return nil },
	"until":  (*run).until,
	"stderr": func(_ *run, text string) error { fmt.Fprintln(os.Stderr, text); return nil },
}

func (r *run) send(update any) { r.update(r.s.ID, update) }

// message ID TEXT says something as a message with an id of its own.
func (r *run) message(rest string) error {
	id, text, _ := strings.Cut(rest, " ")
	u := chunk("agent_message_chunk", text)
	u["messageId"] = id
	r.send(u)
	return nil
}

// chunks N says N numbered words as fast as it can.
func (r *run) chunks(rest string) error {
	n, err := strconv.Atoi(rest)
	for i := range n {
		r.say(r.s, fmt.Sprintf("w%07d ", i))
	}
	return err
}

// flow SECONDS RATE says so many numbered words a second, for so long.
func (r *run) flow(rest string) error {
	var seconds, rate int
	if _, err := fmt.Sscan(rest, &seconds, &rate); err != nil {
		return err
	}
	began := time.Now()
	for i := range seconds * rate {
		if i%(rate/100) == 0 {
			time.Sleep(time.Until(began.Add(time.Second * time.Duration(i) / time.Duration(rate))))
		}
		r.say(r.s, fmt.Sprintf("w%07d ", i))
	}
	return nil
}

// tool ID KIND TITLE begins a tool call.
func (r *run) tool(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	if len(f) < 3 {
		return &Problem{-32602, "tool ID KIND TITLE"}
	}
	u := fields{"sessionUpdate": "tool_call", "toolCallId": f[0], "kind": f[1], "title": f[2], "status": "pending"}
	r.send(u)
	if r.repeats {
		r.send(u)
	}
	return nil
}

// status ID STATUS [JSON] changes a tool call; JSON is its new content.
func (r *run) status(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	u := fields{"sessionUpdate": "tool_call_update", "toolCallId": f[0], "status": f[1]}
	if len(f) == 3 {
		u["content"] = json.RawMessage(f[2])
	}
	r.send(u)
	return nil
}

// plan STATUS:TEXT; STATUS:TEXT shows a plan.
func (r *run) plan(rest string) error {
	entries := []any{}
	for _, e := range strings.Split(rest, ";") {
		status, text, _ := strings.Cut(strings.TrimSpace(e), ":")
		entries = append(entries, fields{"content": text, "status": status, "priority": "medium"})
	}
	r.send(fields{"sessionUpdate": "plan", "entries": entries})
	return nil
}

// raw JSON sends any update.
func (r *run) raw(rest string) error {
	r.send(json.RawMessage(rest))
	return nil
}

// callRaw METHOD JSON calls the client and says what it answered. SESSION in JSON stands for the
// session's id.
func (r *run) callRaw(rest string) error {
	method, params, _ := strings.Cut(rest, " ")
	result, err := r.call(method, json.RawMessage(strings.ReplaceAll(params, "SESSION", r.s.ID)))
	if err != nil {
		r.say(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // it was said
	}
	r.say(r.s, "`"+string(result)+"`\n")
	return nil
}

// ask ID KIND TITLE asks for permission and says what was chosen.
func (r *run) ask(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	result, err := r.call("session/request_permission", fields{
		"sessionId": r.s.ID, "toolCall": fields{"toolCallId": f[0], "kind": f[1], "title": f[2], "status": "pending"},
		"options": []any{
			fields{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
			fields{"optionId": "always", "name": "Always allow", "kind": "allow_always"},
			fields{"optionId": "no", "name": "Reject", "kind": "reject_once"},
		},
	})
	if err != nil {
		return err
	}
	var p struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(result, &p); err != nil {
		return err
	}
	r.say(r.s, "permission "+strings.TrimSpace(p.Outcome.Outcome+" "+p.Outcome.OptionID)+"\n")
	return nil
}

// until PATH waits for a file to be there.
func (r *run) until(path string) error {
	for !r.s.isCancelled() {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
