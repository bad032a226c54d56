package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/media"
	"nanobot/terminal/process"
)

// maxPathsInText bounds how many paths in plain text are examined.
const maxPathsInText = 1000

// maxRemarks bounds how many remarks about the output are shown.
const maxRemarks = 5

// FinalOptions configures the final response of a turn.
type FinalOptions struct {
	// Reveal shows STDERR, exit codes and signals; otherwise a failure is one friendly line.
	Reveal bool
	// Timeout is the agent's timeout in seconds, for the message after it.
	Timeout int
	// Format is the value of terminal.format; "": the protocol's default.
	Format string
	// Stderr is the value of terminal.stderr.
	Stderr string
}

// FinalResponse collects what is sent when the agent has ended: plain text, error frames and
// remarks.
type FinalResponse struct {
	text        *process.Bounded
	media       []string
	temp        TempFiles        // see AttachFiles
	errs        *process.Bounded // one line for each error frame, as the user reads it
	code        string           // of the last error frame that has one
	remarks     []string
	remarkCount int
	left        bool // see AddStillRunning
	shown       bool
	end         Status // see SetEnd
	endText     string
	flush       func(followed bool) error // see FlushFirst
	prints      bool                      // what the agent prints is for the user, except for frames
}

// CollectLines passes each line of an output to handle, and returns the FinalResponse to which
// handle has added.
func CollectLines(output string, handle LineFunc) *FinalResponse {
	end := NewFinalResponse(2 * (len(output) + 1)) // both halves have room for all of it
	for lines := NewLineReader(strings.NewReader(output), len(output)); ; {
		line, err := lines.Next()
		if err != nil { // the end, since no line is too long
			return end
		}
		if handle(line, end) != nil {
			return end
		}
	}
}

// NewFinalResponse returns a FinalResponse that keeps at most maxOutput bytes of text: the
// beginning and the end.
func NewFinalResponse(maxOutput int) *FinalResponse {
	half := maxOutput / 2
	return &FinalResponse{text: process.NewBounded(half, half), errs: process.NewBounded(half, half)}
}

// AddLine adds one line of plain text and the media paths in it.
func (r *FinalResponse) AddLine(line []byte) {
	_, _ = r.text.Write(line)
	_, _ = r.text.Write([]byte{'\n'})
	if len(r.media) >= maxPathsInText {
		return
	}
	for _, p := range media.FindPaths(line) {
		if len(r.media) < maxPathsInText && !slices.Contains(r.media, p) {
			r.media = append(r.media, p)
		}
	}
}

// PlainText returns the cleaned plain text and the media paths in it.
func (r *FinalResponse) PlainText() (text string, media []string) {
	return TrimText(Clean(r.text.String())), r.media
}

// AttachFiles adds files to the last message, which must have a text. Emit removes those that are
// temporary.
func (r *FinalResponse) AttachFiles(temp TempFiles, paths []string) {
	r.temp, r.media = temp, append(r.media, paths...)
}

// AddError adds an error frame. Errors are shown last, so they are collected.
func (r *FinalResponse) AddError(f Frame) {
	fmt.Fprintln(r.errs, errorLine(f))
	if f.Code != "" {
		r.code = f.Code
	}
}

// AddRemark adds a remark to the user about the output.
func (r *FinalResponse) AddRemark(s string) {
	if r.remarkCount++; len(r.remarks) < maxRemarks {
		r.remarks = append(r.remarks, s)
	}
}

// AddStillRunning adds the commands that the agent runs on although the turn was stopped, if there
// are any.
func (r *FinalResponse) AddStillRunning(w words.Words, commands []string) {
	if text := StillRunningText(w, commands); text != "" {
		r.AddRemark(text)
		r.left = true
	}
}

// StillRunningText says which commands an agent runs on although their turn was stopped; "" if
// there are none.
func StillRunningText(w words.Words, commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	shown := make([]string, len(commands))
	for i, c := range commands {
		shown[i] = CodeSpan(Shorten(OneLine(Visible(c), maxShownCommand), maxShownCommand))
	}
	return w.Text(words.StillRunning, strings.Join(shown, ", "), len(commands))
}

// maxShownCommand is how much of a command is shown that still runs, in characters.
const maxShownCommand = 60

