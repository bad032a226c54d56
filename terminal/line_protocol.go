package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"nanobot/internal/words"
)

// LineFunc handles one line of output. An error kills the agent and is returned from the turn.
type LineFunc func(line []byte, end *FinalResponse) error

// StartFunc is called after the start of the agent and before its output is read. ctx ends with the
// output. Writes to stdin block while the agent does not read, and fail when it has exited. wait is
// called once the agent is reaped, and returns when all goroutines that start and handle have
// started are done.
type StartFunc func(ctx context.Context, stdin io.Writer) (handle LineFunc, wait func(AgentExit))

// ReadLines is a turn of a protocol whose agent is started once, reads the envelope and prints
// lines: it launches the agent, passes each line to handle, and emits the final response.
func (t Turn) ReadLines(ctx context.Context, handle LineFunc) (Outcome, error) {
	return t.runLines(ctx, lineOptions{start: func(context.Context, io.Writer) (LineFunc, func(AgentExit)) {
		return handle, func(AgentExit) {}
	}})
}

// ReadLinesInteractive is ReadLines for protocols that also write to the agent while it runs.
func (t Turn) ReadLinesInteractive(ctx context.Context, start StartFunc) (Outcome, error) {
	return t.runLines(ctx, lineOptions{keepOpen: true, start: start})
}

// lineOptions configures a turn of a line protocol.
type lineOptions struct {
	start    StartFunc
	keepOpen bool // stdin stays open after the first input
	// watch, if not nil, is written what is read from the agent. It must not wait.
	watch io.Writer
	// beforeFinal, if not nil, is called before the final response is emitted.
	beforeFinal func()
}

func (t Turn) runLines(ctx context.Context, o lineOptions) (Outcome, error) {
	first, err := t.firstInput()
	if err != nil {
		return Outcome{}, err
	}
	out, err := t.runLinesOnce(ctx, first, o)
	if errors.Is(err, errNothingRead) { // the next launch is a cold start
		out, err = t.runLinesOnce(ctx, first, o)
	}
	return out, err
}

// errNothingRead says that an agent which had been waiting for its message has ended without
// reading it, and written nothing.
var errNothingRead = errors.New("the agent has not read its message")

func (t Turn) runLinesOnce(ctx context.Context, first []byte, o lineOptions) (Outcome, error) {
	// A question that is cancelled with the turn is answered after the agent got its signal.
	signalled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	agent, err := t.Launch(ctx, Input{
		First: first, KeepOpen: o.keepOpen, onStop: cancel,
		onAllExited: func() { t.Report(AllExited{}) },
	})
	if err != nil {
		return Outcome{}, err
	}
	handle, wait := o.start(signalled, agent)
	finish := sync.OnceValue(func() AgentExit {
		cancel(nil)
		// An agent that has closed its output may still read its input to the end before it exits.
		agent.CloseInput()
		ended := agent.Wait() // unblocks pending writes
		wait(ended)
		return ended
	})
	// No process may survive a panic in handle either.
	defer func() {
		agent.Kill()
		finish()
	}()
	end := NewFinalResponse(t.MaxOutput)
	end.prints = true
	written := &byteCounter{}
	output := io.TeeReader(agent.Stdout, written)
	if o.watch != nil {
		output = io.TeeReader(output, o.watch)
	}
	if err := t.readLines(NewLineReader(output, t.MaxLine), end, handle); err != nil {
		return Outcome{}, err
	}
	ended := finish()
	if ended.NothingRead && written.n == 0 {
		return Outcome{}, errNothingRead
	}
	if o.beforeFinal != nil {
		o.beforeFinal()
	}
	if err := ended.Shortage(); err != nil {
		return Outcome{}, err
	}
	return end.Emit(t, ended)
}

// byteCounter counts what is written to it.
type byteCounter struct{ n int }

func (c *byteCounter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// firstInput returns what is written to stdin first. Text ends with a newline, for programs that
// read lines.
func (t Turn) firstInput() ([]byte, error) {
	switch t.Stdin {
	case "text":
		return []byte(strings.TrimSuffix(t.Envelope.Text, "\n") + "\n"), nil
	case "none":
		return nil, nil
	}
	return t.Envelope.Line()
}

func (t Turn) readLines(lines *LineReader, end *FinalResponse, handle LineFunc) error {
	for {
		line, err := lines.Next()
		var long *LongLineError
		switch {
		case err == nil:
			if err := handle(line, end); err != nil {
				return err
			}
		case errors.As(err, &long):
			end.AddRemark(t.Words.Text(words.LineSkipped, long.Size, long.Max))
			if err := t.Emit(Frame{
				Kind: Log, Level: "warning", Text: long.Error(), Mistake: NewMistake(LongLine, nil),
			}); err != nil {
				return err
			}
		default:
			// A pipe that cannot be read any more has ended, whatever the error.
			return nil
		}
	}
}
