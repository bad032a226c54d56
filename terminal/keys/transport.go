package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

// exitGrace is how long an agent has to exit when its input has ended, before it gets SIGTERM, and
// then before it gets SIGKILL.
const exitGrace = 3 * time.Second

// request is what an agent is told in one step.
type request struct {
	Instruction string `json:"instruction"`
	Screen      string `json:"screen"`
	Step        int    `json:"step"`
}

// transport is how an agent is run and talked with.
type transport interface {
	// start is called once, before the first request. When ctx ends, the agent is ended.
	start(ctx context.Context) error
	// respond hands the agent a request and returns its response. When ctx ends, the agent is
	// ended.
	respond(ctx context.Context, r request) (string, error)
	// recordStep is told what was understood of a response and carried out.
	recordStep(step int, r Response)
	// finish lets the agent end by itself, and kill ends it. Both return when it is dead, and may
	// be called after each other.
	finish() terminal.AgentExit
	kill() terminal.AgentExit
}

func newTransport(t terminal.Turn, set *Settings) transport {
	if set.Agent == turnAgent {
		return &turnTransport{t: t, prompt: prompt{format: Format(set.Format)}}
	}
	return &lineTransport{t: t}
}

// exitedError says that the agent has ended before its task was complete.
type exitedError struct{ ended terminal.AgentExit }

func (e *exitedError) Error() string {
	return "The agent has ended before the task was complete (" + e.ended.Description() + ")"
}

func isLongLine(err error) bool {
	var long *terminal.LongLineError
	return errors.As(err, &long)
}

// logStderr hands the agent's standard error to the log.
func logStderr(t terminal.Turn, ended terminal.AgentExit) {
	if text := ended.Stderr.String(); text != "" {
		_ = t.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: text}) // a log frame is never refused
	}
}

// lineTransport runs one process for a turn, which reads and prints a line for each step.
type lineTransport struct {
	t     terminal.Turn
	agent *terminal.Agent // nil before start
	lines *terminal.LineReader
	input *inputQueue
	write sync.WaitGroup // the writer of input
	wait  func() terminal.AgentExit
}

func (l *lineTransport) respond(ctx context.Context, r request) (string, error) {
	stop := context.AfterFunc(ctx, func() { l.agent.Stop(exitGrace) })
	defer stop()
	line, err := encodeLine(r)
	if err != nil {
		return "", err
	}
	// An agent may print before it has read everything. One that is gone is noticed by its output.
	l.input.add(line, mostQueued)
	for {
		answer, err := l.lines.Next()
		switch {
		case isLongLine(err):
			return "", err
		case err != nil:
			return "", &exitedError{l.finish()}
		case len(bytes.TrimSpace(answer)) > 0:
			return string(answer), nil
		}
	}
}

func (l *lineTransport) start(ctx context.Context) error {
	agent, err := l.t.Launch(ctx, terminal.Input{KeepOpen: true})
	if err != nil {
		return err
	}
	l.agent, l.lines = agent, terminal.NewLineReader(&lineGuard{from: agent.Stdout, most: l.t.MaxLine}, l.t.MaxLine)
	l.input = newInputQueue(agent)
	l.write.Go(l.input.run)
	l.wait = sync.OnceValue(func() terminal.AgentExit {
		ended := agent.Wait()
		l.input.close()
		l.write.Wait()
		return ended
	})
	return nil
}

// lineGuard ends the output within a line that is too long: its end may never come.
type lineGuard struct {
	from io.Reader
	most int
	line int // bytes of the line that is being read
}

func (g *lineGuard) Read(p []byte) (int, error) {
	if g.line > g.most+len("\r") {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := g.from.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		g.line = n - i - 1
	} else {
		g.line += n
	}
	return n, err
}

// encodeLine writes a request as one line.
func encodeLine(r request) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return b.Bytes(), nil
}

func (l *lineTransport) recordStep(int, Response) {}

// finish closes the agent's input, which tells it that there is nothing more to do. What is still
// to be written is dropped.
func (l *lineTransport) finish() terminal.AgentExit {
	if l.agent == nil {
		return terminal.AgentExit{Exit: process.Exit{Stderr: process.NewBounded(0, 0)}}
	}
	l.input.drop()
	l.agent.CloseInput()
	timer := time.AfterFunc(exitGrace, func() { l.agent.Stop(exitGrace) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, l.agent.Stdout)
	return l.wait()
}

func (l *lineTransport) kill() terminal.AgentExit {
	if l.agent != nil {
		l.agent.Kill()
	}
	return l.finish()
}

// turnTransport runs one process for each step, which reads a prompt and prints a response.
type turnTransport struct {
	t      terminal.Turn
	prompt prompt
	last   terminal.AgentExit
}

func (p *turnTransport) start(context.Context) error { return nil }

func (p *turnTransport) respond(ctx context.Context, r request) (string, error) {
	agent, err := p.t.Launch(ctx, terminal.Input{First: []byte(p.prompt.text(r))})
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(agent.Stdout, int64(p.t.MaxLine)+1))
	tooLong := len(answer) > p.t.MaxLine
	if tooLong || err != nil {
		agent.Kill()
	}
	p.last = agent.Wait()
	switch {
	case tooLong:
		return "", &terminal.LongLineError{Size: int64(len(answer)), Max: p.t.MaxLine}
	case err != nil:
		return "", fmt.Errorf("read response: %w", err)
	case !p.last.OK():
		return "", &exitedError{p.last}
	}
	logStderr(p.t, p.last)
	return string(answer), nil
}

func (p *turnTransport) recordStep(step int, r Response) { p.prompt.add(step, r) }

func (p *turnTransport) finish() terminal.AgentExit {
	if p.last.Stderr == nil {
		p.last.Stderr = process.NewBounded(0, 0)
	}
	return p.last
}

func (p *turnTransport) kill() terminal.AgentExit { return p.finish() }
