package acptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// proxy relays the messages between a client and a real agent.
type proxy struct {
	dir string

	mu      sync.Mutex
	log     *os.File
	pending map[string]string // methods of the agent's calls by their IDs
}

// Proxy runs the command of a real agent, and returns its exit status. It relays all messages,
// checks those of the client against the schema and records violations as the scripted agent does.
// All messages are in the file wire in the folder dir.
func Proxy(dir string, command []string) int {
	log, err := os.OpenFile(filepath.Join(dir, "wire"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer log.Close()
	p := &proxy{dir: dir, log: log, pending: map[string]string{}}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		return 1
	}
	go func() {
		p.relay(os.Stdin, stdin, "> ", p.checkClient)
		stdin.Close()
	}()
	p.relay(stdout, os.Stdout, "< ", p.noteCall)
	if err := cmd.Wait(); err != nil {
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

// relay copies lines and passes each message to inspect.
func (p *proxy) relay(from io.Reader, to io.Writer, mark string, inspect func(message) error) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			p.inspectLine(line, mark, inspect)
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) inspectLine(line []byte, mark string, inspect func(message) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.log, "%s%s", mark, line)
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	if err := inspect(m); err != nil {
		recordViolation(p.dir, err.Error())
	}
}

// noteCall remembers the method of an agent's call, which the client's response does not have.
func (p *proxy) noteCall(m message) error {
	if m.Method != "" && m.ID != nil {
		p.pending[string(m.ID)] = m.Method
	}
	return nil
}

// checkClient validates a message of the client.
func (p *proxy) checkClient(m message) error {
	if m.Method != "" {
		if name, ok := requestShapes[m.Method]; ok {
			return Check(name, m.Params)
		}
		return nil
	}
	method := p.pending[string(m.ID)]
	delete(p.pending, string(m.ID))
	if name, ok := responseShapes[method]; ok && m.Error == nil {
		return Check(name, m.Result)
	}
	return nil
}
