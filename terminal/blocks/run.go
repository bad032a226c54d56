package blocks

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

const (
	// silence is how long a process that a command left behind may hold its output in silence, and
	// chatter how long one that goes on writing is read.
	silence, chatter = 50 * time.Millisecond, 500 * time.Millisecond
	// maxCommand is the longest command that the shell is handed: Linux bounds a single argument
	// (MAX_ARG_STRLEN, less the final NUL).
	maxCommand = 128<<10 - 1
	// truncated follows an output that is too long.
	truncated = "\n... (output truncated)"
)

// commandRun says how RUN_COMMAND runs commands.
type commandRun struct {
	place   terminal.Place
	timeout time.Duration
	limit   int // characters of output
	started func(pid int)
}

// run runs a command and returns its result. When ctx ends, the command is killed; the result then
// says nothing.
func (r commandRun) run(ctx context.Context, command string) Result {
	result := Result{Type: RunCommand}
	shown := shortSummary(command)
	if len(command) > maxCommand {
		result.Summary = fmt.Sprintf("Failed to run '%s': the command is longer than %d bytes", shown, maxCommand)
		return result
	}
	child, err := process.Start(r.place.Confine(process.Options{
		Path: "/bin/sh", Args: []string{"/bin/sh", "-c", command}, Dir: r.place.Dir, Env: r.place.Env,
		NoInput: true, Session: true, StderrHead: (r.limit + 1) * utf8.UTFMax, Grace: silence, Hold: chatter,
	}))
	if err != nil {
		result.Summary = fmt.Sprintf("Failed to run '%s': %s", shown, reason(err))
		return result
	}
	r.started(child.Pid())
	defer context.AfterFunc(ctx, child.Kill)()
	var late atomic.Bool
	defer process.NewStopwatch(r.timeout, func() {
		late.Store(true)
		child.Kill()
	}).Stop()
	stdout := process.NewBounded((r.limit+1)*utf8.UTFMax, 0)
	_, _ = io.Copy(stdout, child.Stdout) // a pipe that cannot be read any more has ended
	exit := child.Wait()
	result.Output = combineOutput(stdout, exit.Stderr, r.limit)
	switch {
	case exit.NotRun != nil:
		result.Summary = fmt.Sprintf("Failed to run '%s': %s", shown, reason(exit.NotRun))
	case exit.Forced && late.Load():
		result.Summary = fmt.Sprintf("Command timed out (%ds): %s", int(r.timeout.Seconds()), shown)
	default:
		code := exitCode(exit)
		result.Success = code == 0
		result.Summary = fmt.Sprintf("Ran '%s' (exit code %d)", shown, code)
	}
	return result
}

// exitCode is the exit status as a shell tells it.
func exitCode(e process.Exit) int {
	if e.Signal != "" {
		return 128 + int(unix.SignalNum(e.Signal))
	}
	return e.Code
}

// combineOutput is what the model is told of a command's output.
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

// maxSummary is how many characters of a command, a path or a message a result repeats.
const maxSummary = 4000

// shortSummary cuts a text that is too long for a result.
func shortSummary(text string) string { return terminal.Shorten(validText([]byte(text)), maxSummary) }
