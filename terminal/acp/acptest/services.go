package acptest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// runCommand executes "run LINE": it runs a command in a terminal of the client and sends the
// output and the exit status as text.
func (r *promptRun) runCommand(line string) error {
	id, err := r.createTerminal(line)
	if err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // the error was sent as text
	}
	at := fields{"sessionId": r.s.ID, "terminalId": id}
	if _, err := r.callClient("terminal/wait_for_exit", at); err != nil {
		return err
	}
	result, err := r.callClient("terminal/output", at)
	if err != nil {
		return err
	}
	if _, err := r.callClient("terminal/release", at); err != nil {
		return err
	}
	var out struct {
		Output     string
		ExitStatus struct {
			ExitCode *int
			Signal   *string
		}
	}
	if err := json.Unmarshal(result, &out); err != nil {
		return err
	}
	end := "no status"
	switch {
	case out.ExitStatus.Signal != nil:
		end = *out.ExitStatus.Signal
	case out.ExitStatus.ExitCode != nil:
		end = strconv.Itoa(*out.ExitStatus.ExitCode)
	}
	r.sendText(r.s, fmt.Sprintf("%s(exit %s)\n", out.Output, end))
	return nil
}

func (r *promptRun) createTerminal(line string) (string, error) {
	result, err := r.callClient("terminal/create", fields{"sessionId": r.s.ID, "command": line})
	if err != nil {
		return "", err
	}
	var p struct{ TerminalID string }
	if err := json.Unmarshal(result, &p); err != nil {
		return "", err
	}
	r.s.terminals = append(r.s.terminals, p.TerminalID)
	return p.TerminalID, nil
}

// embedTerminal executes "embed ID LINE": it starts a command and a tool call that shows its
// terminal, and leaves the command running.
func (r *promptRun) embedTerminal(rest string) error {
	id, line, _ := strings.Cut(rest, " ")
	terminal, err := r.createTerminal(line)
	if err != nil {
		return err
	}
	r.send(fields{
		"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "title": line, "status": "in_progress",
		"content": []any{fields{"type": "terminal", "terminalId": terminal}},
	})
	return nil
}

// readFile executes "read PATH [LINE LIMIT]": it sends the content of a file as text.
func (r *promptRun) readFile(rest string) error {
	f := strings.Fields(rest)
	p := fields{"sessionId": r.s.ID, "path": f[0]}
	if len(f) == 3 {
		p["line"], p["limit"] = json.RawMessage(f[1]), json.RawMessage(f[2])
	}
	result, err := r.callClient("fs/read_text_file", p)
	if err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // the error was sent as text
	}
	var out struct{ Content string }
	_ = json.Unmarshal(result, &out)
	r.sendText(r.s, out.Content)
	return nil
}

// writeFile executes "write PATH TEXT".
func (r *promptRun) writeFile(rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	if _, err := r.callClient("fs/write_text_file", fields{"sessionId": r.s.ID, "path": path, "content": text}); err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // the error was sent as text
	}
	r.sendText(r.s, "written\n")
	return nil
}

// RecordedCall is a call of recordCall.
type RecordedCall struct {
	Method string
	Params json.RawMessage
	Before string // content of the file with the path in Params before the call
	OK     bool   // the client did not refuse it
}

// recordCall executes "record PATH METHOD JSON": it calls the client, waits for the command if the
// call started one, and appends a RecordedCall to a file. SESSION in JSON stands for the session's
// ID.
func (r *promptRun) recordCall(rest string) error {
	path, rest, _ := strings.Cut(rest, " ")
	method, params, _ := strings.Cut(rest, " ")
	c := RecordedCall{Method: method, Params: json.RawMessage(strings.ReplaceAll(params, "SESSION", r.s.ID))}
	var p struct{ Path, TerminalID string }
	if err := json.Unmarshal(c.Params, &p); err != nil {
		return err
	}
	before, _ := os.ReadFile(p.Path)
	c.Before = string(before)
	result, err := r.callClient(method, c.Params)
	c.OK = err == nil
	if c.OK && method == "terminal/create" {
		if err := json.Unmarshal(result, &p); err != nil {
			return err
		}
		at := fields{"sessionId": r.s.ID, "terminalId": p.TerminalID}
		for _, method := range []string{"terminal/wait_for_exit", "terminal/release"} {
			if _, err := r.callClient(method, at); err != nil {
				return err
			}
		}
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// spawnCommand executes "spawn LINE": it calls terminal/create and does not wait for the response.
func (r *promptRun) spawnCommand(line string) error {
	answer, _ := r.startCall("terminal/create", fields{"sessionId": r.s.ID, "command": line})
	r.spawned = append(r.spawned, answer)
	return nil
}

// gatherSpawned executes "gather": it sends the responses to the calls of spawnCommand as text.
func (r *promptRun) gatherSpawned(string) error {
	for _, answer := range r.spawned {
		if m := <-answer; m.Error != nil {
			r.sendText(r.s, "error "+m.Error.Error()+"\n")
		} else {
			r.sendText(r.s, "`"+string(m.Result)+"`\n")
		}
	}
	r.spawned = nil
	return nil
}