// FlushFirst sets a function that Emit calls first, to emit a message that the agent has not
// finished. followed says that a message or an error follows it.
func (r *FinalResponse) FlushFirst(flush func(followed bool) error) { r.flush = flush }

// MarkShown records that the user has already been shown a message.
func (r *FinalResponse) MarkShown() { r.shown = true }

// SetEnd sets how the agent's work ended, unless its exit or an error says otherwise, and a text
// that says so to the user if nothing else is said; "": none.
func (r *FinalResponse) SetEnd(status Status, text string) { r.end, r.endText = status, text }

// Emit emits the final response: the plain text, then the errors. Remarks, STDERR and the exit code
// are appended to the last of them.
func (r *FinalResponse) Emit(t Turn, end AgentExit) (Outcome, error) {
	defer r.temp.Remove()
	out := r.outcome(end)
	if r.flush != nil {
		if err := r.flush(r.HasContent(t, end)); err != nil {
			return out, fmt.Errorf("emit unfinished message: %w", err)
		}
	}
	text, _ := r.PlainText()
	failure, code := r.failureText(t, out.Status)
	tail := r.appendix(t, out, end)
	if err := r.logHidden(t, out, end); err != nil {
		return out, fmt.Errorf("log what the user does not see: %w", err)
	}
	if failure != "" {
		if text != "" {
			if err := t.Emit(Frame{
				Kind: Message, Text: text, Format: t.Final.FormatOf(text), Media: r.media, Guessed: true,
				ProtocolDir: r.temp.Dir(), Silent: true,
			}); err != nil {
				return out, fmt.Errorf("emit plain text: %w", err)
			}
			r.media = nil
		}
		format := r.formatWithStderr(t.Final, TrimText(Clean(r.errs.String())), end)
		if err := t.Emit(Frame{
			Kind: Error, Text: joinLines(failure, tail), Format: format, Code: code, StillRunning: r.left,
			Media: r.media, ProtocolDir: r.temp.Dir(), Appended: tail,
		}); err != nil {
			return out, fmt.Errorf("emit error: %w", err)
		}
		return out, nil
	}
	own := text == ""
	text = cmp.Or(text, r.endText)
	format := r.formatWithStderr(t.Final, text, end)
	text = joinLines(text, tail)
	if text == "" && !r.shown {
		out.Status, text = Silent, t.Words.Text(words.NoOutput)
	}
	if text != "" {
		if err := t.Emit(Frame{
			Kind: Message, Text: text, Format: format, Media: r.media, Guessed: true, ProtocolDir: r.temp.Dir(), Own: own,
			Appended: tail,
		}); err != nil {
			return out, fmt.Errorf("emit final response: %w", err)
		}
	}
	return out, nil
}

// formatWithStderr returns the format of a text to which the shown part of stderr is appended.
// Stderr alone is never Markdown where terminal.format is auto, and the gateway's own words always
// are.
func (r *FinalResponse) formatWithStderr(f FinalOptions, text string, end AgentExit) Format {
	stderr := r.shownStderr(f, r.outcome(end), end)
	switch {
	case text == "" && stderr == "":
		return FormatMarkdown
	case f.Format != FormatSettingAuto || stderr == "":
		return f.FormatOf(text)
	case text != "" && DetectFormat(text) != FormatText:
		return DetectFormat(text)
	case hasColumns(strings.Split(stderr, "\n")):
		return FormatCode
	}
	return FormatText
}

// logHidden logs the diagnostics that the user is not shown.
func (r *FinalResponse) logHidden(t Turn, out Outcome, end AgentExit) error {
	hidden, level := r.diagnostics(words.Words{}, end, r.stderrOf(end)), "warning"
	if t.Final.Reveal {
		if r.shownStderr(t.Final, out, end) != "" {
			return nil
		}
		if hidden = r.stderrOf(end); out.Status == Done {
			level = "debug" // of no interest, since the agent has done its work
		}
	}
	if hidden == "" {
		return nil
	}
	return t.Emit(Frame{Kind: Log, Level: level, Text: hidden})
}

// HasContent reports whether Emit emits a message or an error, even if the user has already been
// shown a message.
func (r *FinalResponse) HasContent(t Turn, end AgentExit) bool {
	out := r.outcome(end)
	text, _ := r.PlainText()
	failure, _ := r.failureText(t, out.Status)
	return failure != "" || text != "" || r.endText != "" || r.appendix(t, out, end) != ""
}

