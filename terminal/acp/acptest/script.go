package acptest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// prompt executes the prompt, one step per line. Lines that are not steps are echoed.
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
	if !a.queueing {
		a.addSession(s) // an earlier cancel does not count
	}
	s.Said = append(s.Said, strings.Join(text, "\n"))
	a.saveSession(s)
	r := &promptRun{agent: a, s: s, blocks: blocks, reason: "end_turn"}
	for _, line := range strings.Split(strings.Join(text, "\n"), "\n") {
		if err := r.step(line); err != nil {
			return nil, err
		}
		if r.isOver() {
			break
		}
	}
	answer := fields{"stopReason": r.reason}
	for name, value := range r.answer {
		answer[name] = value
	}
	return answer, nil
}

// sendLate sends updates after the response.
func (a *agent) sendLate(m message) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p) // most messages have none
	s := a.findSession(p.SessionID)
	switch {
	case s == nil:
		return
	case m.Method == "session/load" && a.replayLate:
		a.replay(s, 10*time.Millisecond)
		return
	case m.Method != "session/prompt":
		return
	}
	for _, text := range s.late {
		if strings.HasPrefix(text, "{") {
			a.sendUpdate(s.ID, json.RawMessage(text))
		} else {
			a.sendText(s, text)
		}
	}
	s.late = nil
}

func (a *agent) sendText(s *session, text string) {
	a.sendUpdate(s.ID, chunk("agent_message_chunk", text))
}

func chunk(kind, text string) fields {
	return fields{"sessionUpdate": kind, "content": fields{"type": "text", "text": text}}
}

// promptRun is the execution of one prompt.
type promptRun struct {
	*agent
	s       *session
	blocks  json.RawMessage
	reason  string
	answer  map[string]json.RawMessage // further fields of the response
	ended   bool
	spawned []chan message // responses to the calls of spawnCommand
}

// isOver reports whether the prompt has ended.
func (r *promptRun) isOver() bool {
	if r.s.isCancelled() {
		r.reason, r.ended = "cancelled", true
	}
	return r.ended
}

func (r *promptRun) step(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if do, ok := steps[word]; ok {
		return do(r, rest)
	}
	r.sendText(r.s, "You said: "+line+"\n")
	return nil
}

// steps are the steps of a prompt.
var steps = map[string]func(r *promptRun, rest string) error{
	"say":     func(r *promptRun, text string) error { r.sendText(r.s, text); return nil },
	"think":   func(r *promptRun, text string) error { r.send(chunk("agent_thought_chunk", text)); return nil },
	"message": (*promptRun).sendMessageWithID,
	"chunks":  (*promptRun).sendChunks,
	"flow":    (*promptRun).sendAtRate,
	"tool":    (*promptRun).startTool,
	"status":  (*promptRun).updateTool,
	"edited":  (*promptRun).completeEdit,
	"plan":    (*promptRun).showPlan,
	"raw":     (*promptRun).sendRaw,
	"quiet":   (*promptRun).callQuietly,
	"call":    (*promptRun).callRaw,
	"record":  (*promptRun).recordCall,
	"ask":     (*promptRun).askPermission,
	"run":     (*promptRun).runCommand,
	"spawn":   (*promptRun).spawnCommand,
	"child":   (*promptRun).startChild,
	"gather":  (*promptRun).gatherSpawned,
	"embed":   (*promptRun).embedTerminal,
	"read":    (*promptRun).readFile,
	"write":   (*promptRun).writeFile,
	"noise":   func(r *promptRun, text string) error { r.printNoise(text); return nil },
	"late":    func(r *promptRun, text string) error { r.s.late = append(r.s.late, text); return nil },
	"env":     func(r *promptRun, name string) error { r.sendText(r.s, name+"="+os.Getenv(name)); return nil },
	"blocks":  func(r *promptRun, _ string) error { r.sendText(r.s, "`"+string(r.blocks)+"`"); return nil },
	"servers": func(r *promptRun, _ string) error { r.sendText(r.s, "`"+string(r.s.servers)+"`"); return nil },
	"history": func(r *promptRun, _ string) error {
		r.sendText(r.s, fmt.Sprintf("prompts so far: %d", len(r.s.Said)))
		return nil
	},
	"state": func(r *promptRun, _ string) error { r.sendText(r.s, "mode "+r.s.Mode+", model "+r.s.Model); return nil },
	"options": func(r *promptRun, _ string) error {
		r.sendText(r.s, fmt.Sprintf("effort %s, thinking %v", r.s.Effort, r.s.Thinking))
		return nil
	},
	"capabilities": func(r *promptRun, _ string) error {
		r.sendText(r.s, fmt.Sprintf("fs %v %v\n", r.caps.FS.Read, r.caps.FS.Write))
		return nil
	},
	"announced": func(r *promptRun, _ string) error { r.sendText(r.s, "`"+string(r.announced)+"`"); return nil },
	"pid":       func(r *promptRun, _ string) error { r.sendText(r.s, fmt.Sprintf("pid %d", os.Getpid())); return nil },
	"stop":      func(r *promptRun, reason string) error { r.reason, r.ended = reason, true; return nil },
	"answer":    func(r *promptRun, text string) error { return json.Unmarshal([]byte(text), &r.answer) },
	"fail":      func(_ *promptRun, text string) error { return &Problem{-32603, text} },
	"exit":      func(_ *promptRun, code string) error { n, _ := strconv.Atoi(code); os.Exit(n); return nil },
	"die":       func(*promptRun, string) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"hang":      func(*promptRun, string) error { select {} },
	"await":     func(r *promptRun, _ string) error { <-r.s.cancelled; return nil },
	"until":     (*promptRun).awaitFile,
	"steer":     (*promptRun).awaitPrompt,
	"complete":  (*promptRun).completeElicitation,
	"stderr":    func(_ *promptRun, text string) error { fmt.Fprintln(os.Stderr, text); return nil },
}

