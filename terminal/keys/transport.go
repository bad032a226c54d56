package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// exitGrace is how long an agent has to exit after its input is closed, before SIGTERM, and then
// before SIGKILL.
const exitGrace = 3 * time.Second

// request is the input of an agent for one step.
type request struct {
	Instruction string `json:"instruction"`
	Screen      string `json:"screen"`
	Step        int    `json:"step"`
}

// transport runs an agent and exchanges requests and responses with it.
type transport interface {
	// start is called once, before the first request. The end of ctx ends the agent.
	start(ctx context.Context) error
	// roundTrip sends a request to the agent and returns its response. The end of ctx ends the
	// agent.
	roundTrip(ctx context.Context, r request) (string, error)
	// recordStep is called with the parsed response after it was executed.
	recordStep(step int, r Response)
	// endGracefully lets the agent exit by itself, kill kills it. Both return when it is dead, and
	// may be called one after the other.
	endGracefully() terminal.AgentExit
	kill() terminal.AgentExit
}

func newTransport(t terminal.Turn, set *Settings) transport {
	if set.Agent == turnAgent {
		return &turnTransport{t: t, prompt: prompt{format: Format(set.Format)}}
	}
	return &lineTransport{t: t}
}

// exitedError means that the agent has exited before its task was complete.
type exitedError struct{ exit terminal.AgentExit }

func (e *exitedError) Error() string {
	return words.Words{}.Text(words.KeysAgentEnded, e.exit.Description(words.Words{}))
}

func isLongLine(err error) bool {
	var long *terminal.LongLineError
	return errors.As(err, &long)
}

// logStderr logs the agent's standard error.
func logStderr(t terminal.Turn, ended terminal.AgentExit) {
	if text := ended.Stderr.String(); text != "" {
		_ = t.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: text}) // log frames are never refused
	}
}

// lineTransport runs one process per turn, which reads and prints one line per step.
type lineTransport struct {
	t     terminal.Turn
	agent *terminal.Agent // nil before start
	lines *terminal.LineReader
	input *inputQueue
	write sync.WaitGroup // the goroutine that writes input
	wait  func() terminal.AgentExit
}

func (l *lineTransport) roundTrip(ctx context.Context, r request) (string, error) {
	stop := context.AfterFunc(ctx, func() { l.agent.Stop(exitGrace) })
	defer stop()
	line, err := terminal.EncodeLine(r)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	// The input is queued, since an agent may print before it has read everything. The end of the
	// output shows that the agent has exited.
	l.input.add(line, maxQueued)
	for {
		answer, err := l.lines.Next()
		switch {
		case isLongLine(err):
			return "", err
		case err != nil:
			return "", &exitedError{l.endGracefully()}
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
	l.agent, l.lines = agent, terminal.NewLineReader(&lineLimiter{from: agent.Stdout, limit: l.t.MaxLine}, l.t.MaxLine)
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

// lineLimiter ends the output within a line that is too long, because the line may never end.
type lineLimiter struct {
	from  io.Reader
	limit int
	line  int // length of the current line so far
}

func (g *lineLimiter) Read(p []byte) (int, error) {
	if g.line > g.limit+len("\r") {
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

func (l *lineTransport) recordStep(int, Response) {}

// endGracefully closes the agent's input, which signals the end of the task. Queued input is
// discarded.
func (l *lineTransport) endGracefully() terminal.AgentExit {
	if l.agent == nil {
		return terminal.AgentExit{Exit: process.Exit{Stderr: process.NewBounded(0, 0)}}
	}
	l.input.discard()
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
	return l.endGracefully()
}

// turnTransport runs one process per step, which reads a prompt and prints a response.
type turnTransport struct {
	t      terminal.Turn
	prompt prompt
	last   terminal.AgentExit
}

func (p *turnTransport) start(context.Context) error { return nil }

func (p *turnTransport) roundTrip(ctx context.Context, r request) (string, error) {
	agent, err := p.t.Launch(ctx, terminal.Input{First: []byte(p.prompt.text(r))})
	if err != nil {
		return "", err
	}
	answer, ended, err := agent.ReadResponse(p.t.MaxLine)
	p.last = ended
	switch {
	case err != nil:
		return "", fmt.Errorf("read response: %w", err)
	case !p.last.OK():
		return "", &exitedError{p.last}
	}
	logStderr(p.t, p.last)
	return string(answer), nil
}

func (p *turnTransport) recordStep(step int, r Response) { p.prompt.addStep(step, r) }

func (p *turnTransport) endGracefully() terminal.AgentExit {
	if p.last.Stderr == nil {
		p.last.Stderr = process.NewBounded(0, 0)
	}
	return p.last
}

func (p *turnTransport) kill() terminal.AgentExit { return p.endGracefully() }