// EmitStopped emits the final response of a turn whose context ended while no agent was running: it
// was stopped or timed out.
func (t Turn) EmitStopped(ctx context.Context) (Outcome, error) {
	return NewFinalResponse(t.MaxOutput).Emit(t, AgentExit{
		Exit: process.Exit{Forced: true, Stderr: process.NewBounded(0, 0)}, Cause: context.Cause(ctx),
	})
}

func (r *FinalResponse) outcome(end AgentExit) Outcome {
	out := Outcome{Status: cmp.Or(r.end, Done), ExitCode: end.Code, Signal: end.Signal, Stderr: Clean(end.Stderr.String())}
	switch {
	case end.Forced && errors.Is(end.Cause, ErrTimeout):
		out.Status = TimedOut
	case end.Forced:
		out.Status = Stopped
	case r.errs.Len() > 0 || !end.OK():
		out.Status = Failed
	}
	return out
}

// failureText returns the errors as the user reads them, and their code for machines.
func (r *FinalResponse) failureText(t Turn, status Status) (text, code string) {
	text = TrimText(Clean(r.errs.String()))
	switch status {
	case TimedOut:
		return joinLines(text, t.Words.Text(words.TimedOut, t.Final.Timeout)), "TIMEOUT"
	case Stopped:
		return joinLines(text, t.Words.Text(words.StoppedText)), StoppedCode
	case Done, Failed, Refused, Silent:
	}
	return text, r.code
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

// appendix returns the lines that are appended to the final response.
func (r *FinalResponse) appendix(t Turn, out Outcome, end AgentExit) string {
	lines := r.remarks
	if more := r.remarkCount - len(r.remarks); more > 0 {
		lines = append(lines, t.Words.Text(words.MoreRemarks, more))
	}
	if !t.Final.Reveal {
		if out.Status == Failed && !end.OK() && r.errs.Len() == 0 {
			lines = append(lines, t.Words.Text(words.SomethingWrong))
		}
		return strings.Join(lines, "\n")
	}
	shown := r.diagnostics(t.Words, end, r.shownStderr(t.Final, out, end))
	if shown != "" && r.printedNothing(end) { // a search without a hit, for example
		lines = append(lines, t.Words.Text(words.PrintedNothing))
	}
	if shown != "" {
		lines = append(lines, shown)
	}
	if r.prints && out.Status != Done && asksForTerminal(r.text.String(), end.Stderr.String()) {
		lines = append(lines, t.Words.Text(words.NeedsTerminal))
	}
	return strings.Join(lines, "\n")
}

// printedNothing reports whether the exit code is all that is known of the agent.
func (r *FinalResponse) printedNothing(end AgentExit) bool {
	text, _ := r.PlainText()
	return r.prints && text == "" && !r.shown && !end.Forced && end.Signal == "" && r.errs.Len() == 0 &&
		r.remarkCount == 0 && r.stderrOf(end) == ""
}

// The values of terminal.stderr other than "always".
const (
	stderrOnError = "onError"
	stderrNever   = "never"
)

// shownStderr returns what the user is shown of stderr. A turn that a person has stopped has not
// failed.
func (r *FinalResponse) shownStderr(f FinalOptions, out Outcome, end AgentExit) string {
	if !f.Reveal || f.Stderr == stderrNever || f.Stderr == stderrOnError && (out.Status == Done || out.Status == Stopped) {
		return ""
	}
	return r.stderrOf(end)
}

func (r *FinalResponse) stderrOf(end AgentExit) string { return TrimText(Clean(end.Stderr.String())) }

// diagnostics returns STDERR and the exit code. They are shown to users who may see them, and
// logged for others.
func (r *FinalResponse) diagnostics(w words.Words, end AgentExit, stderr string) string {
	text := ""
	if stderr != "" {
		text = "STDERR: " + stderr
	}
	switch {
	case end.Forced: // failureText says so
	case end.Signal != "":
		text = joinLines(text, w.Text(words.KilledBy, end.Signal))
	case end.Code != 0:
		text = joinLines(text, w.Text(words.ExitCode, end.Code))
	}
	return text
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