func (r *promptRun) send(update any) { r.sendUpdate(r.s.ID, update) }

// sendMessageWithID executes "message ID TEXT": it sends a text with this message ID.
func (r *promptRun) sendMessageWithID(rest string) error {
	id, text, _ := strings.Cut(rest, " ")
	u := chunk("agent_message_chunk", text)
	u["messageId"] = id
	r.send(u)
	return nil
}

// sendChunks executes "chunks N": it sends N numbered words as fast as possible.
func (r *promptRun) sendChunks(rest string) error {
	n, err := strconv.Atoi(rest)
	for i := range n {
		r.sendText(r.s, fmt.Sprintf("w%07d ", i))
	}
	return err
}

// sendAtRate executes "flow SECONDS RATE": it sends RATE numbered words per second.
func (r *promptRun) sendAtRate(rest string) error {
	var seconds, rate int
	if _, err := fmt.Sscan(rest, &seconds, &rate); err != nil {
		return err
	}
	began := time.Now()
	for i := range seconds * rate {
		if i%(rate/100) == 0 {
			time.Sleep(time.Until(began.Add(time.Second * time.Duration(i) / time.Duration(rate))))
		}
		r.sendText(r.s, fmt.Sprintf("w%07d ", i))
	}
	return nil
}

// startTool executes "tool ID KIND TITLE": it starts a tool call.
func (r *promptRun) startTool(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	if len(f) < 3 {
		return &Problem{-32602, "tool ID KIND TITLE"}
	}
	u := fields{"sessionUpdate": "tool_call", "toolCallId": f[0], "kind": f[1], "title": f[2], "status": "pending"}
	r.send(u)
	if r.repeatTools {
		r.send(u)
	}
	return nil
}

// updateTool executes "status ID STATUS [JSON]": it changes a tool call. JSON is its new content.
func (r *promptRun) updateTool(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	u := fields{"sessionUpdate": "tool_call_update", "toolCallId": f[0], "status": f[1]}
	if len(f) == 3 {
		u["content"] = json.RawMessage(f[2])
	}
	r.send(u)
	return nil
}

// completeEdit executes "edited ID PATH LINES": it completes a tool call that has replaced the line
// of a file in the working folder by LINES lines.
func (r *promptRun) completeEdit(rest string) error {
	var id, path string
	var lines int
	if _, err := fmt.Sscan(rest, &id, &path, &lines); err != nil {
		return &Problem{-32602, "edited ID PATH LINES"}
	}
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "new line %d of %s\n", i+1, path)
	}
	r.send(fields{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "content": []any{
		fields{"type": "diff", "path": filepath.Join(r.s.Cwd, path), "oldText": "old\n", "newText": text.String()},
	}})
	return nil
}

// showPlan executes "plan STATUS:TEXT; STATUS:TEXT".
func (r *promptRun) showPlan(rest string) error {
	entries := []any{}
	for _, e := range strings.Split(rest, ";") {
		status, text, _ := strings.Cut(strings.TrimSpace(e), ":")
		entries = append(entries, fields{"content": text, "status": status, "priority": "medium"})
	}
	r.send(fields{"sessionUpdate": "plan", "entries": entries})
	return nil
}

// sendRaw executes "raw JSON": it sends any update.
func (r *promptRun) sendRaw(rest string) error {
	r.send(json.RawMessage(rest))
	return nil
}

// callRaw executes "call METHOD JSON": it calls the client and sends the response as text. SESSION
// in JSON stands for the session's ID.
func (r *promptRun) callRaw(rest string) error {
	method, params, _ := strings.Cut(rest, " ")
	result, err := r.callClient(method, json.RawMessage(strings.ReplaceAll(params, "SESSION", r.s.ID)))
	if err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // the error was sent as text
	}
	r.sendText(r.s, "`"+string(result)+"`\n")
	return nil
}

// callQuietly is callRaw without the text.
func (r *promptRun) callQuietly(rest string) error {
	method, params, _ := strings.Cut(rest, " ")
	_, err := r.callClient(method, json.RawMessage(strings.ReplaceAll(params, "SESSION", r.s.ID)))
	return err
}

// askPermission executes "ask ID KIND TITLE": it asks for permission and sends the choice as text.
func (r *promptRun) askPermission(rest string) error {
	f := strings.SplitN(rest, " ", 3)
	result, err := r.callClient("session/request_permission", fields{
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
	r.sendText(r.s, "permission "+strings.TrimSpace(p.Outcome.Outcome+" "+p.Outcome.OptionID)+"\n")
	return nil
}

// startChild executes "child COMMAND": the agent runs the command itself, in a session of its own,
// and neither waits for it nor ends it.
func (r *promptRun) startChild(command string) error {
	child := exec.Command("/bin/sh", "-c", command)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	go func() { _ = child.Wait() }() // how it ends does not matter
	return nil
}

// completeElicitation executes "complete ID PATH": once the file exists, it notifies the client
// that an elicitation is complete. It does not wait for that.
func (r *promptRun) completeElicitation(rest string) error {
	id, path, _ := strings.Cut(rest, " ")
	params, err := json.Marshal(fields{"elicitationId": id})
	if err != nil {
		return err
	}
	go func() {
		if r.awaitFile(path) == nil {
			r.sendMessage(message{Method: "elicitation/complete", Params: params})
		}
	}()
	return nil
}

// awaitFile executes "until PATH": it waits until the file exists.
func (r *promptRun) awaitFile(path string) error {
	for !r.s.isCancelled() {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
