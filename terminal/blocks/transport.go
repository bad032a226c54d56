package blocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// commandTransport runs the agent's command once per round, with the outbox on stdin and the
// response on stdout.
type commandTransport struct{ x *turn }

func (c *commandTransport) roundTrip(ctx context.Context) (response, error) {
	x := c.x
	name := roundFile(x.s.ID, x.s.Sequence)
	if _, err := x.files.inbox.Lstat(name); err == nil { // stored before a crash
		return response{name: name}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return response{}, fmt.Errorf("look for response: %w", err)
	}
	text, err := readFile(x.files.outbox, name, maxOutbox)
	if err != nil {
		return response{}, fmt.Errorf("read outbox: %w", err)
	}
	answer, err := c.runAgent(ctx, text)
	if err != nil {
		return response{}, err
	}
	return response{name: name}, writeFile(x.files.inbox, name, answer, true)
}

// maxOutbox limits the outbox that is passed to the command.
const maxOutbox = 256 << 20

// runAgent runs the command and returns its output.
func (c *commandTransport) runAgent(ctx context.Context, outbox []byte) ([]byte, error) {
	agent, err := c.x.t.Launch(ctx, terminal.Input{First: outbox})
	if err != nil {
		return nil, err
	}
	answer, ended, err := agent.ReadResponse(c.x.t.MaxLine)
	var long *terminal.LongLineError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &long):
		ended.Forced, ended.Code, ended.Signal = false, 1, ""
		return nil, &agentError{c.x.text(words.BlocksAnswerLong, c.x.t.MaxLine), ended}
	case err != nil:
		return nil, fmt.Errorf("read response: %w", err)
	case !ended.OK():
		return nil, &agentError{c.x.text(words.BlocksAgentFailed, ended.Description(c.x.t.Words)), ended}
	}
	if text := ended.Stderr.String(); text != "" {
		return answer, c.x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: text})
	}
	return answer, nil
}
