package blocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/shellrun"
)

// truncated marks an output that was cut.
const truncated = "\n... (output truncated)"

// runShell runs a command of RUN_COMMAND and returns its result. The end of ctx kills the command
// and makes the result meaningless.
func (x *turn) runShell(ctx context.Context, command string) Result {
	shown, limit := shortSummary(command), x.settings.OutputLimit
	ran, err := shellrun.Run(ctx, command, shellrun.Options{
		ExecEnv: x.t.ExecEnv(), Timeout: x.settings.timeout(), Head: (limit + 1) * utf8.UTFMax,
		OnStart: func(pid int) { x.t.Report(terminal.Launched(pid)) },
	})
	var result Result
	switch {
	case err != nil:
		result = newResult(RunCommand, false, words.BlocksRunFailed, shown, errorReason(words.Words{}, err))
	case ran.TimedOut:
		result = newResult(RunCommand, false, words.BlocksRunTimedOut, x.settings.Timeout, shown)
	default:
		result = newResult(RunCommand, ran.Code == 0, words.BlocksRan, shown, ran.Code)
	}
	result.Output = combineOutput(ran.Stdout, ran.Stderr, limit)
	return result
}

// combineOutput joins stdout and stderr for the model.
func combineOutput(stdout, stderr *process.Bounded, limit int) string {
	text := validText(stdout.Head())
	if errors := validText(stderr.Head()); strings.TrimSpace(errors) != "" {
		if strings.TrimSpace(text) != "" {
			text += "\n"
		}
		text += errors
	}
	if short := firstCharacters(text, limit); short != text {
		return short + truncated
	}
	return text
}

// validText returns text with U+FFFD for each byte that is not UTF-8.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// maxSummary limits the characters of a command, path or message in a result.
const maxSummary = 4000

// shortSummary shortens a text for a result.
func shortSummary(text string) string { return terminal.Shorten(validText([]byte(text)), maxSummary) }

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
