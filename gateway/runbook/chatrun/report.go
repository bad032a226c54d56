package chatrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// report tells the chat how a run has ended, with its records as a document, once.
func (e *execution) report(ctx context.Context) error {
	if driverOf(e.run).Reported || !IsExecuted(e.run) {
		return nil
	}
	file, remove, err := recordsFile(e.run)
	if err != nil {
		return err
	}
	defer remove()
	frame := terminal.Frame{Kind: terminal.Message, Text: reportText(e.run), Sequence: reportSequence, Checked: []terminal.File{file}}
	if err := e.x.Emit(frame); err != nil {
		return err
	}
	return e.store(ctx, changeDriver(func(_ runbook.Run, d *driver) error {
		d.Reported, d.Reporter = true, e.attempt()
		return nil
	}))
}

// attempt names the attempt at the message that the turn works on.
func (e *execution) attempt() string {
	return fmt.Sprintf("%d.%d", e.x.Inbound.ID, e.x.Inbound.Attempt)
}

// tellEnded tells a person who wants a message again by which a run went on that the run has ended
// since. What people have approved once is not begun again by accident.
func (e *execution) tellEnded() error {
	if e.x.Inbound.Attempt == 1 || driverOf(e.run).Reporter == e.attempt() {
		return nil
	}
	name := strings.TrimPrefix(string(e.run.Source), string(runbook.WorkspaceSource("")))
	return e.tell(fmt.Sprintf("This run has ended. /run %s begins a new one.", terminal.Visible(terminal.OneLine(name, longestLabel))))
}

// reportText says how a run has ended.
func reportText(r runbook.Run) string {
	lines := []string{checklist(r), ""}
	switch r.Status {
	case runbook.Complete:
		lines = append(lines, "The run is complete.")
	case runbook.Declined:
		lines = append(lines, fmt.Sprintf("The run was declined at step %d by %s.", r.Step, terminal.Visible(r.EndedBy)))
	default:
		lines = append(lines, fmt.Sprintf("The run was ended at step %d by %s: %s.", r.Step, terminal.Visible(r.EndedBy), terminal.OneLine(r.Reason, longestBody)))
	}
	return strings.Join(append(lines, fmt.Sprintf("Run %s, last hash %s.", terminal.CodeSpan(r.ID), terminal.CodeSpan(r.LastHash()))), "\n")
}

// recordsFile writes the export of a run to a file, which exists until remove is called.
func recordsFile(r runbook.Run) (file terminal.File, remove func(), err error) {
	dir, err := os.MkdirTemp("", "nanobot-run-")
	if err != nil {
		return file, nil, fmt.Errorf("write records: %w", err)
	}
	path := filepath.Join(dir, "run-"+r.ID+".json")
	content := r.Export().Encode() + "\n"
	err = os.WriteFile(path, []byte(content), 0o600)
	var open *os.File
	if err == nil {
		open, err = os.Open(path)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return file, nil, fmt.Errorf("write records: %w", err)
	}
	remove = func() {
		_ = open.Close()
		_ = os.RemoveAll(dir)
	}
	return terminal.File{Path: path, Size: int64(len(content)), Open: open}, remove, nil
}

func sayRun(r runbook.Run) []zap.Field {
	return []zap.Field{zap.String("runbook_run", r.ID), zap.Int("step", r.Step), zap.Int("failures", r.Issued.Failures)}
}
