package runbooks

import (
	"context"
	"errors"
	"fmt"
	"io"

	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// verified is the result of a verification.
type verified struct {
	Run       string         `json:"run"`
	Status    runbook.Status `json:"status"`
	Valid     bool           `json:"valid"`
	Records   int            `json:"records"`
	ProofHash string         `json:"proof_hash,omitempty"` // of the last record
	Step      int            `json:"step,omitempty"`       // whose record is wrong or missing
	Label     string         `json:"label,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// maxExport is far more than the records of a runbook with as many steps as its size allows.
const maxExport = 1 << 30

// VerifyFile verifies an export. The error carries exit status 1 if the export is wrong.
func VerifyFile(path string, p Printing) error {
	text, err := runbook.ReadFile(path, maxExport)
	if err != nil {
		return err
	}
	e, err := runbook.DecodeExport(text)
	last := ""
	if err == nil {
		last, err = runbook.Verify(e)
	}
	return printVerified(e, last, err, p)
}

// VerifyRun verifies a stored run. The error carries exit status 1 if its records are wrong.
func VerifyRun(ctx context.Context, runs runbook.Runs, id string, p Printing) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return noRun(id)
	}
	last := ""
	if err == nil {
		last, err = r.Verify()
	}
	e := r.Export()
	e.Run = id
	return printVerified(e, last, err, p)
}

// Printing says where and how a result is printed.
type Printing struct {
	Out  io.Writer
	JSON bool
}

func printVerified(e runbook.Export, last string, wrong error, p Printing) error {
	v := verified{Run: e.Run, Status: e.Status, Valid: wrong == nil, Records: len(e.Records), ProofHash: last}
	var record *runbook.RecordError
	if errors.As(wrong, &record) {
		v.Step, v.Label, v.Message = record.Step, record.Label, record.Message
	} else if wrong != nil {
		v.Message = wrong.Error()
	}
	var err error
	switch {
	case p.JSON:
		err = writeLine(p.Out, v)
	case wrong != nil:
		_, err = fmt.Fprintf(p.Out, "Run %s is not as it was recorded: %s.\n", terminal.Clean(e.Run), terminal.Clean(wrong.Error()))
	default:
		_, err = fmt.Fprintf(p.Out, "Run %s of %s is %s, and its %s. The last hash is\n%s\n",
			terminal.Clean(e.Run), terminal.Clean(e.Runbook.Label), terminal.Clean(string(e.Status)), count(len(e.Records)), last)
	}
	if err == nil && wrong != nil {
		err = exit.Error{Status: exit.Failed}
	}
	return err
}

func count(records int) string {
	if records == 1 {
		return "record is right"
	}
	return fmt.Sprintf("%d records are right", records)
}

func noRun(id string) error { return fmt.Errorf("there is no run %s, nor a file of that name", id) }

// Export prints a run with all that is needed to verify it.
func Export(ctx context.Context, runs runbook.Runs, id string, out io.Writer) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return fmt.Errorf("there is no run %s", id)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, r.Export().Encode())
	return err
}
