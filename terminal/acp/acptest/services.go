package acptest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// command LINE runs a command in a terminal of the client and says what came of it.
func (r *promptRun) command(line string) error {
	id, err := r.create(line)
	if err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // it was said
	}
	at := fields{"sessionId": r.s.ID, "terminalId": id}
	if _, err := r.call("terminal/wait_for_exit", at); err != nil {
		return err
	}
	result, err := r.call("terminal/output", at)
	if err != nil {
		return err
	}
	if _, err := r.call("terminal/release", at); err != nil {
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

func (r *promptRun) create(line string) (string, error) {
	result, err := r.call("terminal/create", fields{"sessionId": r.s.ID, "command": line})
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

// embed ID LINE begins a tool call with a command that runs in it, and leaves it running.
func (r *promptRun) embed(rest string) error {
	id, line, _ := strings.Cut(rest, " ")
	terminal, err := r.create(line)
	if err != nil {
		return err
	}
	r.send(fields{
		"sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "title": line, "status": "in_progress",
		"content": []any{fields{"type": "terminal", "terminalId": terminal}},
	})
	return nil
}

// read PATH [LINE LIMIT] says what is in a file.
func (r *promptRun) read(rest string) error {
	f := strings.Fields(rest)
	p := fields{"sessionId": r.s.ID, "path": f[0]}
	if len(f) == 3 {
		p["line"], p["limit"] = json.RawMessage(f[1]), json.RawMessage(f[2])
	}
	result, err := r.call("fs/read_text_file", p)
	if err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // it was said
	}
	var out struct{ Content string }
	_ = json.Unmarshal(result, &out)
	r.sendText(r.s, out.Content)
	return nil
}

// write PATH TEXT writes a file.
func (r *promptRun) write(rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	if _, err := r.call("fs/write_text_file", fields{"sessionId": r.s.ID, "path": path, "content": text}); err != nil {
		r.sendText(r.s, "error "+err.Error()+"\n")
		return nil //nolint:nilerr // it was said
	}
	r.sendText(r.s, "written\n")
	return nil
}

// spawn LINE asks for a command and does not wait for the answer.
func (r *promptRun) spawn(line string) error {
	answer, _ := r.startCall("terminal/create", fields{"sessionId": r.s.ID, "command": line})
	r.begun = append(r.begun, answer)
	return nil
}

// gather waits for what spawn asked for, and says the answers.
func (r *promptRun) gather(string) error {
	for _, answer := range r.begun {
		if m := <-answer; m.Error != nil {
			r.sendText(r.s, "error "+m.Error.Error()+"\n")
		} else {
			r.sendText(r.s, "`"+string(m.Result)+"`\n")
		}
	}
	r.begun = nil
	return nil
}
