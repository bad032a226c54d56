package runbooks

import (
	"fmt"
	"io"
	"strings"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// Printer prints the events of a run.
type Printer interface {
	// Begin is called first, also for a resumed run.
	Begin(r runbook.Run) error
	// Step is called when a step becomes the current one.
	Step(r runbook.Run, s runbook.Step) error
	// Ran is called after the command of a shell step.
	Ran(r runbook.Run, p runbook.ShellProof) error
	// Proved is called when a proof is recorded.
	Proved(record runbook.Record, hash string) error
	// Failed is called when a proof is not accepted.
	Failed(r runbook.Run, step int, a runbook.Answer) error
	// Ask is called before an answer is read.
	Ask(r runbook.Run, q Question) error
	// Note prints a message that is no event of the run.
	Note(r runbook.Run, text string) error
	// End is called last.
	End(r runbook.Run) error
}

var (
	_ Printer = Text{}
	_ Printer = JSON{}
)

// JSON prints one JSON object per line.
type JSON struct{ Out io.Writer }

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

// Begin prints the ID of the run, and the label and number of steps of its runbook.
func (p JSON) Begin(r runbook.Run) error {
	book := r.Runbook()
	return writeLine(p.Out, event{Kind: "begin", Run: r.ID, Runbook: book.Label, Steps: len(book.Steps)})
}

// Step prints the step with the definition of its challenge.
func (p JSON) Step(r runbook.Run, s runbook.Step) error {
	e := event{Kind: "step", Run: r.ID, Step: s.Index, Label: s.Label, Body: s.Body}
	if s.Challenge != nil {
		e.Challenge = s.Definition
	}
	return writeLine(p.Out, e)
}

// Ran prints the proof of a command.
func (p JSON) Ran(r runbook.Run, proof runbook.ShellProof) error {
	return writeLine(p.Out, event{Kind: "shell", Run: r.ID, Step: r.Step, Shell: &proof})
}

// Proved prints the status and the hash of a record.
func (p JSON) Proved(record runbook.Record, hash string) error {
	return writeLine(p.Out, event{Kind: "proof", Run: record.Run, Step: record.Step, Label: record.Label, By: record.By, ProofHash: hash, Status: record.Status, Message: record.Reason})
}

// Failed prints the error code and the number of failures of the step.
func (p JSON) Failed(r runbook.Run, step int, a runbook.Answer) error {
	return writeLine(p.Out, event{Kind: "failure", Run: r.ID, Step: step, ErrorCode: a.ErrorCode, Message: a.Message, RetryCount: a.RetryCount})
}

// Ask prints a question with its answers.
func (p JSON) Ask(r runbook.Run, q Question) error {
	return writeLine(p.Out, event{Kind: "question", Run: r.ID, Step: r.Step, Question: q.Text, Answers: q.Answers})
}

// Note prints a message.
func (p JSON) Note(r runbook.Run, text string) error {
	return writeLine(p.Out, event{Kind: "note", Run: r.ID, Step: r.Step, Message: text})
}

// End prints the status of the run.
func (p JSON) End(r runbook.Run) error {
	return writeLine(p.Out, event{Kind: "run", Run: r.ID, Status: string(r.Status)})
}

// Text prints for people. Control characters of runbooks and commands do not reach the terminal.
type Text struct{ Out io.Writer }

func (p Text) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Out, format, args...)
	return err
}

// Begin prints the label of the runbook, the ID of the run and, before the first step, the
// introduction.
func (p Text) Begin(r runbook.Run) error {
	text := fmt.Sprintf("%s, run %s\n", terminal.Clean(r.Runbook().Label), r.ID)
	if intro := r.Runbook().Introduction; intro != "" && r.Step == 1 {
		text += terminal.Clean(intro) + "\n"
	}
	return p.printf("%s", text)
}

// Step prints the text of the step, and the command of a shell step.
func (p Text) Step(r runbook.Run, s runbook.Step) error {
	text := fmt.Sprintf("\nStep %d of %d: %s\n", s.Index, len(r.Runbook().Steps), terminal.Clean(s.Label))
	if s.Body != "" {
		text += terminal.Clean(s.Body) + "\n"
	}
	if s.Challenge != nil && s.Challenge.Type == runbook.Shell {
		text += "$ " + terminal.Visible(s.Challenge.Command) + "\n"
	}
	return p.printf("%s", text)
}

// Ran prints the output and the exit status of a command.
func (p Text) Ran(_ runbook.Run, proof runbook.ShellProof) error {
	for _, output := range []string{proof.Stdout, proof.Stderr} {
		if output = strings.TrimRight(terminal.Clean(output), "\n"); output != "" {
			if err := p.printf("%s\n", output); err != nil {
				return err
			}
		}
	}
	return p.printf("exit status %d after %.1f s\n", proof.ExitCode, proof.DurationSeconds)
}

// Proved prints the hash of a record.
func (p Text) Proved(record runbook.Record, hash string) error {
	return p.printf("Recorded: %s, %s\n", record.Status, hash)
}

// Failed prints why a proof was not accepted.
func (p Text) Failed(_ runbook.Run, _ int, a runbook.Answer) error {
	return p.printf("%s\n", terminal.Clean(a.Message))
}

// Ask prints a question with its answers.
func (p Text) Ask(_ runbook.Run, q Question) error {
	if q.Answers == nil {
		return p.printf("%s\n> ", terminal.Visible(q.Text))
	}
	return p.printf("%s Answer %s.\n> ", terminal.Visible(q.Text), strings.Join(q.Answers, " or "))
}

// Note prints a message.
func (p Text) Note(_ runbook.Run, text string) error { return p.printf("%s\n", text) }

// End prints the status of the run and, if it waits, how to continue it.
func (p Text) End(r runbook.Run) error {
	if r.Status == runbook.Waiting {
		return p.printf("\nThe run waits at step %d. To continue: nanobot runbook run --resume %s\n", r.Step, r.ID)
	}
	return p.printf("\nThe run is %s. The last hash is %s\n", r.Status, r.LastHash())
}
