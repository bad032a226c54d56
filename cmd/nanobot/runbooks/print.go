package runbooks

import (
	"fmt"
	"strings"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// event is an event of a run as JSON.
type event struct {
	Kind       string              `json:"kind"`
	Run        string              `json:"run"`
	Runbook    string              `json:"runbook,omitempty"` // its label
	Steps      int                 `json:"steps,omitempty"`
	Step       int                 `json:"step,omitempty"`
	Label      string              `json:"label,omitempty"`
	Body       string              `json:"body,omitempty"`
	Challenge  any                 `json:"challenge,omitempty"`
	Shell      *runbook.ShellProof `json:"shell,omitempty"`
	By         string              `json:"by,omitempty"`
	ProofHash  string              `json:"proof_hash,omitempty"`
	ErrorCode  string              `json:"error_code,omitempty"`
	RetryCount *int                `json:"retry_count,omitempty"`
	Question   string              `json:"question,omitempty"`
	Answers    []string            `json:"answers,omitempty"`
	Message    string              `json:"message,omitempty"`
	Status     string              `json:"status,omitempty"`
}

// print prints an event of a run: as one line of JSON, or as a text for people. Control characters
// of runbooks and commands do not reach the terminal.
func (d *Driver) print(r runbook.Run, e event, format string, args ...any) error {
	if d.JSON {
		e.Run = r.ID
		return writeLine(d.Out, e)
	}
	_, err := fmt.Fprintf(d.Out, format, args...)
	return err
}

// printBegin prints the runbook and the ID of the run, also of a resumed one. People see the
// introduction before the first step.
func (d *Driver) printBegin(r runbook.Run) error {
	book, intro := r.Runbook(), ""
	if book.Introduction != "" && r.Step == 1 {
		intro = terminal.Clean(book.Introduction) + "\n"
	}
	return d.print(r, event{Kind: "begin", Runbook: book.Label, Steps: len(book.Steps)}, "%s, run %s\n%s",
		terminal.Clean(book.Label), r.ID, intro)
}

// printStep prints the step that becomes the current one, with the definition of its challenge.
// People see only the command of a shell step.
func (d *Driver) printStep(r runbook.Run, s runbook.Step) error {
	e := event{Kind: "step", Step: s.Index, Label: s.Label, Body: s.Body}
	text := ""
	if s.Body != "" {
		text = terminal.Clean(s.Body) + "\n"
	}
	if s.Challenge != nil {
		e.Challenge = s.Definition
		if s.Challenge.Type == runbook.Shell {
			text += "$ " + terminal.Visible(s.Challenge.Command) + "\n"
		}
	}
	return d.print(r, e, "\nStep %d of %d: %s\n%s", s.Index, len(r.Runbook().Steps), terminal.Clean(s.Label), text)
}

// printCommand prints the proof of a command: its output and its exit status.
func (d *Driver) printCommand(r runbook.Run, proof runbook.ShellProof) error {
	var text strings.Builder
	for _, output := range []string{proof.Stdout, proof.Stderr} {
		if output = strings.TrimRight(terminal.Clean(output), "\n"); output != "" {
			text.WriteString(output + "\n")
		}
	}
	return d.print(r, event{Kind: "shell", Step: r.Step, Shell: &proof}, "%sexit status %d after %.1f s\n", &text,
		proof.ExitCode, proof.DurationSeconds)
}

// printFailure prints why a proof was not accepted, and how often the step has failed.
func (d *Driver) printFailure(r runbook.Run, step int, a runbook.Answer) error {
	return d.print(r, event{
		Kind: "failure", Step: step, ErrorCode: a.ErrorCode, Message: a.Message,
		RetryCount: a.RetryCount,
	}, "%s\n", terminal.Clean(a.Message))
}

// printQuestion prints a question with its answers.
func (d *Driver) printQuestion(r runbook.Run, q Question) error {
	answers := ""
	if q.Answers != nil {
		answers = " Answer " + strings.Join(q.Answers, " or ") + "."
	}
	return d.print(r, event{Kind: "question", Step: r.Step, Question: q.Text, Answers: q.Answers}, "%s%s\n> ",
		terminal.Visible(q.Text), answers)
}

// printEnd prints the status of the run and, if it waits, how to continue it.
func (d *Driver) printEnd(r runbook.Run) error {
	text := fmt.Sprintf("The run is %s. The last hash is %s", r.Status, r.LastHash())
	if r.Status == runbook.Waiting {
		text = fmt.Sprintf("The run waits at step %d. To continue: nanobot runbook run --resume %s", r.Step, r.ID)
	}
	return d.print(r, event{Kind: "run", Status: string(r.Status)}, "\n%s\n", text)
}
