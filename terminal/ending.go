package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/terminal/process"
)

// maxGuesses bounds how many paths found in plain text are looked at.
const maxGuesses = 1000

// maxNotes bounds how many remarks about the output a user is shown.
const maxNotes = 5

// FinalOptions says how the end of a turn is told to its chat.
type FinalOptions struct {
	// Reveal shows STDERR, exit codes and signals; otherwise a failure is one friendly line.
	Reveal bool
	// Timeout is the time an agent has, in seconds, for the message that says it was up.
	Timeout int
}

// FinalResponse gathers what is said when the agent has ended: plain text, error frames, remarks.
type FinalResponse struct {
	text   *process.Bounded
	media  []string
	errs   *process.Bounded // a line an error frame, as the user reads them
	code   string           // of the last error frame that has one
	notes  []string
	noted  int
	spoken bool
}

// CollectLines hands each line of an output to take, and returns what take has added to the
// FinalResponse.
func CollectLines(output string, take LineFunc) *FinalResponse {
	end := NewFinalResponse(2 * (len(output) + 1)) // both halves hold all of it
	for lines := NewLineReader(strings.NewReader(output), len(output)); ; {
		line, err := lines.Next()
		if err != nil { // the end, since no line is too long
			return end
		}
		if take(line, end) != nil {
			return end
		}
	}
}

// NewFinalResponse returns a FinalResponse that keeps at most maxOutput bytes of text: the
// beginning and the end of more.
func NewFinalResponse(maxOutput int) *FinalResponse {
	half := maxOutput / 2
	return &FinalResponse{text: process.NewBounded(half, half), errs: process.NewBounded(half, half)}
}

// Line adds one line of plain text and remembers the media paths in it.
func (e *FinalResponse) AddLine(line []byte) {
	_, _ = e.text.Write(line)
	_, _ = e.text.Write([]byte{'\n'})
	if len(e.media) >= maxGuesses {
		return
	}
	for _, p := range FindMediaPaths(line) {
		if len(e.media) < maxGuesses && !slices.Contains(e.media, p) {
			e.media = append(e.media, p)
		}
	}
}

// Plain returns the plain text as a chat is shown it, and the media paths in it.
func (e *FinalResponse) PlainText() (text string, media []string) {
	return trimText(Clean(e.text.String())), e.media
}

// Fail adds an error frame. Errors are the last thing a user reads, so they wait.
func (e *FinalResponse) AddError(f Frame) {
	fmt.Fprintln(e.errs, errorLine(f))
	if f.Code != "" {
		e.code = f.Code
	}
}

// Note adds a remark to the user about the output.
func (e *FinalResponse) AddRemark(s string) {
	if e.noted++; len(e.notes) < maxNotes {
		e.notes = append(e.notes, s)
	}
}

// MarkShown says that the user has been shown something already.
func (e *FinalResponse) MarkShown() { e.spoken = true }

// NoOutput is the final response of an agent that has said nothing.
const NoOutput = "(no output)"

// Tell emits the final response: the plain text, then the errors; remarks, STDERR and the exit code
// go with whichever is last.
func (e *FinalResponse) Emit(t Turn, end AgentExit) (Outcome, error) {
	out := e.outcome(end)
	text, _ := e.PlainText()
	failure, code := e.failure(t.Final, out.Status)
	tail := e.tail(t.Final, out, end)
	if hidden := e.internals(end); !t.Final.Reveal && hidden != "" {
		if err := t.Emit(Frame{Kind: Log, Level: "warning", Text: hidden}); err != nil {
			return out, fmt.Errorf("log what the user does not see: %w", err)
		}
	}
	if failure != "" {
		if text != "" {
			if err := t.Emit(Frame{Kind: Message, Text: text, Media: e.media, Guessed: true}); err != nil {
				return out, fmt.Errorf("emit plain text: %w", err)
			}
		}
		if err := t.Emit(Frame{Kind: Error, Text: join(failure, tail), Code: code}); err != nil {
			return out, fmt.Errorf("emit error: %w", err)
		}
		return out, nil
	}
	text = join(text, tail)
	if text == "" && !e.spoken {
		text = NoOutput
	}
	if text != "" {
		if err := t.Emit(Frame{Kind: Message, Text: text, Media: e.media, Guessed: true}); err != nil {
			return out, fmt.Errorf("emit final response: %w", err)
		}
	}
	return out, nil
}

// EmitStopped emits the final response of a turn that ctx has ended while no agent ran: it was
// stopped, or its time is up.
func (t Turn) EmitStopped(ctx context.Context) (Outcome, error) {
	return NewFinalResponse(t.MaxOutput).Emit(t, AgentExit{
		Exit: process.Exit{Forced: true, Stderr: process.NewBounded(0, 0)}, Cause: context.Cause(ctx),
	})
}

func (e *FinalResponse) outcome(end AgentExit) Outcome {
	out := Outcome{Status: Done, ExitCode: end.Code, Signal: end.Signal, Stderr: Clean(end.Stderr.String())}
	switch {
	case end.Forced && errors.Is(end.Cause, ErrTimeout):
		out.Status = TimedOut
	case end.Forced:
		out.Status = Stopped
	case e.errs.Len() > 0 || !end.OK():
		out.Status = Failed
	}
	return out
}

// failure returns what went wrong as the user reads it, and its code for machines.
func (e *FinalResponse) failure(f FinalOptions, status Status) (text, code string) {
	text = trimText(Clean(e.errs.String()))
	switch status {
	case TimedOut:
		return join(text, fmt.Sprintf("Timed out after %d s.", f.Timeout)), "TIMEOUT"
	case Stopped:
		return join(text, "Stopped."), "STOPPED"
	case Done, Failed:
	}
	return text, e.code
}

func errorLine(f Frame) string {
	head := "Error"
	if f.Code != "" {
		head += " (" + f.Code + ")"
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		return head + ": " + text
	}
	return head
}

// tail returns what is appended to the final response.
func (e *FinalResponse) tail(f FinalOptions, out Outcome, end AgentExit) string {
	lines := e.notes
	if more := e.noted - len(e.notes); more > 0 {
		lines = append(lines, fmt.Sprintf("⚠ and %d more like these.", more))
	}
	if !f.Reveal {
		if out.Status == Failed && e.errs.Len() == 0 {
			lines = append(lines, "Something went wrong. The operator can see in the log what it was.")
		}
		return strings.Join(lines, "\n")
	}
	if hidden := e.internals(end); hidden != "" {
		lines = append(lines, hidden)
	}
	return strings.Join(lines, "\n")
}

// internals are STDERR and the exit code: told to those who may see them, and to the log for the
// others.
func (e *FinalResponse) internals(end AgentExit) string {
	text := ""
	if stderr := trimText(Clean(end.Stderr.String())); stderr != "" {
		text = "STDERR: " + stderr
	}
	switch {
	case end.Forced: // the failure says so
	case end.Signal != "":
		text = join(text, "Killed by "+end.Signal)
	case end.Code != 0:
		text = join(text, fmt.Sprintf("Exit code: %d", end.Code))
	}
	return text
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
